/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/access.h - elements of a tensor as C values, checked
 *
 *	const float *x = TP_TENSOR_DATA(t, float, &err);     all, row-major
 *	const float *y = TP_TENSOR_AT(t, float, &err, 1, 2); t[1][2]
 *	float *z = TP_TENSOR_AT_MUT(t, float, &err, 1, 2);
 *
 * Each is NULL, and err says why, when the tensor has another dtype, an index
 * lies outside, or it cannot be written. Floats that C has no type for are seen
 * as their codes: f16 and bf16 as uint16_t, the f8 as uint8_t. An address is
 * good as long as the storage is and keeps its size.
 *
 * For loops over many elements tp/iter.h checks once and computes no index.
 */
#ifndef TP_ACCESS_H
#define TP_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/convert.h"
#include "tp/error.h"
#include "tp/macros.h"
#include "tp/tensor.h"

/* clang-format off */
#define TP_DTYPE_OF(type)                    \
	_Generic((type *)0,                  \
	    bool *: TP_DTYPE_BOOL,           \
	    uint8_t *: TP_DTYPE_U8,          \
	    int8_t *: TP_DTYPE_I8,           \
	    uint16_t *: TP_DTYPE_U16,        \
	    int16_t *: TP_DTYPE_I16,         \
	    uint32_t *: TP_DTYPE_U32,        \
	    int32_t *: TP_DTYPE_I32,         \
	    uint64_t *: TP_DTYPE_U64,        \
	    int64_t *: TP_DTYPE_I64,         \
	    float *: TP_DTYPE_F32,           \
	    double *: TP_DTYPE_F64,          \
	    float _Complex *: TP_DTYPE_C64,  \
	    double _Complex *: TP_DTYPE_C128)
/* clang-format on */

/*
 * All elements in row-major order; NULL also when the tensor has another order
 * (tp_tensor_contiguous first) or is sparse. _MUT counts as one write.
 */
#define TP_TENSOR_DATA(t, type, err) \
	((const type *)tp_tensor_data_as((t), TP_DTYPE_OF(type), (err)))
#define TP_TENSOR_DATA_MUT(t, type, err) \
	((type *)tp_tensor_data_mut_as((t), TP_DTYPE_OF(type), (err)))
TP_API const void *tp_tensor_data_as(
    const struct tp_tensor *t, enum tp_dtype as, struct tp_err *err);
TP_API void *tp_tensor_data_mut_as(
    struct tp_tensor *t, enum tp_dtype as, struct tp_err *err);

/*
 * The element at an index, one number for each axis, from 0. _MUT counts as one
 * write.
 */
#define TP_TENSOR_AT(t, type, err, ...)                     \
	((const type *)tp_tensor_at((t), TP_DTYPE_OF(type), \
	    (const int64_t[]){__VA_ARGS__},                 \
	    sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (err)))
#define TP_TENSOR_AT_MUT(t, type, err, ...)               \
	((type *)tp_tensor_at_mut((t), TP_DTYPE_OF(type), \
	    (const int64_t[]){__VA_ARGS__},               \
	    sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (err)))
TP_API const void *tp_tensor_at(const struct tp_tensor *t, enum tp_dtype as,
    const int64_t *index, size_t n_indices, struct tp_err *err);
TP_API void *tp_tensor_at_mut(struct tp_tensor *t, enum tp_dtype as,
    const int64_t *index, size_t n_indices, struct tp_err *err);

/* An element of any dtype, narrow ones too, as double: see tp_load_f64. */
TP_API TP_NODISCARD enum tp_status tp_tensor_get(const struct tp_tensor *t,
    const int64_t *index, size_t n_indices, double *out, struct tp_err *err);

/* The same value to all elements; statuses of tp_tensor_assign. */
TP_API TP_NODISCARD enum tp_status tp_tensor_fill(struct tp_tensor *t,
    double value, enum tp_overflow overflow, struct tp_err *err);

#endif
