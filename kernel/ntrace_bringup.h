/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A report on the hardware, for those who bring it up.
 */
#ifndef _NTRACE_BRINGUP_H
#define _NTRACE_BRINGUP_H

void ntrace_bringup_init(void);
void ntrace_bringup_exit(void);

#endif /* _NTRACE_BRINGUP_H */
