/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Power management: harts and systems that sleep.
 */
#ifndef _NTRACE_PM_H
#define _NTRACE_PM_H

int ntrace_pm_register(void);
void ntrace_pm_unregister(void);

#endif /* _NTRACE_PM_H */
