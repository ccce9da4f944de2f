/* SPDX-License-Identifier: Apache-2.0 */
/* indices.c - lists of integers of any length */
#include "indices.h"

#include <inttypes.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/copy.h"

#include "../tensor.h"

#include "../banned.h"

enum tp_status
tpi_indices_make(const struct tpi_call *c, struct tpi_indices *list, size_t n,
    struct tp_err *err)
{
	list->alloc = c->alloc;
	list->n = list->room = n;
	list->at = tp_mem_array(c->alloc, n, sizeof(*list->at));
	if (!list->at)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu indices", c->op->onnx, n);
	return TP_OK;
}

static enum tp_status
whole_numbers(const struct tpi_call *c, enum tp_dtype dtype, const void *data,
    struct tpi_indices *list, struct tp_err *err)
{
	if (tp_dtype_kind(dtype) != TP_KIND_FLOAT)
		return tp_convert(TP_DTYPE_I64, list->at, dtype, data, list->n,
		    TP_OVERFLOW_ERROR, 0, NULL, err);
	for (size_t i = 0; i < list->n; i++) {
		double x = tp_load_f64(dtype, data, i);

		/* cppcheck-suppress incorrectLogicOperator ; hex is 0 */
		if (!(x > -0x1p63 && x < 0x1p63))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: %g is no index", c->op->onnx, x);
		list->at[i] = (int64_t)x;
	}
	return TP_OK;
}

static enum tp_status
from_tensor(const struct tpi_call *c, const struct tp_tensor *t, size_t k,
    bool floats, struct tpi_indices *list, struct tp_err *err)
{
	enum tp_dtype_kind kind = tp_dtype_kind(t->dtype);
	struct tp_tensor *packed = NULL;
	enum tp_status rc;

	if ((kind != TP_KIND_INT && kind != TP_KIND_UINT &&
		!(floats && kind == TP_KIND_FLOAT)) ||
	    tpi_is_strings(c, k))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has dtype %s, expected integers",
		    c->op->onnx, k,
		    tpi_is_strings(c, k) ? "string" : tp_dtype_name(t->dtype));
	rc = tp_tensor_contiguous(t, &packed, err);
	if (!rc)
		rc = tpi_indices_make(c, list, (size_t)t->n_elems, err);
	if (!rc)
		rc = whole_numbers(
		    c, t->dtype, tp_tensor_data(packed), list, err);
	tp_tensor_free(packed);
	return rc;
}

enum tp_status
tpi_indices_take(const struct tpi_call *c, const char *name, size_t k,
    struct tpi_indices *list, bool *given, struct tp_err *err)
{
	const struct tp_attr *a = name ? tpi_attr_find(c, name) : NULL;
	const struct tp_tensor *t = k < c->n_in ? c->in[k] : NULL;
	enum tp_status rc;

	*list = (struct tpi_indices){.alloc = c->alloc};
	if (given)
		*given = a || t;
	if (!a)
		return t ? from_tensor(c, t, k, false, list, err) : TP_OK;
	rc = tpi_indices_make(c, list, a->n, err);
	if (!rc && a->n)
		memcpy(list->at, a->ints, a->n * sizeof(*list->at));
	return rc;
}

enum tp_status
tpi_indices_from_any(const struct tpi_call *c, size_t k,
    struct tpi_indices *list, struct tp_err *err)
{
	*list = (struct tpi_indices){.alloc = c->alloc};
	return from_tensor(c, c->in[k], k, true, list, err);
}

void
tpi_indices_release(struct tpi_indices *list)
{
	tp_mem_free(list->alloc, list->at, list->room, sizeof(*list->at));
	list->at = NULL;
}

enum tp_status
tpi_indices_wrap(const struct tpi_call *c, struct tpi_indices *list,
    int64_t bound, struct tp_err *err)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->at[i] < -bound || list->at[i] >= bound)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: index %" PRId64 " of an axis of size %" PRId64,
			    c->op->onnx, list->at[i], bound);
		if (list->at[i] < 0)
			list->at[i] += bound;
	}
	return TP_OK;
}

enum tp_status
tpi_int_input(const struct tpi_call *c, size_t k, int64_t otherwise,
    int64_t *out, struct tp_err *err)
{
	struct tpi_indices list;
	bool given = false;
	enum tp_status rc = tpi_indices_take(c, NULL, k, &list, &given, err);

	*out = otherwise;
	if (!rc && given && list.n != 1)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has %zu numbers, expected one", c->op->onnx,
		    k, list.n);
	if (!rc && given)
		*out = list.at[0];
	tpi_indices_release(&list);
	return rc;
}
