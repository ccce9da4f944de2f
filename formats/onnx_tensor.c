/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_tensor.c - entries as ONNX messages, and a model of nothing else
 */
#include "onnx_out.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/onnx_dtype.h"

#include "grow.h"

#include "banned.h"

/* What a model without a graph says it is, unless its dtypes need more. */
#define PLAIN_IR_VERSION 8
#define PLAIN_OPSET 17

#define STRING_DATA 6 /* the field of TensorProto */

enum tp_status
tpi_onnx_no_memory(struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "out of memory for the structure of an ONNX model");
}

void *
tpi_onnx_message(struct tpi_onnx_out *o, const ProtobufCMessageDescriptor *desc)
{
	return tpi_onnx_message_in(&o->arena, desc);
}

/* A place for the payload of an entry, not yet tied to a field. */
static enum tp_status
add_place(struct tpi_onnx_out *o, const struct tpi_onnx_payload *payload,
    size_t storage, struct tpi_onnx_place **out, struct tp_err *err)
{
	struct tpi_onnx_place *p;
	enum tp_status rc;

	p = tpi_grow(
	    o->alloc, o->places, o->n_places + 1, &o->cap_places, sizeof(*p));
	if (!p)
		return tpi_onnx_no_memory(err);
	o->places = p;
	p = &o->places[o->n_places];
	*p = (struct tpi_onnx_place){
	    .payload = *payload,
	    .storage = storage,
	    .next = o->first_place[storage],
	    .oldest = o->first_place[storage] == TP_NONE,
	};
	rc = tpi_onnx_payload_measure(&p->payload, err);
	if (rc)
		return rc;
	o->first_place[storage] = o->n_places++;
	*out = p;
	return TP_OK;
}

/* An unknown field more; its data is set with the place. */
static ProtobufCMessageUnknownField *
add_unknown(struct tpi_onnx_out *o, ProtobufCMessage *m, unsigned number,
    ProtobufCWireType wire_type)
{
	size_t n = m->n_unknown_fields;
	ProtobufCMessageUnknownField *f =
	    tpi_arena_array(&o->arena, n + 1, sizeof(*f));

	if (!f)
		return NULL;
	if (n)
		memcpy(f, m->unknown_fields, n * sizeof(*f));
	f[n].tag = number;
	f[n].wire_type = wire_type;
	m->unknown_fields = f;
	m->n_unknown_fields = (unsigned)(n + 1);
	return &f[n];
}

enum tp_status
tpi_onnx_fill_field(struct tpi_onnx_out *o, ProtobufCMessage *message,
    unsigned number, enum tpi_onnx_form form, const struct tp_entry *e,
    struct tp_err *err)
{
	static const ProtobufCWireType wire_types[] = {
	    [TPI_FORM_RAW] = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
	    [TPI_FORM_FIXED32] = PROTOBUF_C_WIRE_TYPE_32BIT,
	    [TPI_FORM_VARINT] = PROTOBUF_C_WIRE_TYPE_VARINT,
	    [TPI_FORM_BYTES] = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
	};
	struct tpi_onnx_payload payload = {
	    .form = form,
	    .tag = (uint8_t)(number << 3 | wire_types[form]),
	    .name = e->name,
	    .n_elems = e->n_elems,
	    .size = o->m->storage_nbytes[e->storage],
	};
	struct tpi_onnx_place *p = NULL;
	enum tp_status rc = add_place(o, &payload, e->storage, &p, err);

	/* No elements: no field at all, and the place stays empty. */
	if (rc || payload.n_elems == 0)
		return rc;
	p->unknown = add_unknown(o, message, number, wire_types[form]);
	return p->unknown ? TP_OK : tpi_onnx_no_memory(err);
}

static enum tp_status
set_dims(struct tpi_onnx_out *o, const int64_t *shape, unsigned rank,
    size_t *n_dims, int64_t **dims, struct tp_err *err)
{
	int64_t *copy = tpi_arena_array(&o->arena, rank, sizeof(*copy));

	if (!copy)
		return tpi_onnx_no_memory(err);
	if (rank)
		memcpy(copy, shape, rank * sizeof(*copy));
	*n_dims = rank;
	*dims = copy;
	return TP_OK;
}

/* The tensor without any of the ways to hold values. */
static void
clear_values(TpOnnx__TensorProto *t)
{
	t->segment = NULL;
	t->n_float_data = t->n_int32_data = t->n_string_data = 0;
	t->n_int64_data = t->n_double_data = t->n_uint64_data = 0;
	t->has_raw_data = 0;
	t->raw_data = (ProtobufCBinaryData){0, NULL};
	t->n_external_data = 0;
	t->has_data_location = 0;
	t->data_location = 0;
}

/* raw_data with `size` bytes from `skip` on of a storage. */
static enum tp_status
fill_raw(struct tpi_onnx_out *o, TpOnnx__TensorProto *t,
    const struct tp_entry *e, size_t storage, uint64_t skip, uint64_t size,
    struct tpi_onnx_place **out, struct tp_err *err)
{
	struct tpi_onnx_payload payload = {
	    .form = TPI_FORM_RAW,
	    .name = e->name,
	    .skip = skip,
	    .size = size,
	};
	uint64_t end;
	enum tp_status rc;

	if (tp_add_u64(skip, size, &end) || end > o->m->storage_nbytes[storage])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s' needs bytes %" PRIu64 " to %" PRIu64
		    " of a storage of %" PRIu64,
		    TP_BRIEF(e->name), skip, end,
		    o->m->storage_nbytes[storage]);
	rc = add_place(o, &payload, storage, out, err);
	if (!rc)
		(*out)->tensor = t;
	return rc;
}

static enum tp_status
set_type(TpOnnx__TensorProto *t, enum tp_dtype dtype, struct tp_str name,
    struct tp_err *err)
{
	int32_t code = tp_onnx_code(dtype);

	if (!code)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s': onnx has no dtype %s", TP_BRIEF(name),
		    tp_dtype_name(dtype));
	t->has_data_type = 1;
	t->data_type = code;
	return TP_OK;
}

enum tp_status
tpi_onnx_fill_dense(struct tpi_onnx_out *o, TpOnnx__TensorProto *t,
    const struct tp_entry *e, bool reluctant, struct tp_err *err)
{
	struct tpi_onnx_place *p = NULL;
	uint64_t bits;
	enum tp_status rc = set_type(t, e->dtype, e->name, err);

	if (!rc)
		rc = set_dims(o, e->shape, e->rank, &t->n_dims, &t->dims, err);
	if (rc)
		return rc;
	clear_values(t);
	if (e->dtype == TP_DTYPE_STRING)
		return tpi_onnx_fill_field(
		    o, &t->base, STRING_DATA, TPI_FORM_BYTES, e, err);

	if (tp_mul_u64(e->first, tp_dtype_bits(e->dtype), &bits) || bits % 8)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s' begins inside a byte", TP_BRIEF(e->name));
	rc = fill_raw(
	    o, t, e, e->storage, e->nbytes ? bits / 8 : 0, e->nbytes, &p, err);
	if (!rc) {
		p->may_move = e->nbytes > 0;
		p->reluctant = reluctant;
	}
	return rc;
}

enum tp_status
tpi_onnx_fill_sparse(struct tpi_onnx_out *o, TpOnnx__SparseTensorProto *s,
    const struct tp_entry *e, struct tp_err *err)
{
	const struct tp_sparse_info *info = e->sparse;
	struct tpi_onnx_place *p = NULL;
	int64_t dims[2] = {(int64_t)info->n_values, e->rank};
	uint64_t n, size, n_indices = info->n_values;
	enum tp_status rc;

	if (!s->values)
		s->values = TPI_ONNX_MESSAGE(o, TensorProto, tensor_proto);
	if (!s->indices)
		s->indices = TPI_ONNX_MESSAGE(o, TensorProto, tensor_proto);
	if (!s->values || !s->indices)
		return tpi_onnx_no_memory(err);
	if (tp_mul_u64(
		n_indices, info->coordinates ? e->rank : 1, &n_indices) ||
	    tp_mul_u64(n_indices, 8, &size))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "tensor '%s': %" PRIu64 " sparse values", TP_BRIEF(e->name),
		    info->n_values);

	rc = set_type(s->values, e->dtype, e->name, err);
	if (!rc)
		rc = set_type(s->indices, TP_DTYPE_I64, e->name, err);
	if (!rc)
		rc = set_dims(
		    o, dims, 1, &s->values->n_dims, &s->values->dims, err);
	if (!rc)
		rc = set_dims(o, dims, info->coordinates ? 2 : 1,
		    &s->indices->n_dims, &s->indices->dims, err);
	if (!rc)
		rc = set_dims(o, e->shape, e->rank, &s->n_dims, &s->dims, err);
	if (rc)
		return rc;
	clear_values(s->values);
	clear_values(s->indices);

	rc = tp_dtype_nbytes(e->dtype, info->n_values, &n, err);
	if (!rc)
		rc = fill_raw(o, s->values, e, e->storage, 0, n, &p, err);
	if (!rc)
		rc =
		    fill_raw(o, s->indices, e, info->indices, 0, size, &p, err);
	return rc;
}

enum tp_status
tpi_onnx_fill_meta(struct tpi_onnx_out *o, struct tp_err *err)
{
	TpOnnx__ModelProto *m = o->message;
	TpOnnx__StringStringEntryProto **props, *p;

	props = tpi_arena_array(&o->arena, o->m->n_meta, sizeof(*props));
	if (!props)
		return tpi_onnx_no_memory(err);
	for (size_t i = 0; i < o->m->n_meta; i++) {
		const struct tp_meta *meta = &o->m->meta[i];

		/* One that has not changed keeps what else it holds. */
		if (i < m->n_metadata_props) {
			p = m->metadata_props[i];
			if (tp_str_cmp(tpi_onnx_str(p->key), meta->key) == 0 &&
			    tp_str_cmp(tpi_onnx_str(p->value), meta->value) ==
				0) {
				props[i] = p;
				continue;
			}
		}
		p = TPI_ONNX_MESSAGE(
		    o, StringStringEntryProto, string_string_entry_proto);
		if (!p)
			return tpi_onnx_no_memory(err);
		p->has_key = p->has_value = 1;
		p->key = tpi_onnx_bytes(meta->key);
		p->value = tpi_onnx_bytes(meta->value);
		props[i] = p;
	}
	m->metadata_props = props;
	m->n_metadata_props = o->m->n_meta;
	return TP_OK;
}

/*
 * ---- a model without a graph ----
 */

static enum tp_status
add_initializer(struct tpi_onnx_out *o, TpOnnx__GraphProto *g,
    const struct tp_entry *e, struct tp_err *err)
{
	TpOnnx__SparseTensorProto *s = NULL;
	TpOnnx__TensorProto *t = TPI_ONNX_MESSAGE(o, TensorProto, tensor_proto);

	if (e->sparse)
		s = TPI_ONNX_MESSAGE(o, SparseTensorProto, sparse_tensor_proto);
	if (!t || (e->sparse && !s))
		return tpi_onnx_no_memory(err);
	t->has_name = 1;
	t->name = tpi_onnx_bytes(e->name);
	if (!s) {
		g->initializer[g->n_initializer++] = t;
		return tpi_onnx_fill_dense(o, t, e, false, err);
	}
	s->values = t;
	g->sparse_initializer[g->n_sparse_initializer++] = s;
	return tpi_onnx_fill_sparse(o, s, e, err);
}

enum tp_status
tpi_onnx_make_model(struct tpi_onnx_out *o, struct tp_err *err)
{
	struct tp_onnx_since need = {PLAIN_IR_VERSION, PLAIN_OPSET}, since;
	TpOnnx__ModelProto *m = TPI_ONNX_MESSAGE(o, ModelProto, model_proto);
	TpOnnx__GraphProto *g = TPI_ONNX_MESSAGE(o, GraphProto, graph_proto);
	TpOnnx__OperatorSetIdProto *opset =
	    TPI_ONNX_MESSAGE(o, OperatorSetIdProto, operator_set_id_proto);
	size_t n = o->m->n_entries;
	enum tp_status rc = TP_OK;

	if (!m || !g || !opset)
		return tpi_onnx_no_memory(err);
	g->initializer = tpi_arena_array(&o->arena, n, sizeof(void *));
	g->sparse_initializer = tpi_arena_array(&o->arena, n, sizeof(void *));
	m->opset_import = tpi_arena_array(&o->arena, 1, sizeof(void *));
	if (!g->initializer || !g->sparse_initializer || !m->opset_import)
		return tpi_onnx_no_memory(err);

	for (size_t i = 0; !rc && i < n; i++) {
		const struct tp_entry *e = &o->m->entries[i];

		since = tp_onnx_since(e->dtype);
		if (since.ir_version > need.ir_version)
			need.ir_version = since.ir_version;
		if (since.opset > need.opset)
			need.opset = since.opset;
		rc = add_initializer(o, g, e, err);
	}
	g->has_name = 1;
	g->name = tpi_onnx_bytes(TP_STR("weights"));
	opset->has_domain = opset->has_version = 1;
	opset->domain = tpi_onnx_bytes(TP_STR(""));
	opset->version = need.opset;
	m->opset_import[m->n_opset_import++] = opset;
	m->has_ir_version = 1;
	m->ir_version = need.ir_version;
	/* No version of ours: the bytes stay what they are. */
	m->has_producer_name = 1;
	m->producer_name = tpi_onnx_bytes(TP_STR("tp-tools"));
	m->graph = g;
	o->message = m;
	return rc;
}
