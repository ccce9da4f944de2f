/* SPDX-License-Identifier: Apache-2.0 */
/* old_broadcast.c - how operators broadcast before opset 7 */
#include "old_broadcast.h"

#include <inttypes.h>

#include "../tensor.h"

#include "../banned.h"

const struct tpi_attr_spec tpi_old_broadcast_attrs[] = {
    {"axis", TP_ATTR_INT},
    {"broadcast", TP_ATTR_INT},
    {"consumed_inputs", TP_ATTR_INTS},
    {NULL, 0},
};

static enum tp_status
refuse(const struct tpi_call *c, unsigned axis, struct tp_err *err)
{
	const struct tp_tensor *a = c->in[0], *b = c->in[1];

	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: input 1 of shape %s does not lie in shape %s at axis %u",
	    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(b), b->rank),
	    TP_SHAPE_TEXT(tp_tensor_sizes(a), a->rank), axis);
}

/* The axis of input 0 where input 1 begins. */
static enum tp_status
find_axis(const struct tpi_call *c, unsigned *axis, struct tp_err *err)
{
	const struct tp_tensor *a = c->in[0], *b = c->in[1];
	const struct tp_attr *given = tpi_attr_find(c, "axis");

	*axis = 0;
	if (!tpi_attr_int(c, "broadcast", 0))
		return tpi_same_shape(a, b) ? TP_OK : refuse(c, 0, err);
	if (b->rank > a->rank)
		return refuse(c, 0, err);
	*axis = a->rank - b->rank;
	if (given && b->rank)
		return tpi_op_axis(c, given->i, a->rank, axis, err);
	return TP_OK;
}

enum tp_status
tpi_infer_old_broadcast(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *a = c->in[0], *b = c->in[1];
	unsigned axis;
	enum tp_status rc = find_axis(c, &axis, err);

	if (rc)
		return rc;
	if (b->dtype != a->dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 1 has dtype %s, input 0 has %s", c->op->onnx,
		    tp_dtype_name(b->dtype), tp_dtype_name(a->dtype));
	if (b->rank > a->rank - axis)
		return refuse(c, axis, err);
	for (unsigned d = 0; d < b->rank; d++)
		if (tp_tensor_sizes(b)[d] != 1 &&
		    tp_tensor_sizes(b)[d] != tp_tensor_sizes(a)[axis + d])
			return refuse(c, axis, err);
	infos[0] = tpi_info_of(a);
	return TP_OK;
}

enum tp_status
tpi_align_at(const struct tpi_call *c, size_t k, unsigned axis,
    struct tp_tensor **view, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[k];
	int64_t sizes[TP_MAX_RANK], strides[TP_MAX_RANK];
	unsigned rank = c->in[0]->rank - axis;

	for (unsigned d = 0; d < rank; d++) {
		bool own = d < t->rank;

		sizes[d] = own ? tp_tensor_sizes(t)[d] : 1;
		strides[d] = own ? tp_tensor_strides(t)[d] : 0;
	}
	return tpi_tensor_derive(t, sizes, strides, rank, t->first, view, err);
}

enum tp_status
tpi_run_aligned(struct tpi_call *c, tpi_run_fn *run, struct tp_err *err)
{
	const struct tp_tensor *b = c->in[1];
	struct tp_tensor *view = NULL;
	unsigned axis;
	enum tp_status rc = find_axis(c, &axis, err);

	if (!rc)
		rc = tpi_align_at(c, 1, axis, &view, err);
	if (rc)
		return rc;
	c->in[1] = view;
	rc = run(c, err);
	c->in[1] = b;
	tp_tensor_free(view);
	return rc;
}

enum tp_status
tpi_run_old_broadcast(struct tpi_call *c, struct tp_err *err)
{
	return tpi_run_aligned(c, tpi_run_elementwise, err);
}
