/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/scan.h - what could be wrong with the values of a tensor
 *
 *  1. Start with `struct tp_scan s = {0};`.
 *  2. Give all elements in order to tp_scan_add, in pieces of which each but
 *     the last is a multiple of 8 elements.
 *  3. Read the fields.
 *
 * Only bits are looked at, so this is several times as fast as tp/stats.h. A
 * struct holds no memory.
 */
#ifndef TP_SCAN_H
#define TP_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/macros.h"

/*
 * The real and the imaginary part of a complex number count as two. Of dtypes
 * that are no floats, n_zero stays 0.
 */
struct tp_scan {
	uint64_t n; /* elements */
	uint64_t n_nan, n_inf, n_subnormal, n_zero;
	uint64_t n_odd_bool;	       /* bools that are neither 0 nor 1 */
	uint64_t first_nan, first_inf; /* elements, where there are any */
	bool varies;		       /* not all have the bits of the first */
	uint8_t pattern[16];	       /* the first, repeated to whole bytes */
};

/*
 * Add n packed elements in the machine's byte order, aligned for the dtype.
 * TP_EUNSUPPORTED for strings.
 */
TP_API TP_NODISCARD enum tp_status tp_scan_add(struct tp_scan *s,
    enum tp_dtype dtype, const void *src, size_t n, struct tp_err *err);

/* True if there are elements and all are zero, of either sign. */
TP_API bool tp_scan_all_zero(const struct tp_scan *s, enum tp_dtype dtype);

#endif
