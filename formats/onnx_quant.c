/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_quant.c - weights that a DequantizeLinear node explains
 *
 *	y = (x - zero_point) * scale
 *
 * x, scale and zero_point are inputs 0 to 2. A scale with one element is for
 * the whole tensor, one with a size is along axis (1 if not said), one with the
 * rank of x is for blocks of block_size along axis. What does not fit is the
 * business of whoever runs the graph: such a weight is plain numbers here.
 */
#include "onnx_read.h"

#include <stdio.h>
#include <string.h>

#include "banned.h"

/* Slots by scope and local name, which is the number of their entry. */
struct names {
	struct tp_map map;
	struct tpi_arena arena; /* keys that are in the map */
	struct tpi_copy key;	/* one to look for */
	const struct tpi_onnx_slots *slots;
};

static struct tp_str
make_key(char *p, size_t scope, struct tp_str local)
{
	memcpy(p, &scope, sizeof(scope));
	memcpy(p + sizeof(scope), local.s, local.len);
	return (struct tp_str){p, local.len + sizeof(scope)};
}

static enum tp_status
add_names(struct names *n, struct tp_err *err)
{
	const struct tpi_onnx_slot *slot;
	enum tp_status rc = TP_OK;
	char *p;

	for (size_t i = 0; i < n->slots->n_items && !rc; i++) {
		slot = &n->slots->items[i];
		p = tpi_arena_array(
		    &n->arena, slot->local.len + sizeof(slot->scope), 1);
		if (!p)
			return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "out of memory for names");
		rc = tp_map_add(&n->map, make_key(p, slot->scope, slot->local),
		    i, NULL, err);
	}
	return rc;
}

/* Input i of the node as an entry: in its scope, or in one around it. */
static enum tp_status
find_input(struct names *n, const struct tpi_onnx_dequantizer *d, size_t i,
    size_t *entry, struct tp_err *err)
{
	struct tp_str name;
	enum tp_status rc;
	uint8_t *p;

	*entry = TP_NONE;
	if (i >= d->node->n_input)
		return TP_OK;
	name = tpi_onnx_str(d->node->input[i]);
	n->key.n = 0;
	rc = tpi_copy_add(&n->key, name.len + sizeof(d->scope), &p, err);
	if (rc)
		return rc;
	for (size_t scope = d->scope; name.len && scope != TP_NONE;
	     scope = n->slots->scopes[scope].parent)
		if (tp_map_find(
			&n->map, make_key((char *)p, scope, name), entry))
			break;
	return TP_OK;
}

static int64_t
int_attribute(
    const TpOnnx__NodeProto *node, const char *name, int64_t otherwise)
{
	const TpOnnx__AttributeProto *a =
	    tpi_onnx_attribute(node, tp_str(name));

	return a && a->has_i ? a->i : otherwise;
}

/* Do scales of this shape fit the weight? Then q says how. */
static bool
fits(const struct tp_entry *x, const struct tp_entry *s, int64_t axis,
    int64_t block, struct tp_quant_info *q)
{
	if (s->n_elems == 1 && s->rank <= 1) {
		q->per = TP_PER_TENSOR;
		return true;
	}
	if (axis < 0)
		axis += x->rank;
	if (axis < 0 || axis >= (int64_t)x->rank)
		return false;
	q->axis = (unsigned)axis;
	if (s->rank == 1 && block == 0) {
		q->per = TP_PER_CHANNEL;
		return s->shape[0] == x->shape[axis];
	}
	if (s->rank != x->rank || block <= 0)
		return false;
	for (unsigned d = 0; d < x->rank; d++) {
		int64_t n = x->shape[d];

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
same_shape(const struct tp_entry *a, const struct tp_entry *b)
{
	if (a->rank != b->rank)
		return false;
	for (unsigned d = 0; d < a->rank; d++)
		if (a->shape[d] != b->shape[d])
			return false;
	return true;
}

static enum tp_status
add_quantizer(struct tp_reader *r, struct names *n,
    const struct tpi_onnx_dequantizer *d, struct tp_err *err)
{
	struct tp_quant_info q = {.in_graph = true};
	const struct tp_entry *x, *s, *z;
	size_t weight;
	enum tp_status rc;

	rc = find_input(n, d, 0, &weight, err);
	if (!rc)
		rc = find_input(n, d, 1, &q.scale, err);
	if (!rc)
		rc = find_input(n, d, 2, &q.zero_point, err);
	if (rc || weight == TP_NONE || q.scale == TP_NONE)
		return rc;
	if (q.zero_point == TP_NONE && d->node->n_input > 2 &&
	    d->node->input[2].len)
		return TP_OK; /* computed by the graph */

	x = &r->entries[weight];
	s = &r->entries[q.scale];
	if (x->quant || x->sparse || s->sparse ||
	    tp_dtype_kind(s->dtype) != TP_KIND_FLOAT ||
	    !fits(x, s, int_attribute(d->node, "axis", 1),
		int_attribute(d->node, "block_size", 0), &q))
		return TP_OK;
	if (q.zero_point != TP_NONE) {
		z = &r->entries[q.zero_point];
		if (z->sparse || z->dtype != x->dtype || !same_shape(z, s))
			return TP_OK;
	}
	return tpi_reader_set_quant(r, weight, &q, err);
}

enum tp_status
tpi_onnx_add_quantizers(
    struct tp_reader *r, const struct tpi_onnx_slots *slots, struct tp_err *err)
{
	struct names n = {.slots = slots, .key.alloc = r->alloc};
	enum tp_status rc;

	if (!slots->n_dequantizers)
		return TP_OK;
	tp_map_init(&n.map, r->alloc);
	tpi_arena_init(&n.arena, r->alloc);
	rc = add_names(&n, err);
	for (size_t i = 0; i < slots->n_dequantizers && !rc; i++)
		rc = add_quantizer(r, &n, &slots->dequantizers[i], err);
	tp_map_release(&n.map);
	tpi_arena_release(&n.arena);
	tpi_copy_release(&n.key);
	return rc;
}
