// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a RAM sink may do when: pure, and all of it here.
 *
 *	OFF      --set-->   ARMED    --start-->  RUNNING
 *	                    ARMED    <--stop--   RUNNING
 *	OFF      <--reset-- ARMED
 *	OFF      <--reset-- FAILED, where a sink gets from anywhere when it does not do as told
 *
 * A sink that is enabled writes to memory: so it must hold a window that is meant before, which
 * nobody changes under it, and a reset must not surprise who uses it.
 */
#include <linux/errno.h>
#include <linux/export.h>

#include <kunit/visibility.h>

#include "ntrace_aux.h"

const s8 ntrace_sink_table[][NTRACE_SINK_OPS] = {
	[NTRACE_SINK_OFF] = {
		[NTRACE_SINK_SET]	= NTRACE_SINK_ARMED,
		[NTRACE_SINK_START]	= -EPERM,
		[NTRACE_SINK_STOP]	= -EIO,
		[NTRACE_SINK_RESET]	= NTRACE_SINK_OFF,
	},
	[NTRACE_SINK_ARMED] = {
		[NTRACE_SINK_SET]	= NTRACE_SINK_ARMED,
		[NTRACE_SINK_START]	= NTRACE_SINK_RUNNING,
		[NTRACE_SINK_STOP]	= -EIO,
		[NTRACE_SINK_RESET]	= NTRACE_SINK_OFF,
	},
	[NTRACE_SINK_RUNNING] = {
		[NTRACE_SINK_SET]	= -EPERM,
		[NTRACE_SINK_START]	= -EPERM,
		[NTRACE_SINK_STOP]	= NTRACE_SINK_ARMED,
		[NTRACE_SINK_RESET]	= -EPERM,
	},
	[NTRACE_SINK_FAILED] = {
		[NTRACE_SINK_SET]	= -EIO,
		[NTRACE_SINK_START]	= -EIO,
		[NTRACE_SINK_STOP]	= -EIO,
		[NTRACE_SINK_RESET]	= NTRACE_SINK_OFF,
	},
};
EXPORT_SYMBOL_IF_KUNIT(ntrace_sink_table);
