/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbers.h - tensors of small numbers, and reading them one by one
 *
 * Everything here goes by first element and strides, element by element, and
 * uses none of the library's loops.
 */
#ifndef TEST_NUMBERS_H
#define TEST_NUMBERS_H

#include "support/cmocka_all.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/tensor.h"
#include "tp/view.h"

/* Whether an axis may be as long as int64_t says, if nothing lies along it. */
#define HAS_LONG_AXES (PTRDIFF_MAX == INT64_MAX)

#define RUN(call)                                                 \
	do {                                                      \
		struct tp_err err_ = TP_ERR_INIT, *err = &err_;   \
		if (call) {                                       \
			print_error("%s: %s\n", #call, err_.msg); \
			fail();                                   \
		}                                                 \
	} while (0)

/* The storage's element of number i in row-major order. */
static inline uint64_t
element_of(const struct tp_tensor *t, uint64_t i)
{
	int64_t at = (int64_t)tp_tensor_first(t);

	for (unsigned d = tp_tensor_rank(t); d-- > 0;) {
		uint64_t size = (uint64_t)tp_tensor_sizes(t)[d];

		at += (int64_t)(i % size) * tp_tensor_strides(t)[d];
		i /= size;
	}
	return (uint64_t)at;
}

static inline double
number_at(const struct tp_tensor *t, uint64_t i)
{
	return tp_load_f64(tp_tensor_dtype(t),
	    tp_storage_data(tp_tensor_storage(t)), (size_t)element_of(t, i));
}

static inline void
set_number(struct tp_tensor *t, uint64_t i, double x)
{
	size_t size = tp_dtype_bits(tp_tensor_dtype(t)) / 8;
	char *data = tp_storage_data_mut(tp_tensor_storage(t));

	assert_int_equal(
	    tp_convert(tp_tensor_dtype(t), data + element_of(t, i) * size,
		TP_DTYPE_F64, &x, 1, TP_OVERFLOW_INF, 0, NULL, NULL),
	    TP_OK);
}

/* A row-major tensor of these numbers; rank 0 has one. */
static inline struct tp_tensor *
tensor_of(const struct tp_alloc *alloc, enum tp_dtype dtype,
    const int64_t *sizes, unsigned rank, const double *x)
{
	struct tp_tensor *t = NULL;

	RUN(tp_tensor_empty(alloc, dtype, sizes, rank, &t, err));
	for (uint64_t i = 0; i < tp_tensor_numel(t); i++)
		set_number(t, i, x[i]);
	return t;
}

enum placement { PACKED, STRIDED, BACKWARDS, CROSSED, N_PLACEMENTS };

/*
 * Elements of that shape, all zero: one after the other, every second, from the
 * end to the front, or the first axis fastest.
 */
static inline struct tp_tensor *
placed_tensor(enum tp_dtype dtype, const int64_t *sizes, unsigned rank,
    enum placement how)
{
	int64_t wide[8] = {0}, order[8] = {0};
	struct tp_tensor *t = NULL, *view = NULL;
	int axes[8];

	for (unsigned d = 0; d < rank; d++) {
		wide[d] = how == STRIDED ? 2 * sizes[d] : sizes[d];
		order[d] = sizes[rank - 1 - d];
		axes[d] = (int)(rank - 1 - d);
	}
	if (how == CROSSED && rank > 1) {
		RUN(tp_tensor_empty(NULL, dtype, order, rank, &t, err));
		RUN(tp_tensor_permute(t, axes, rank, &view, err));
		tp_tensor_free(t);
		return view;
	}
	RUN(tp_tensor_empty(NULL, dtype, wide, rank, &t, err));
	for (unsigned d = 0; d < rank && how != PACKED && how != CROSSED; d++) {
		RUN(tp_tensor_slice(t, (int)d, TP_OMIT, TP_OMIT,
		    how == STRIDED ? 2 : -1, &view, err));
		tp_tensor_free(t);
		t = view;
	}
	return t;
}

/* Numbers of a sequence that has no pattern. */
static inline uint64_t
next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

#endif
