/* SPDX-License-Identifier: Apache-2.0 */
/* access.c - elements as C values, after a look at dtype and index */
#include "tp/access.h"

#include <inttypes.h>

#include "tp/layout.h"
#include "tp/shape.h"

#include "storage.h"
#include "tensor.h"

#include "banned.h"

static enum tp_status
check_dtype(const struct tp_tensor *t, enum tp_dtype as, struct tp_err *err)
{
	bool is_code = tp_dtype_kind(as) == TP_KIND_UINT &&
		       tp_dtype_kind(t->dtype) == TP_KIND_FLOAT &&
		       tp_dtype_bits(as) == tp_dtype_bits(t->dtype) &&
		       tp_dtype_bits(as) <= 16;

	if (t->sparse)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "elements of a sparse tensor have no address; "
		    "tp_to_dense first");
	if (t->batch)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "elements cannot be read inside tp_vmap");
	if (as == t->dtype || is_code)
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "a tensor of dtype %s is accessed as %s", tp_dtype_name(t->dtype),
	    tp_dtype_name(as));
}

const void *
tp_tensor_data_as(
    const struct tp_tensor *t, enum tp_dtype as, struct tp_err *err)
{
	if (check_dtype(t, as, err))
		return NULL;
	if (!tp_tensor_is_row_major(t)) {
		(void)tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "the elements are not in row-major order; "
		    "tp_tensor_contiguous first");
		return NULL;
	}
	return tp_tensor_data(t);
}

void *
tp_tensor_data_mut_as(struct tp_tensor *t, enum tp_dtype as, struct tp_err *err)
{
	if (!tp_tensor_data_as(t, as, err) || tp_tensor_check_write(t, err))
		return NULL;
	tp_tensor_bump_version(t);
	return tp_tensor_data_mut(t);
}

/* The number of the element in the storage. */
static enum tp_status
find_element(const struct tp_tensor *t, const int64_t *index, size_t n_indices,
    size_t *at, struct tp_err *err)
{
	const int64_t *sizes = tp_tensor_sizes(t);
	const int64_t *strides = tp_tensor_strides(t);
	int64_t sum = (int64_t)t->first;

	if (n_indices != t->rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%zu indices for a tensor of shape %s", n_indices,
		    TP_SHAPE_TEXT(sizes, t->rank));
	for (unsigned d = 0; d < t->rank; d++)
		if (index[d] < 0 || index[d] >= sizes[d])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "index %" PRId64 " along axis %u of shape %s",
			    index[d], d, TP_SHAPE_TEXT(sizes, t->rank));
	/* All elements lie in the storage: no sum on the way leaves int64. */
	for (unsigned d = 0; d < t->rank; d++)
		sum += index[d] * strides[d];
	*at = (size_t)sum;
	return TP_OK;
}

static char *
address(const struct tp_tensor *t, enum tp_dtype as, const int64_t *index,
    size_t n_indices, struct tp_err *err)
{
	size_t at;

	if (check_dtype(t, as, err) ||
	    find_element(t, index, n_indices, &at, err))
		return NULL;
	return tpi_storage_bytes(t->storage) +
	       at * (tp_dtype_bits(t->dtype) / 8);
}

const void *
tp_tensor_at(const struct tp_tensor *t, enum tp_dtype as, const int64_t *index,
    size_t n_indices, struct tp_err *err)
{
	if (tp_dtype_bits(as) < 8) {
		(void)tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "elements of dtype %s have no address of their own",
		    tp_dtype_name(as));
		return NULL;
	}
	return address(t, as, index, n_indices, err);
}

void *
tp_tensor_at_mut(struct tp_tensor *t, enum tp_dtype as, const int64_t *index,
    size_t n_indices, struct tp_err *err)
{
	if (!tp_tensor_at(t, as, index, n_indices, err) ||
	    tp_tensor_check_write(t, err))
		return NULL;
	tp_tensor_bump_version(t);
	return address(t, as, index, n_indices, err);
}

enum tp_status
tp_tensor_get(const struct tp_tensor *t, const int64_t *index, size_t n_indices,
    double *out, struct tp_err *err)
{
	enum tp_status rc = check_dtype(t, t->dtype, err);
	size_t at;

	if (!rc)
		rc = find_element(t, index, n_indices, &at, err);
	if (!rc)
		*out = tp_load_f64(t->dtype, tp_storage_data(t->storage), at);
	return rc;
}

enum tp_status
tp_tensor_fill(struct tp_tensor *t, double value, enum tp_overflow overflow,
    struct tp_err *err)
{
	struct tp_tensor *one = NULL;
	enum tp_status rc;

	rc = tp_tensor_empty(t->alloc, TP_DTYPE_F64, NULL, 0, &one, err);
	if (rc)
		return rc;
	*(double *)tp_tensor_data_mut(one) = value;
	rc = tp_tensor_assign(t, one, overflow, err);
	tp_tensor_free(one);
	return rc;
}
