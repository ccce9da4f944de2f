/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_attach.c - the graph without its weights
 *
 * The tree is read once more, into one that may be changed. Slots lose their
 * values: a tensor its data, wherever that lies, an attribute its numbers or
 * strings; name, type and shape stay, and so does all else. Tensors that are no
 * slots (attributes of other nodes, Constants that are to be kept) get their
 * data back from the file, or from the file beside it. What is packed then is a
 * whole ONNX model in which only the weights are missing.
 */
#include "onnx_read.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/shape.h"

#include "proto_alloc.h"

#include "banned.h"

struct strip {
	struct tp_reader *r;
	struct tpi_onnx_tree tree;
	struct tpi_wire w;
	uint8_t *is_slot;    /* of each payload */
	uint64_t bytes_left; /* for what goes into the graph */
};

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for the graph");
}

/* A name for messages: tensors that are no weights need not have one. */
static struct tp_str
name_of(const TpOnnx__TensorProto *t)
{
	return t->name.len ? tpi_onnx_str(t->name)
			   : TP_STR("(attribute of a node)");
}

/* What is dropped stays in the arena of the tree until that goes. */
static void
drop_location(TpOnnx__TensorProto *t)
{
	t->external_data = NULL;
	t->n_external_data = 0;
	t->has_data_location = 0;
	t->data_location = 0;
}

static void
empty_tensor(TpOnnx__TensorProto *t)
{
	t->raw_data = (ProtobufCBinaryData){0, NULL};
	t->has_raw_data = 0;
	drop_location(t);
}

/* Numbers and strings of a Constant; its tensors are emptied as tensors. */
static void
empty_attribute(TpOnnx__AttributeProto *a)
{
	a->has_f = a->has_i = a->has_s = 0;
	a->f = 0;
	a->i = 0;
	a->s = (ProtobufCBinaryData){0, NULL};
	a->floats = NULL;
	a->ints = NULL;
	a->strings = NULL;
	a->n_floats = a->n_ints = a->n_strings = 0;
}

/* Mark the payloads of slots, and empty the values that have none. */
static enum tp_status
mark_slots(struct strip *s, struct tp_err *err)
{
	bool constants = !(s->r->flags & TP_OPEN_KEEP_CONSTANTS);
	const struct tpi_onnx_slot *slot;
	struct tpi_onnx_slots slots;
	enum tp_status rc;

	rc = tpi_onnx_slots_find(
	    &slots, s->r->alloc, s->tree.model, constants, &s->r->limits, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < slots.n_items; i++) {
		slot = &slots.items[i];
		if (slot->tensor)
			s->is_slot[tpi_onnx_payload_of(slot->tensor)] = 1;
		if (slot->sparse && slot->sparse->values)
			s->is_slot[tpi_onnx_payload_of(slot->sparse->values)] =
			    1;
		if (slot->sparse && slot->sparse->indices)
			s->is_slot[tpi_onnx_payload_of(slot->sparse->indices)] =
			    1;
		if (slot->attribute)
			empty_attribute(slot->attribute);
	}
	tpi_onnx_slots_release(&slots);
	return TP_OK;
}

/* All pieces of a tensor as they are in the file, one after the other. */
static enum tp_status
read_pieces(struct strip *s, size_t payload, uint8_t **data, size_t *n,
    struct tp_err *err)
{
	const struct tpi_skim *all = &s->tree.skim;
	struct tp_limits limits = s->r->limits;
	const struct tpi_piece *piece;
	struct tpi_skim one;
	enum tp_status rc = TP_OK;
	void *p;

	for (size_t i = all->payloads[payload].first; !rc && i != TP_NONE;
	     i = piece->next) {
		piece = &all->pieces[i];
		limits.directory_bytes = s->bytes_left;
		s->w.pos = piece->begin;
		rc = tpi_skim(&one, s->r->alloc, &s->w, piece->end,
		    &tp_onnx__tensor_proto__descriptor, TPI_SKIM_WHOLE, &limits,
		    err);
		if (rc || !one.copy.n) {
			tpi_skim_release(&one);
			continue;
		}
		p = tp_mem_grow(s->r->alloc, *data, *n, *n + one.copy.n, 1);
		if (p) {
			*data = p;
			memcpy(*data + *n, one.copy.data, one.copy.n);
			*n += one.copy.n;
			/* The limit was for this piece and more. */
			s->bytes_left -= one.copy.n;
		} else {
			rc = no_memory(err);
		}
		tpi_skim_release(&one);
	}
	return rc;
}

/* The bytes of a tensor in another file become its raw_data. */
static enum tp_status
read_external(struct strip *s, TpOnnx__TensorProto *t, struct tp_err *err)
{
	const struct tp_alloc *alloc = s->r->alloc;
	struct tp_str what = name_of(t);
	struct tp_entry e = {.name = what};
	int64_t shape[TP_MAX_RANK];
	struct tpi_onnx_external x;
	struct tpi_source *src = NULL;
	uint8_t *data = NULL;
	size_t n = 0;
	enum tp_status rc;

	rc = tpi_onnx_tensor_type(t, what, &e, shape, err);
	if (!rc && e.dtype == TP_DTYPE_STRING)
		rc = tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': strings cannot be external", TP_BRIEF(what));
	if (!rc)
		rc = tpi_onnx_external_parse(t, what, &x, err);
	if (!rc)
		rc = tpi_onnx_external_open(
		    alloc, s->r->sources[0]->path, x.location, what, &src, err);
	if (!rc)
		rc = tpi_onnx_external_fits(&x, src, e.nbytes, what, err);
	if (!rc && (tp_sub_u64(s->bytes_left, e.nbytes, &s->bytes_left) ||
		       tp_u64_to_size(e.nbytes, &n)))
		rc = tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "tensor '%s': %" PRIu64
		    " bytes are too many to stay in the graph",
		    TP_BRIEF(what), e.nbytes);
	if (!rc) {
		data = tpi_arena_array(&s->tree.arena, n ? n : 1, 1);
		rc = data ? tpi_source_read(src, x.offset, data, n, err)
			  : no_memory(err);
	}
	tpi_source_close(src);
	if (rc)
		return rc;
	drop_location(t);
	t->raw_data = (ProtobufCBinaryData){n, data};
	t->has_raw_data = 1;
	return TP_OK;
}

/* A tensor that stays: put one with its data in its place. */
static enum tp_status
fill_tensor(struct strip *s, TpOnnx__TensorProto **at, struct tp_err *err)
{
	const struct tp_alloc *alloc = s->r->alloc;
	ProtobufCMessage *m = NULL;
	TpOnnx__TensorProto *t;
	uint8_t *data = NULL;
	size_t n = 0;
	enum tp_status rc;

	rc = read_pieces(s, tpi_onnx_payload_of(*at), &data, &n, err);
	if (!rc)
		rc = tpi_proto_unpack_in(&s->tree.arena,
		    &tp_onnx__tensor_proto__descriptor, data, n, &m, err);
	tp_mem_free(alloc, data, n, 1);
	if (rc)
		return rc;
	t = (TpOnnx__TensorProto *)m;
	*at = t;
	if (t->has_data_location && t->data_location == 1)
		rc = read_external(s, t, err);
	return rc;
}

static enum tp_status
visit(void *ctx, TpOnnx__TensorProto **at, struct tp_err *err)
{
	struct strip *s = ctx;

	if (!s->is_slot[tpi_onnx_payload_of(*at)])
		return fill_tensor(s, at, err);
	empty_tensor(*at);
	return TP_OK;
}

static enum tp_status
pack(struct strip *s, struct tp_attachment *out, struct tp_err *err)
{
	const ProtobufCMessage *m = &s->tree.model->base;
	size_t n = protobuf_c_message_get_packed_size(m);
	uint8_t *data = tpi_arena_array(&s->r->arena, n ? n : 1, 1);

	if (!data)
		return no_memory(err);
	protobuf_c_message_pack(m, data);
	out->data = data;
	out->nbytes = n;
	return TP_OK;
}

enum tp_status
tpi_onnx_attach(struct tp_reader *r, size_t i, struct tp_err *err)
{
	struct strip s = {.r = r, .bytes_left = r->limits.directory_bytes};
	size_t n_payloads;
	enum tp_status rc;

	rc = tpi_onnx_tree_read(
	    &s.tree, r->alloc, r->sources[0], &r->limits, err);
	if (rc)
		return rc;
	n_payloads = s.tree.skim.n_payloads + 1;
	s.is_slot = tp_mem_array(r->alloc, n_payloads, 1);
	if (!s.is_slot)
		rc = no_memory(err);
	if (!rc)
		rc = tpi_wire_open(
		    &s.w, r->alloc, r->sources[0], r->sources[0]->size, err);
	if (!rc)
		rc = mark_slots(&s, err);
	if (!rc)
		rc = tpi_onnx_each_tensor(&s.tree.model->base, visit, &s, err);
	if (!rc)
		rc = pack(&s, &r->attachments[i], err);
	tpi_wire_close(&s.w);
	tp_mem_free(r->alloc, s.is_slot, n_payloads, 1);
	tpi_onnx_tree_release(&s.tree);
	return rc;
}
