/* SPDX-License-Identifier: Apache-2.0 */
/* sparse.c - coordinate form: made, checked, spread out, found, added up */
#include "sparse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/copy.h"
#include "tp/shape.h"

#include "packed.h"
#include "tensor.h"

#include "banned.h"

struct tp_sparse *
tpi_sparse_ref(struct tp_sparse *s)
{
	if (s)
		atomic_fetch_add_explicit(&s->count, 1, memory_order_relaxed);
	return s;
}

void
tpi_sparse_unref(struct tp_sparse *s)
{
	if (!s ||
	    atomic_fetch_sub_explicit(&s->count, 1, memory_order_acq_rel) != 1)
		return;
	tp_tensor_free(s->values);
	tp_tensor_free(s->indices);
	tp_mem_free(s->alloc, s, 1, sizeof(*s));
}

bool
tp_tensor_is_sparse(const struct tp_tensor *t)
{
	return t->sparse != NULL;
}

const struct tp_tensor *
tp_sparse_values(const struct tp_tensor *t)
{
	return t->sparse ? t->sparse->values : NULL;
}

const struct tp_tensor *
tp_sparse_indices(const struct tp_tensor *t)
{
	return t->sparse ? t->sparse->indices : NULL;
}

bool
tp_sparse_is_coalesced(const struct tp_tensor *t)
{
	return t->sparse && t->sparse->is_coalesced;
}

/* The row-major element number of value i; every index is known to lie inside
 * once the tensor exists. */
static uint64_t
element_of(const struct tp_tensor *t, uint64_t i)
{
	const struct tp_tensor *indices = t->sparse->indices;
	const int64_t *at = tp_tensor_data(indices);
	uint64_t element = 0;

	if (indices->rank == 1)
		return (uint64_t)at[i];
	at += i * t->rank;
	for (unsigned d = 0; d < t->rank; d++)
		element =
		    element * (uint64_t)tp_tensor_sizes(t)[d] + (uint64_t)at[d];
	return element;
}

static enum tp_status
check_parts(const struct tp_tensor *values, const struct tp_tensor *indices,
    unsigned rank, struct tp_err *err)
{
	const int64_t *have = tp_tensor_sizes(indices);
	uint64_t n = tp_tensor_numel(values);

	if (values->rank != 1 || values->sparse || values->quantizer)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "sparse values of shape %s; one axis is expected",
		    TP_SHAPE_TEXT(tp_tensor_sizes(values), values->rank));
	if (tp_tensor_dtype(indices) != TP_DTYPE_I64)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "sparse indices of dtype %s; i64 is expected",
		    tp_dtype_name(tp_tensor_dtype(indices)));
	if (indices->rank == 0 || indices->rank > 2 || have[0] != (int64_t)n ||
	    (indices->rank == 2 && have[1] != (int64_t)rank))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "sparse indices of shape %s for %" PRIu64
		    " values of rank %u",
		    TP_SHAPE_TEXT(have, indices->rank), n, rank);
	return TP_OK;
}

/* Every index lies inside; whether they ascend is noted. */
static enum tp_status
check_indices(struct tp_tensor *t, struct tp_err *err)
{
	struct tp_sparse *s = t->sparse;
	const int64_t *at = tp_tensor_data(s->indices);
	unsigned per_value = s->indices->rank == 1 ? 1 : t->rank;
	uint64_t n = tp_tensor_numel(s->values), before = 0;

	s->is_coalesced = true;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t element;

		for (unsigned d = 0; d < per_value; d++) {
			int64_t index = at[i * per_value + d];
			int64_t size = s->indices->rank == 1
					   ? (int64_t)t->n_elems
					   : tp_tensor_sizes(t)[d];

			if (index < 0 || index >= size)
				return tp_fail(err, TP_EARG, TP_NO_OFFSET,
				    "sparse index %" PRId64 " of value %" PRIu64
				    ", outside 0..%" PRId64,
				    index, i, size - 1);
		}
		element = element_of(t, i);
		if (i > 0 && element <= before)
			s->is_coalesced = false;
		before = element;
	}
	return TP_OK;
}

enum tp_status
tpi_sparse_shell(const struct tp_tensor *values, const int64_t *sizes,
    unsigned rank, struct tp_tensor **out, struct tp_err *err)
{
	int64_t none[TP_MAX_RANK] = {0};
	uint64_t n;
	enum tp_status rc = tpi_tensor_numel(sizes, rank, &n, err);

	if (rc)
		return rc;
	/*
	 * Of size 0 everywhere, which any storage holds; then the real sizes.
	 */
	rc = rank ? tpi_tensor_derive(values, none, NULL, rank, 0, out, err)
		  : tpi_tensor_derive(values, none, NULL, 1, 0, out, err);
	if (rc)
		return rc;
	(*out)->rank = rank;
	(*out)->n_elems = n;
	(*out)->is_view = false;
	if (rank)
		memcpy(tpi_tensor_dims(*out), sizes, rank * sizeof(*sizes));
	tp_shape_strides(sizes, rank, tpi_tensor_dims(*out) + rank);
	return TP_OK;
}

enum tp_status
tp_sparse_new(const struct tp_tensor *values, const struct tp_tensor *indices,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err)
{
	struct tp_tensor *t = NULL;
	enum tp_status rc;

	*out = NULL;
	rc = rank > TP_MAX_RANK
		 ? tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		       "rank %u, the largest is %u", rank, TP_MAX_RANK)
		 : check_parts(values, indices, rank, err);
	if (!rc)
		rc = tpi_sparse_shell(values, sizes, rank, &t, err);
	if (rc)
		return rc;
	t->sparse = tp_mem_array(t->alloc, 1, sizeof(*t->sparse));
	if (!t->sparse) {
		tp_tensor_free(t);
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for a sparse tensor");
	}
	t->sparse->alloc = t->alloc;
	atomic_init(&t->sparse->count, 1);
	rc = tp_tensor_contiguous(values, &t->sparse->values, err);
	if (!rc)
		rc = tp_tensor_contiguous(indices, &t->sparse->indices, err);
	if (!rc)
		rc = check_indices(t, err);
	if (rc) {
		tp_tensor_free(t);
		return rc;
	}
	*out = t;
	return TP_OK;
}

/* Integers add up modulo their size. */
#define ADD(type)                           \
	do {                                \
		type x_, y_;                \
		memcpy(&x_, a, sizeof(x_)); \
		memcpy(&y_, b, sizeof(y_)); \
		x_ = (type)(x_ + y_);       \
		memcpy(a, &x_, sizeof(x_)); \
	} while (0)

static enum tp_status
add_integer(enum tp_dtype dtype, void *a, const void *b, struct tp_err *err)
{
	switch (tp_dtype_bits(dtype)) {
	case 8:
		ADD(uint8_t);
		return TP_OK;
	case 16:
		ADD(uint16_t);
		return TP_OK;
	case 32:
		ADD(uint32_t);
		return TP_OK;
	case 64:
		ADD(uint64_t);
		return TP_OK;
	}
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "two sparse values of dtype %s for one element",
	    tp_dtype_name(dtype));
}

#undef ADD

/* *a += *b for one element of at least a byte. */
static enum tp_status
add_element(enum tp_dtype dtype, void *a, const void *b, struct tp_err *err)
{
	enum tp_dtype_kind kind = tp_dtype_kind(dtype);
	enum tp_dtype wide =
	    kind == TP_KIND_COMPLEX ? TP_DTYPE_C128 : TP_DTYPE_F64;
	double x[2] = {0}, y[2] = {0};
	enum tp_status rc;

	if (kind == TP_KIND_INT || kind == TP_KIND_UINT)
		return add_integer(dtype, a, b, err);
	if (kind == TP_KIND_BOOL || tp_dtype_bits(dtype) < 8)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "two sparse values of dtype %s for one element",
		    tp_dtype_name(dtype));
	rc = tp_convert(wide, x, dtype, a, 1, TP_OVERFLOW_INF, 0, NULL, err);
	if (!rc)
		rc = tp_convert(
		    wide, y, dtype, b, 1, TP_OVERFLOW_INF, 0, NULL, err);
	if (rc)
		return rc;
	x[0] += y[0];
	x[1] += y[1];
	return tp_convert(dtype, a, wide, x, 1, TP_OVERFLOW_INF, 0, NULL, err);
}

/* Element j of from becomes element i of to, which was zero. */
static void
copy_element(
    enum tp_dtype dtype, void *to, uint64_t i, const void *from, uint64_t j)
{
	unsigned bits = tp_dtype_bits(dtype);

	if (bits >= 8) {
		size_t size = bits / 8;

		memcpy(
		    (char *)to + i * size, (const char *)from + j * size, size);
		return;
	}
	/* The bits are still zero, so they may be set in any order. */
	tpi_packed_set(
	    to, (size_t)i, bits, tpi_packed_get(from, (size_t)j, bits));
}

enum tp_status
tp_to_dense(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *full = NULL, *dense = NULL;
	const void *values;
	enum tp_status rc;
	void *data;

	*out = NULL;
	if (!t->sparse)
		return tp_tensor_contiguous(t, out, err);
	/*
	 * Indices that ascend can be written at once, others are sorted first.
	 */
	if (!t->sparse->is_coalesced) {
		rc = tp_coalesce(t, &full, err);
		if (rc)
			return rc;
		t = full;
	}
	rc = tp_tensor_empty(
	    t->alloc, t->dtype, tp_tensor_sizes(t), t->rank, &dense, err);
	if (!rc) {
		data = tp_tensor_data_mut(dense);
		values = tp_tensor_data(t->sparse->values);
		for (uint64_t i = 0; i < t->sparse->values->n_elems; i++)
			copy_element(
			    t->dtype, data, element_of(t, i), values, i);
		*out = dense;
	}
	tp_tensor_free(full);
	return rc;
}

struct place {
	uint64_t element, value;
};

/* By element; what is there twice stays in its order. */
static int
compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->element != y->element)
		return x->element < y->element ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

static void
put_coordinates(const struct tp_tensor *t, uint64_t element, int64_t *at)
{
	for (unsigned d = t->rank; d-- > 0;) {
		at[d] = (int64_t)(element % (uint64_t)tp_tensor_sizes(t)[d]);
		element /= (uint64_t)tp_tensor_sizes(t)[d];
	}
}

/* Room for n values and their coordinates, made into a tensor like t. */
static enum tp_status
new_parts(const struct tp_tensor *t, uint64_t n, struct tp_tensor **values,
    struct tp_tensor **indices, struct tp_err *err)
{
	const int64_t sizes[] = {(int64_t)n, t->rank};
	enum tp_status rc =
	    tp_tensor_empty(t->alloc, t->dtype, sizes, 1, values, err);

	if (!rc)
		rc = tp_tensor_empty(
		    t->alloc, TP_DTYPE_I64, sizes, 2, indices, err);
	return rc;
}

static enum tp_status
merge(const struct tp_tensor *t, const struct place *places, uint64_t n,
    struct tp_tensor *values, struct tp_tensor *indices, struct tp_err *err)
{
	const char *from = tp_tensor_data(t->sparse->values);
	char *to = tp_tensor_data_mut(values);
	size_t size = tp_dtype_bits(t->dtype) / 8;
	int64_t *at = tp_tensor_data_mut(indices);
	uint64_t k = 0;
	enum tp_status rc = TP_OK;

	for (uint64_t i = 0; i < n && !rc; i++) {
		if (i > 0 && places[i].element == places[i - 1].element) {
			rc = add_element(t->dtype, to + (k - 1) * size,
			    from + places[i].value * size, err);
			continue;
		}
		copy_element(t->dtype, to, k, from, places[i].value);
		put_coordinates(t, places[i].element, at + k * t->rank);
		k++;
	}
	return rc;
}

enum tp_status
tp_coalesce(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *values = NULL, *indices = NULL;
	struct place *places;
	uint64_t n, n_distinct = 0;
	enum tp_status rc;

	*out = NULL;
	if (!t->sparse || t->sparse->is_coalesced)
		return tp_tensor_alias(t, out, err);
	n = t->sparse->values->n_elems;
	places = tp_mem_array(t->alloc, (size_t)n, sizeof(*places));
	if (!places)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory to sort %" PRIu64 " indices", n);
	for (uint64_t i = 0; i < n; i++)
		places[i] = (struct place){element_of(t, i), i};
	qsort(places, (size_t)n, sizeof(*places), compare_places);
	for (uint64_t i = 0; i < n; i++)
		n_distinct +=
		    i == 0 || places[i].element != places[i - 1].element;

	rc = new_parts(t, n_distinct, &values, &indices, err);
	if (!rc)
		rc = merge(t, places, n, values, indices, err);
	if (!rc)
		rc = tp_sparse_new(
		    values, indices, tp_tensor_sizes(t), t->rank, out, err);
	tp_mem_free(t->alloc, places, (size_t)n, sizeof(*places));
	tp_tensor_free(values);
	tp_tensor_free(indices);
	return rc;
}

/* Not zero; for complex numbers, either part. */
static bool
is_set(enum tp_dtype dtype, const void *data, uint64_t i)
{
	if (tp_dtype_kind(dtype) == TP_KIND_COMPLEX) {
		enum tp_dtype part =
		    dtype == TP_DTYPE_C64 ? TP_DTYPE_F32 : TP_DTYPE_F64;

		return tp_load_f64(part, data, (size_t)i * 2) != 0 ||
		       tp_load_f64(part, data, (size_t)i * 2 + 1) != 0;
	}
	return tp_load_f64(dtype, data, (size_t)i) != 0;
}

enum tp_status
tp_to_sparse(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *packed = NULL, *values = NULL, *indices = NULL;
	uint64_t n = 0, k = 0;
	enum tp_status rc;

	*out = NULL;
	if (t->sparse)
		return tp_coalesce(t, out, err);
	rc = tp_tensor_contiguous(t, &packed, err);
	if (rc)
		return rc;
	for (uint64_t i = 0; i < t->n_elems; i++)
		n += is_set(t->dtype, tp_tensor_data(packed), i);
	rc = new_parts(t, n, &values, &indices, err);
	for (uint64_t i = 0; i < t->n_elems && !rc; i++)
		if (is_set(t->dtype, tp_tensor_data(packed), i)) {
			copy_element(t->dtype, tp_tensor_data_mut(values), k,
			    tp_tensor_data(packed), i);
			put_coordinates(t, i,
			    (int64_t *)tp_tensor_data_mut(indices) +
				k * t->rank);
			k++;
		}
	if (!rc)
		rc = tp_sparse_new(
		    values, indices, tp_tensor_sizes(t), t->rank, out, err);
	tp_tensor_free(packed);
	tp_tensor_free(values);
	tp_tensor_free(indices);
	return rc;
}
