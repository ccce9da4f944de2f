/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - making a tensor over a storage, and looking at it */
#include "tensor.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/shape.h"

#include "batch.h"
#include "fn.h"
#include "quantizer.h"
#include "sparse.h"
#include "storage.h"

#include "banned.h"

/* A handle with room for rank sizes and strides. */
static enum tp_status
new_handle(const struct tp_alloc *alloc, unsigned rank, struct tp_tensor **out,
    struct tp_err *err)
{
	struct tp_tensor *t;

	if (rank > TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "rank %u, the largest is %u", rank, TP_MAX_RANK);
	t = tp_mem_array(alloc, 1, sizeof(*t));
	if (t && rank > TPI_INLINE_RANK) {
		t->heap_dims = tp_mem_array(alloc, 2 * rank, sizeof(int64_t));
		if (!t->heap_dims) {
			tp_mem_free(alloc, t, 1, sizeof(*t));
			t = NULL;
		}
	}
	if (!t)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a tensor");
	t->alloc = alloc;
	t->rank = rank;
	*out = t;
	return TP_OK;
}

/* Every element that sizes and strides reach lies in the storage. */
static enum tp_status
check_inside(const struct tp_tensor *t, struct tp_err *err)
{
	const int64_t *sizes = tp_tensor_sizes(t);
	uint64_t nbytes, n_reached;
	int64_t low, high;
	enum tp_status rc;

	rc = tp_shape_extent(
	    sizes, tp_tensor_strides(t), t->rank, &low, &high, err);
	if (rc || t->n_elems == 0)
		return rc;
	if (t->first <= INT64_MAX && (int64_t)t->first + low < 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "strides reach element %" PRId64 " of the storage",
		    (int64_t)t->first + low);
	if (t->first > INT64_MAX ||
	    tp_add_u64(t->first, (uint64_t)high, &n_reached) ||
	    tp_add_u64(n_reached, 1, &n_reached))
		return tp_fail(
		    err, TP_EARG, TP_NO_OFFSET, "element offset overflows");
	rc = tp_dtype_nbytes(t->dtype, n_reached, &nbytes, err);
	if (rc)
		return rc;
	if (nbytes > tp_storage_nbytes(t->storage))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a tensor of shape %s and dtype %s needs %" PRIu64
		    " bytes, its storage has %zu",
		    TP_SHAPE_TEXT(sizes, t->rank), tp_dtype_name(t->dtype),
		    nbytes, tp_storage_nbytes(t->storage));
	return TP_OK;
}

enum tp_status
tpi_tensor_numel(
    const int64_t *sizes, unsigned rank, uint64_t *n, struct tp_err *err)
{
	enum tp_status rc = tp_shape_numel(sizes, rank, n, err);
	uint64_t most;

	if (rc)
		return rc;
	most = *n;
	/* Without elements an axis may still be long. */
	for (unsigned d = 0; d < rank; d++)
		if ((uint64_t)sizes[d] > most)
			most = (uint64_t)sizes[d];
	if (most > PTRDIFF_MAX)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "shape %s: %" PRIu64
		    " elements, this machine counts to %td",
		    TP_SHAPE_TEXT(sizes, rank), most, PTRDIFF_MAX);
	return TP_OK;
}

static enum tp_status
make(const struct tp_alloc *alloc, struct tp_storage *storage,
    enum tp_dtype dtype, const int64_t *sizes, const int64_t *strides,
    unsigned rank, uint64_t first, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *t = NULL;
	enum tp_status rc;
	uint64_t n;

	if (tp_dtype_bits(dtype) == 0)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensors of dtype %s are not held in memory",
		    tp_dtype_name(dtype));
	rc = tpi_tensor_numel(sizes, rank, &n, err);
	if (rc)
		return rc;
	rc = new_handle(alloc, rank, &t, err);
	if (rc)
		return rc;
	t->dtype = dtype;
	t->first = first;
	t->n_elems = n;
	if (rank)
		memcpy(tpi_tensor_dims(t), sizes, rank * sizeof(*sizes));
	if (strides && rank)
		memcpy(tpi_tensor_dims(t) + rank, strides,
		    rank * sizeof(*strides));
	else
		tp_shape_strides(sizes, rank, tpi_tensor_dims(t) + rank);
	t->storage = tp_storage_ref(storage);
	rc = check_inside(t, err);
	if (rc) {
		tp_tensor_free(t);
		return rc;
	}
	*out = t;
	return TP_OK;
}

enum tp_status
tp_tensor_new(struct tp_storage *storage, enum tp_dtype dtype,
    const int64_t *sizes, const int64_t *strides, unsigned rank, uint64_t first,
    struct tp_tensor **out, struct tp_err *err)
{
	*out = NULL;
	return make(tpi_storage_alloc(storage), storage, dtype, sizes, strides,
	    rank, first, out, err);
}

/* Bytes of a packed tensor, as a size that memory can have. */
static enum tp_status
packed_nbytes(enum tp_dtype dtype, const int64_t *sizes, unsigned rank,
    size_t *nbytes, struct tp_err *err)
{
	uint64_t n, wide;
	enum tp_status rc = tp_shape_numel(sizes, rank, &n, err);

	if (!rc)
		rc = tp_dtype_nbytes(dtype, n, &wide, err);
	if (!rc && tp_u64_to_size(wide, nbytes))
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %" PRIu64 " bytes", wide);
	return rc;
}

/* A packed tensor in memory of alloc or, where one is given, of a device. */
static enum tp_status
make_empty(const struct tp_alloc *alloc, const struct tp_device *device,
    enum tp_dtype dtype, const int64_t *sizes, unsigned rank,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tp_storage *storage = NULL;
	enum tp_status rc;
	size_t nbytes;

	*out = NULL;
	rc = packed_nbytes(dtype, sizes, rank, &nbytes, err);
	if (!rc && device)
		rc = tp_storage_new_on(*device, nbytes, &storage, err);
	else if (!rc)
		rc = tp_storage_new(alloc, nbytes, &storage, err);
	if (rc)
		return rc;
	rc = make(alloc, storage, dtype, sizes, NULL, rank, 0, out, err);
	tp_storage_unref(storage);
	return rc;
}

enum tp_status
tp_tensor_empty(const struct tp_alloc *alloc, enum tp_dtype dtype,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err)
{
	return make_empty(alloc, NULL, dtype, sizes, rank, out, err);
}

enum tp_status
tp_tensor_empty_on(struct tp_device device, enum tp_dtype dtype,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err)
{
	return make_empty(NULL, &device, dtype, sizes, rank, out, err);
}

/* What is left of the last byte of narrow elements is zero. */
static void
clear_rest(struct tp_storage *storage, size_t nbytes)
{
	if (nbytes > 0)
		tpi_storage_bytes(storage)[nbytes - 1] = 0;
}

enum tp_status
tpi_tensor_unwritten(const struct tp_alloc *alloc, enum tp_dtype dtype,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err)
{
	struct tp_storage *storage = NULL;
	enum tp_status rc;
	size_t nbytes;

	*out = NULL;
	rc = packed_nbytes(dtype, sizes, rank, &nbytes, err);
	if (!rc)
		rc = tpi_storage_new_raw(alloc, nbytes, &storage, err);
	if (rc)
		return rc;
	clear_rest(storage, nbytes);
	rc = make(alloc, storage, dtype, sizes, NULL, rank, 0, out, err);
	tp_storage_unref(storage);
	return rc;
}

enum tp_status
tpi_tensor_new_like(const struct tp_tensor *t, const int64_t *strides,
    struct tp_tensor **out, struct tp_err *err)
{
	const int64_t *sizes = tp_tensor_sizes(t);
	struct tp_storage *storage = NULL;
	enum tp_status rc;
	size_t nbytes;

	*out = NULL;
	rc = packed_nbytes(t->dtype, sizes, t->rank, &nbytes, err);
	if (!rc)
		rc = tpi_storage_new_like(t->storage, nbytes, &storage, err);
	if (rc)
		return rc;
	clear_rest(storage, nbytes);
	rc = make(
	    t->alloc, storage, t->dtype, sizes, strides, t->rank, 0, out, err);
	tp_storage_unref(storage);
	return rc;
}

enum tp_status
tpi_tensor_derive(const struct tp_tensor *t, const int64_t *sizes,
    const int64_t *strides, unsigned rank, uint64_t first,
    struct tp_tensor **out, struct tp_err *err)
{
	enum tp_status rc;

	*out = NULL;
	if (t->sparse)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "a view of a sparse tensor; tp_to_dense first");
	if (t->batch)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "a view of a tensor inside tp_vmap that knows nothing of "
		    "it; those of tp/ops.h do");
	rc = tp_tensor_new(
	    t->storage, t->dtype, sizes, strides, rank, first, out, err);
	if (rc)
		return rc;
	(*out)->is_view = true;
	(*out)->is_inference = t->is_inference;
	return TP_OK;
}

enum tp_status
tp_tensor_alias(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err)
{
	enum tp_status rc;

	*out = NULL;
	if (t->batch)
		return tpi_batch_alias(t, out, err);
	rc = t->sparse ? tpi_sparse_shell(t->sparse->values, tp_tensor_sizes(t),
			     t->rank, out, err)
		       : tpi_tensor_derive(t, tp_tensor_sizes(t),
			     tp_tensor_strides(t), t->rank, t->first, out, err);
	if (rc)
		return rc;
	(*out)->is_view = t->is_view;
	(*out)->is_inference = t->is_inference;
	(*out)->quantizer = tpi_quantizer_ref(t->quantizer);
	(*out)->sparse = tpi_sparse_ref(t->sparse);
	return TP_OK;
}

void
tp_tensor_free(struct tp_tensor *t)
{
	if (!t)
		return;
	tpi_quantizer_unref(t->quantizer);
	tpi_sparse_unref(t->sparse);
	tpi_autograd_drop(t);
	tpi_batch_drop(t);
	tp_storage_unref(t->storage);
	tp_mem_free(t->alloc, t->heap_dims, 2 * t->rank, sizeof(int64_t));
	tp_mem_free(t->alloc, t, 1, sizeof(*t));
}

enum tp_dtype
tp_tensor_dtype(const struct tp_tensor *t)
{
	return t->dtype;
}

unsigned
tp_tensor_rank(const struct tp_tensor *t)
{
	return t->rank;
}

const int64_t *
tp_tensor_sizes(const struct tp_tensor *t)
{
	return t->heap_dims ? t->heap_dims : t->inline_dims;
}

const int64_t *
tp_tensor_strides(const struct tp_tensor *t)
{
	return tp_tensor_sizes(t) + t->rank;
}

uint64_t
tp_tensor_numel(const struct tp_tensor *t)
{
	return t->n_elems;
}

uint64_t
tp_tensor_first(const struct tp_tensor *t)
{
	return t->first;
}

struct tp_storage *
tp_tensor_storage(const struct tp_tensor *t)
{
	return t->storage;
}

bool
tp_tensor_is_row_major(const struct tp_tensor *t)
{
	return tp_shape_is_row_major(
	    tp_tensor_sizes(t), tp_tensor_strides(t), t->rank);
}

/* Where the first element begins, or false if inside a byte. */
static bool
first_byte(const struct tp_tensor *t, size_t *at)
{
	unsigned bits = tp_dtype_bits(t->dtype);

	if (t->sparse || t->batch || (bits < 8 && t->first * bits % 8))
		return false;
	*at = (size_t)(bits < 8 ? t->first * bits / 8 : t->first * (bits / 8));
	return true;
}

const void *
tp_tensor_data(const struct tp_tensor *t)
{
	const char *data = tp_storage_data(t->storage);
	size_t at;

	return first_byte(t, &at) ? data + at : NULL;
}

void *
tp_tensor_data_mut(struct tp_tensor *t)
{
	char *data = tp_storage_data_mut(t->storage);
	size_t at;

	return data && first_byte(t, &at) ? data + at : NULL;
}

char *
tpi_tensor_address(const struct tp_tensor *t)
{
	size_t at = 0;

	return first_byte(t, &at) ? tpi_storage_bytes(t->storage) + at : NULL;
}

bool
tp_tensor_is_view(const struct tp_tensor *t)
{
	return t->is_view;
}

struct tp_device
tp_tensor_device(const struct tp_tensor *t)
{
	return tpi_storage_device(t->storage);
}

uint64_t
tp_tensor_version(const struct tp_tensor *t)
{
	return t->is_inference ? 0 : tpi_storage_version(t->storage);
}

void
tp_tensor_bump_version(const struct tp_tensor *t)
{
	if (!t->is_inference)
		tpi_storage_bump_version(t->storage);
}

void
tp_tensor_set_inference(struct tp_tensor *t, bool on)
{
	t->is_inference = on;
}

bool
tp_tensor_is_inference(const struct tp_tensor *t)
{
	return t->is_inference;
}

/*
 * Taken from the smallest stride up, each axis must step over all that the
 * axes before it reach. Layouts that interleave without meeting are refused
 * too; no function here makes one.
 */
static bool
may_overlap(const struct tp_tensor *t)
{
	const int64_t *sizes = tp_tensor_sizes(t);
	const int64_t *strides = tp_tensor_strides(t);
	bool done[TP_MAX_RANK] = {false};
	uint64_t reach = 0;

	for (unsigned n = 0; n < t->rank; n++) {
		uint64_t least = UINT64_MAX;
		unsigned axis = 0;

		for (unsigned d = 0; d < t->rank; d++) {
			uint64_t step = strides[d] < 0
					    ? 0 - (uint64_t)strides[d]
					    : (uint64_t)strides[d];

			if (!done[d] && (step < least || least == UINT64_MAX)) {
				least = step;
				axis = d;
			}
		}
		done[axis] = true;
		if (sizes[axis] <= 1)
			continue;
		if (least <= reach)
			return true;
		reach += least * (uint64_t)(sizes[axis] - 1);
	}
	return false;
}

enum tp_status
tp_tensor_check_write(const struct tp_tensor *t, struct tp_err *err)
{
	if (t->sparse)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "write to a sparse tensor; tp_to_dense first");
	if (!tp_storage_data_mut(t->storage))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "write to a read-only tensor; a clone can be written");
	if (t->n_elems > 0 && may_overlap(t))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "write to a tensor of shape %s of which several elements "
		    "are one; a clone can be written",
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank));
	return TP_OK;
}
