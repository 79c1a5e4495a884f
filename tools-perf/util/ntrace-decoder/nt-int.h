/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the layers of the library share with each other, and nobody else
 */
#ifndef NTRACE_NT_INT_H
#define NTRACE_NT_INT_H

#include "ntrace.h"

/*
 * Copy parameters of any known size into the current shape.  0, or -NT_EINVAL
 * when there are fewer than the first version of the structure had.
 */
int nt_params_get(const struct nt_params *from, struct nt_params *to);

/* Is it one of enum nt_tcode, and not a vendor's? */
bool nt_tcode_is_known(unsigned int tcode);

#endif /* NTRACE_NT_INT_H */
