/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.h - indices as NumPy writes them, for --values
 *
 *	w[3]  w[-1, ::2]  w[..., 0]  w[2:, :5, ::-1]
 *
 * An integer takes one index and drops the axis, start:stop:step a range, "..."
 * stands for as many whole axes as are left; axes not named are whole.
 */
#ifndef INSPECT_SLICE_H
#define INSPECT_SLICE_H

#include <stdint.h>

#include "tp/error.h"
#include "tp/shape.h"

/* Elements of something: element (i, j) is first + i*strides[0] + j*… */
struct slice {
	unsigned rank;
	int64_t sizes[TP_MAX_RANK], strides[TP_MAX_RANK];
	int64_t first;
};

/*
 * Narrow s by the text between the brackets. TP_EARG says which part of the
 * text makes no sense, or which index is not there; s is then unchanged.
 */
enum tp_status slice_apply(
    struct slice *s, struct tp_str text, struct tp_err *err);

#endif
