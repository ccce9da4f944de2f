/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c - counts, strides and what they reach */
#include "tp/shape.h"

#include <inttypes.h>
#include <stdio.h>

#include "tp/checked.h"

#include "banned.h"

enum tp_status
tp_shape_numel(
    const int64_t *sizes, unsigned rank, uint64_t *n, struct tp_err *err)
{
	uint64_t product = 1;

	for (unsigned d = 0; d < rank; d++) {
		if (sizes[d] < 0)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "axis %u has the negative size %" PRId64, d,
			    sizes[d]);
		if (tp_mul_u64(product, (uint64_t)sizes[d], &product) ||
		    product > INT64_MAX)
			return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
			    "element count overflows at axis %u of shape %s", d,
			    TP_SHAPE_TEXT(sizes, rank));
	}
	*n = product;
	return TP_OK;
}

void
tp_shape_strides(const int64_t *sizes, unsigned rank, int64_t *strides)
{
	int64_t step = 1;

	/*
	 * An axis without elements must not make the others zero or overflow.
	 */
	for (unsigned d = rank; d-- > 0;) {
		strides[d] = step;
		if (sizes[d] > 1 && tp_mul_i64(step, sizes[d], &step))
			step = INT64_MAX;
	}
}

bool
tp_shape_is_row_major(
    const int64_t *sizes, const int64_t *strides, unsigned rank)
{
	int64_t step = 1;
	bool packed = true;

	for (unsigned d = rank; d-- > 0;) {
		if (sizes[d] == 0)
			return true;
		if (sizes[d] == 1)
			continue;
		if (strides[d] != step || tp_mul_i64(step, sizes[d], &step))
			packed = false;
	}
	return packed;
}

enum tp_status
tp_shape_extent(const int64_t *sizes, const int64_t *strides, unsigned rank,
    int64_t *low, int64_t *high, struct tp_err *err)
{
	int64_t lo = 0, hi = 0;
	bool empty = false;

	/* Of no elements none lies far away, whatever the strides of other
	 * axes. */
	for (unsigned d = 0; d < rank; d++)
		empty |= sizes[d] == 0;
	for (unsigned d = 0; d < rank && !empty; d++) {
		int64_t reach;

		if (tp_mul_i64(sizes[d] - 1, strides[d], &reach) ||
		    tp_add_i64(
			reach < 0 ? lo : hi, reach, reach < 0 ? &lo : &hi) ||
		    lo < -INT64_MAX)
			return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
			    "stride %" PRId64 " of axis %u overflows",
			    strides[d], d);
	}
	*low = lo;
	*high = hi;
	return TP_OK;
}

const char *
tp_shape_text(const int64_t *sizes, unsigned rank, char buf[TP_SHAPE_TEXT_SIZE])
{
	size_t len = 1;

	buf[0] = '[';
	for (unsigned d = 0; d < rank; d++) {
		char number[32];
		int n = snprintf(number, sizeof(number), "%s%" PRId64,
		    d ? ", " : "", sizes[d]);

		if (len + (size_t)n + 5 > TP_SHAPE_TEXT_SIZE) {
			len += (size_t)snprintf(
			    buf + len, TP_SHAPE_TEXT_SIZE - len, "...");
			break;
		}
		len += (size_t)snprintf(
		    buf + len, TP_SHAPE_TEXT_SIZE - len, "%s", number);
	}
	buf[len] = ']';
	buf[len + 1] = '\0';
	return buf;
}
