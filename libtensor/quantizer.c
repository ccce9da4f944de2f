/* SPDX-License-Identifier: Apache-2.0 */
/* quantizer.c - parameters, and how they are bound to a tensor */
#include "quantizer.h"

#include <inttypes.h>

#include "tp/shape.h"
#include "tp/view.h"

#include "tensor.h"

#include "banned.h"

const char *
tp_quant_per_name(enum tp_quant_per per)
{
	switch (per) {
	case TP_PER_TENSOR:
		return "tensor";
	case TP_PER_CHANNEL:
		return "channel";
	case TP_PER_BLOCK:
		return "block";
	}
	return "?";
}

struct tp_quantizer *
tpi_quantizer_ref(struct tp_quantizer *q)
{
	if (q)
		atomic_fetch_add_explicit(&q->count, 1, memory_order_relaxed);
	return q;
}

void
tpi_quantizer_unref(struct tp_quantizer *q)
{
	if (!q ||
	    atomic_fetch_sub_explicit(&q->count, 1, memory_order_acq_rel) != 1)
		return;
	tp_tensor_free(q->scale);
	tp_tensor_free(q->zero_point);
	tp_mem_free(q->alloc, q, 1, sizeof(*q));
}

static enum tp_status
new_quantizer(const struct tp_tensor *t, enum tp_quant_scheme scheme,
    const struct tp_tensor *scale, const struct tp_tensor *zero_point,
    struct tp_quantizer **out, struct tp_err *err)
{
	struct tp_quantizer *q = tp_mem_array(t->alloc, 1, sizeof(*q));
	enum tp_status rc;

	if (!q)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a quantizer");
	q->alloc = t->alloc;
	atomic_init(&q->count, 1);
	q->scheme = scheme;
	rc = tp_tensor_alias(scale, &q->scale, err);
	if (!rc && zero_point)
		rc = tp_tensor_alias(zero_point, &q->zero_point, err);
	if (rc) {
		tpi_quantizer_unref(q);
		return rc;
	}
	*out = q;
	return TP_OK;
}

enum tp_status
tpi_quantizer_bind(struct tp_tensor *t, enum tp_quant_scheme scheme,
    const struct tp_tensor *scale, const struct tp_tensor *zero_point,
    struct tp_err *err)
{
	return new_quantizer(t, scheme, scale, zero_point, &t->quantizer, err);
}

static enum tp_status
check_dtypes(const struct tp_tensor *t, const struct tp_quant_params *p,
    struct tp_err *err)
{
	enum tp_dtype_kind kind = tp_dtype_kind(t->dtype);
	enum tp_dtype s = tp_tensor_dtype(p->scale);

	if (kind != TP_KIND_INT && kind != TP_KIND_UINT)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "elements of dtype %s cannot be quantized numbers",
		    tp_dtype_name(t->dtype));
	if (s != TP_DTYPE_F16 && s != TP_DTYPE_BF16 && s != TP_DTYPE_F32 &&
	    s != TP_DTYPE_F64)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a scale of dtype %s; f16, bf16, f32 or f64 is expected",
		    tp_dtype_name(s));
	if (!p->zero_point)
		return TP_OK;
	kind = tp_dtype_kind(tp_tensor_dtype(p->zero_point));
	if (kind != TP_KIND_INT && kind != TP_KIND_UINT)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a zero point of dtype %s; an integer is expected",
		    tp_dtype_name(tp_tensor_dtype(p->zero_point)));
	if (p->scheme == TP_QUANT_SYMMETRIC)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a zero point in a symmetric scheme");
	return TP_OK;
}

/* The shape that a parameter must have, by granularity. */
static enum tp_status
check_shape(const struct tp_tensor *t, const struct tp_quant_params *p,
    const struct tp_tensor *param, const char *what, struct tp_err *err)
{
	int64_t want[TP_MAX_RANK];
	unsigned rank = 0;

	if (p->per == TP_PER_TENSOR) {
		if (param->n_elems == 1)
			return TP_OK;
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a %s of shape %s for the whole tensor; one element is "
		    "expected",
		    what, TP_SHAPE_TEXT(tp_tensor_sizes(param), param->rank));
	}
	if (p->axis >= t->rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "quantized along axis %u of a tensor of rank %u", p->axis,
		    t->rank);
	if (p->per == TP_PER_CHANNEL) {
		want[rank++] = tp_tensor_sizes(t)[p->axis];
	} else {
		if (p->block == 0 || p->block > INT64_MAX)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "quantized in blocks of %" PRIu64, p->block);
		for (; rank < t->rank; rank++)
			want[rank] = tp_tensor_sizes(t)[rank];
		want[p->axis] =
		    (int64_t)(((uint64_t)want[p->axis] + p->block - 1) /
			      p->block);
	}
	for (unsigned d = 0; d < rank || d < param->rank; d++)
		if (rank != param->rank || want[d] != tp_tensor_sizes(param)[d])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "a %s of shape %s; %s is expected", what,
			    TP_SHAPE_TEXT(tp_tensor_sizes(param), param->rank),
			    TP_SHAPE_TEXT(want, rank));
	return TP_OK;
}

/* A parameter as a view of the tensor's shape, 0 where it is repeated. */
static enum tp_status
spread(const struct tp_tensor *t, const struct tp_quant_params *p,
    const struct tp_tensor *param, struct tp_tensor **out, struct tp_err *err)
{
	int64_t strides[TP_MAX_RANK] = {0};

	if (p->per == TP_PER_BLOCK)
		return tp_tensor_alias(param, out, err);
	if (p->per == TP_PER_CHANNEL)
		strides[p->axis] = tp_tensor_strides(param)[0];
	return tpi_tensor_derive(param, tp_tensor_sizes(t), strides, t->rank,
	    param->first, out, err);
}

static enum tp_status
make_quantizer(const struct tp_tensor *t, const struct tp_quant_params *p,
    struct tp_quantizer **out, struct tp_err *err)
{
	struct tp_tensor *scale = NULL, *zero_point = NULL;
	enum tp_status rc;

	rc = check_dtypes(t, p, err);
	if (!rc)
		rc = check_shape(t, p, p->scale, "scale", err);
	if (!rc && p->zero_point)
		rc = check_shape(t, p, p->zero_point, "zero point", err);
	if (!rc)
		rc = spread(t, p, p->scale, &scale, err);
	if (!rc && p->zero_point)
		rc = spread(t, p, p->zero_point, &zero_point, err);
	if (!rc)
		rc = new_quantizer(t, p->scheme, scale, zero_point, out, err);
	tp_tensor_free(scale);
	tp_tensor_free(zero_point);
	if (!rc && p->per == TP_PER_BLOCK) {
		(*out)->per = TP_PER_BLOCK;
		(*out)->axis = p->axis;
		(*out)->block = p->block;
	}
	return rc;
}

enum tp_status
tp_tensor_set_quantizer(struct tp_tensor *t,
    const struct tp_quant_params *params, struct tp_err *err)
{
	struct tp_quant_params p = {.zero_point = NULL};
	struct tp_tensor *zero_point = NULL;
	struct tp_quantizer *q = NULL;
	enum tp_status rc = TP_OK;

	if (params) {
		p = *params;
		/* Packed integers have no strides to broadcast with. */
		if (p.zero_point && tp_dtype_bits(p.zero_point->dtype) < 8 &&
		    tp_dtype_kind(p.zero_point->dtype) != TP_KIND_FLOAT)
			rc = tpi_addressable(p.zero_point, &zero_point, err);
		if (zero_point)
			p.zero_point = zero_point;
		if (!rc)
			rc = make_quantizer(t, &p, &q, err);
		tp_tensor_free(zero_point);
	}
	if (rc)
		return rc;
	tpi_quantizer_unref(t->quantizer);
	t->quantizer = q;
	return TP_OK;
}

bool
tp_tensor_is_quantized(const struct tp_tensor *t)
{
	return t->quantizer != NULL;
}

enum tp_status
tp_tensor_quant_params(
    const struct tp_tensor *t, struct tp_quant_params *out, struct tp_err *err)
{
	const struct tp_quantizer *q = t->quantizer;

	if (!q)
		return tp_fail(
		    err, TP_EARG, TP_NO_OFFSET, "the tensor is not quantized");
	*out = (struct tp_quant_params){
	    .scheme = q->scheme,
	    .per = q->per,
	    .axis = q->axis,
	    .block = q->block,
	    .scale = q->scale,
	    .zero_point = q->zero_point,
	};
	if (q->per == TP_PER_BLOCK)
		return TP_OK;
	/* A channel axis is one along which there is more than one scale. */
	for (unsigned d = 0; d < t->rank; d++)
		if (tp_tensor_sizes(t)[d] > 1 &&
		    tp_tensor_strides(q->scale)[d] != 0) {
			out->per = TP_PER_CHANNEL;
			out->axis = d;
		}
	return TP_OK;
}

enum tp_status
tp_int_repr(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err)
{
	return tpi_tensor_derive(t, tp_tensor_sizes(t), tp_tensor_strides(t),
	    t->rank, t->first, out, err);
}
