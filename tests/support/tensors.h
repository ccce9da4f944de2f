/* SPDX-License-Identifier: Apache-2.0 */
/* tensors.h - row-major tensors with known elements, for cmocka tests */
#ifndef TEST_TENSORS_H
#define TEST_TENSORS_H

#include <string.h>

#include "tp/tensor.h"

#include "support/cmocka_all.h"

/* These bytes are its elements. */
static inline struct tp_tensor *
make_tensor(enum tp_dtype dtype, const int64_t *sizes, unsigned rank,
    const void *data, size_t nbytes)
{
	struct tp_tensor *t = NULL;

	assert_int_equal(
	    tp_tensor_empty(NULL, dtype, sizes, rank, &t, NULL), TP_OK);
	if (nbytes)
		memcpy(tp_tensor_data_mut(t), data, nbytes);
	return t;
}

/* 0, 1, 2, … as i32 or f32. */
static inline struct tp_tensor *
make_counting(enum tp_dtype dtype, const int64_t *sizes, unsigned rank)
{
	struct tp_tensor *t = make_tensor(dtype, sizes, rank, NULL, 0);
	void *data = tp_tensor_data_mut(t);

	assert_true(dtype == TP_DTYPE_I32 || dtype == TP_DTYPE_F32);
	for (uint64_t i = 0; i < tp_tensor_numel(t); i++)
		if (dtype == TP_DTYPE_I32)
			((int32_t *)data)[i] = (int32_t)i;
		else
			((float *)data)[i] = (float)i;
	return t;
}

#endif
