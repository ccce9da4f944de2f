/* SPDX-License-Identifier: Apache-2.0 */
/* re2.h - patterns of RE2 as patterns of PCRE2 */
#ifndef TPI_OPS_RE2_H
#define TPI_OPS_RE2_H

#include <stdbool.h>
#include <stddef.h>

#include "tp/error.h"

/*
 * The same pattern for PCRE2 into out, with room for TPI_RE2_GROWTH times as
 * many bytes. False if it has what RE2 does not know; what neither knows is
 * left to PCRE2.
 */
#define TPI_RE2_GROWTH 6
bool tpi_re2_rewrite(struct tp_str pattern, char *out, size_t *len);

#endif
