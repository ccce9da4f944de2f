/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_quant.c - weights that the nodes behind them explain
 *
 *	y = (x - zero_point) * scale
 *
 * Of DequantizeLinear a scale with one element is for the whole tensor, one
 * with a size is along axis (1 if not said), one with the rank of x is for
 * blocks of block_size along axis. Of Mul the sizes tell, as operands
 * broadcast: [C, 1, 1] stands beside the third axis from the end; before opset
 * 7 [C] stood beside the attribute axis.
 */
#include "onnx_expansions.h"
#include "onnx_message.h"
#include "onnx_read.h"

#include "banned.h"

static int64_t
int_attribute(
    const TpOnnx__NodeProto *node, const char *name, int64_t otherwise)
{
	const TpOnnx__AttributeProto *a =
	    tpi_onnx_attribute(node, tp_str(name));

	return a && a->has_i ? a->i : otherwise;
}

static bool
fits_blocks(const struct tp_entry *w, const struct tp_entry *s, int64_t block,
    struct tp_quant_info *q)
{
	if (s->rank != w->rank || block <= 0)
		return false;
	for (unsigned d = 0; d < w->rank; d++) {
		int64_t n = w->shape[d];

		if (d == q->axis)
			n = n / block + (n % block != 0);
		if (s->shape[d] != n)
			return false;
	}
	q->per = TP_PER_BLOCK;
	q->block = (uint64_t)block;
	return true;
}

static bool
fits_dequantize(const TpOnnx__NodeProto *node, const struct tp_entry *w,
    const struct tp_entry *s, struct tp_quant_info *q)
{
	int64_t axis = int_attribute(node, "axis", 1);
	int64_t block = int_attribute(node, "block_size", 0);

	if (s->n_elems == 1 && s->rank <= 1) {
		q->per = TP_PER_TENSOR;
		return true;
	}
	if (axis < 0)
		axis += w->rank;
	if (axis < 0 || axis >= (int64_t)w->rank)
		return false;
	q->axis = (unsigned)axis;
	if (s->rank == 1 && block == 0) {
		q->per = TP_PER_CHANNEL;
		return s->shape[0] == w->shape[axis];
	}
	return fits_blocks(w, s, block, q);
}

/* Does a product with numbers of these sizes leave w its shape? */
static bool
fits_product(const TpOnnx__NodeProto *node, const struct tp_entry *w,
    const struct tp_entry *s, struct tp_quant_info *q)
{
	int64_t first = (int64_t)w->rank - s->rank;

	first = int_attribute(node, "axis", first);
	if (s->rank > w->rank || first < 0 ||
	    first > (int64_t)(w->rank - s->rank))
		return false;
	q->per = TP_PER_TENSOR;
	for (unsigned d = 0; d < s->rank; d++) {
		unsigned axis = (unsigned)first + d;

		if (s->shape[d] == 1)
			continue;
		if (q->per != TP_PER_TENSOR || s->shape[d] != w->shape[axis])
			return false;
		q->per = TP_PER_CHANNEL;
		q->axis = axis;
	}
	return true;
}

/* One number may be a scalar here and have an axis there. */
static bool
same_shape(const struct tp_entry *a, const struct tp_entry *b)
{
	if (a->n_elems == 1 && b->n_elems == 1)
		return true;
	if (a->rank != b->rank)
		return false;
	for (unsigned d = 0; d < a->rank; d++)
		if (a->shape[d] != b->shape[d])
			return false;
	return true;
}

bool
tpi_onnx_expansion_fits(const struct tpi_onnx_expansion *x,
    const struct tp_entry *w, const struct tp_entry *scale,
    const struct tp_entry *zero, struct tp_quant_info *info)
{
	const TpOnnx__NodeProto *last = tpi_onnx_expansion_last(x);

	*info = (struct tp_quant_info){.in_graph = true};
	if (w->sparse || scale->sparse ||
	    tp_dtype_kind(scale->dtype) != TP_KIND_FLOAT)
		return false;
	if (zero && (zero->sparse || zero->dtype != w->dtype ||
			!same_shape(zero, scale)))
		return false;
	if (x->n_nodes == 1)
		return fits_dequantize(last, w, scale, info);
	/* A product of floats is no weight that was narrowed. */
	return (tp_dtype_kind(w->dtype) == TP_KIND_INT ||
		   tp_dtype_kind(w->dtype) == TP_KIND_UINT) &&
	       fits_product(last, w, scale, info);
}

enum tp_status
tpi_onnx_add_quantizers(
    struct tp_reader *r, const struct tpi_onnx_slots *slots, struct tp_err *err)
{
	struct tpi_onnx_expansions all;
	enum tp_status rc = tpi_onnx_expansions_find(&all, slots, err);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < all.n; i++) {
		const struct tpi_onnx_expansion *x = &all.items[i];
		struct tp_quant_info q;

		/* Entries are numbered as slots are. The first node counts. */
		if (x->scale == TP_NONE || r->entries[x->codes].quant ||
		    !tpi_onnx_expansion_fits(x, &r->entries[x->codes],
			&r->entries[x->scale],
			x->zero == TP_NONE ? NULL : &r->entries[x->zero], &q))
			continue;
		q.scale = x->scale;
		q.zero_point = x->zero;
		rc = tpi_reader_set_quant(r, x->codes, &q, err);
	}
	tpi_onnx_expansions_release(&all);
	return rc;
}
