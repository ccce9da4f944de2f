/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_skim.c - the structure of an ONNX file without its payloads
 *
 * The walk keeps a stack of the messages it is in; each is begun in the copy
 * when it is entered and ended there when it is left.
 */
#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/endian.h"

#include "onnx.pb-c.h"
#include "proto_alloc.h"
#include "proto_skim.h"

#include "banned.h"

/* What protobuf-c needs for a field it has seen, its value apart. */
#define FIELD_COST 48

/*
 * Pieces of messages that are merged, in one file. Nobody writes such files,
 * and merging copies what came before, so thousands would take forever.
 */
#define MAX_MERGES 100

/* Beyond this no limit goes: protobuf-c recurses. */
#define MAX_DEPTH 1000

/* The number of TensorProto.name. */
#define NAME_FIELD 8

/* A message under way. */
struct frame {
	const ProtobufCMessageDescriptor *desc;
	uint64_t end;
	size_t length_at;     /* in the copy; of the outermost TP_NONE */
	uint64_t id;	      /* of the message that pieces are merged to */
	size_t n_singles;     /* to go back to at its end; or TP_NONE */
	uint64_t seen;	      /* bit i: desc->fields[i] came already */
	size_t payload;	      /* of a TensorProto, else TP_NONE */
	size_t name_at, name; /* where a tensor's is in the copy, its length */
};

/* A tensor that is no element of a list: a second piece would belong to it. */
struct single {
	uint64_t parent;
	uint32_t number;
	uint64_t id;
	size_t payload;
};

struct walk {
	struct tpi_skim *s;
	struct tpi_wire *w;
	enum tpi_skim_mode mode;
	uint64_t budget; /* bytes of structure that are still allowed */
	uint64_t depth;
	struct frame *frames;
	size_t n_frames, cap_frames;
	struct single *singles;
	size_t n_singles, cap_singles;
	uint64_t n_ids;
	uint64_t last_length; /* of what copy_plain copied */
	unsigned n_merges;
};

const char *
tpi_payload_field_name(unsigned field)
{
	const ProtobufCFieldDescriptor *f =
	    protobuf_c_message_descriptor_get_field(
		&tp_onnx__tensor_proto__descriptor, field);

	return f ? f->name : "?";
}

static bool
is_payload(const ProtobufCMessageDescriptor *desc, uint32_t number)
{
	const uint32_t fields = 1U << TPI_FLOAT_DATA | 1U << TPI_INT32_DATA |
				1U << TPI_STRING_DATA | 1U << TPI_INT64_DATA |
				1U << TPI_RAW_DATA | 1U << TPI_DOUBLE_DATA |
				1U << TPI_UINT64_DATA;

	return desc == &tp_onnx__tensor_proto__descriptor && number < 32 &&
	       fields >> number & 1;
}

static enum tp_status
charge(struct walk *k, uint64_t n, struct tp_err *err)
{
	if (tp_sub_u64(k->budget, n, &k->budget)) {
		k->budget = 0;
		return tp_fail(err, TP_ELIMIT, k->w->pos,
		    "the structure of the file is larger than the limit for "
		    "it");
	}
	return TP_OK;
}

/* The next n bytes of the file, as they are. */
static enum tp_status
put_bytes(struct walk *k, uint64_t n, struct tp_err *err)
{
	uint8_t *p;
	size_t size;
	enum tp_status rc;

	rc = charge(k, n, err);
	if (rc)
		return rc;
	if (tp_u64_to_size(n, &size))
		return tp_fail(err, TP_ENOMEM, k->w->pos,
		    "out of memory for a field of %" PRIu64 " bytes", n);
	rc = tpi_copy_add(&k->s->copy, size, &p, err);
	return rc ? rc : tpi_wire_read(k->w, p, size, err);
}

/* Begin one more piece of a payload (TP_NONE: of a new one). */
static enum tp_status
add_piece(struct walk *k, size_t *payload, uint64_t end, struct tp_err *err)
{
	struct tpi_skim *s = k->s;
	void *pieces = s->pieces, *payloads = s->payloads;
	enum tp_status rc;

	rc = charge(k, sizeof(*s->pieces) + sizeof(*s->payloads), err);
	if (rc)
		return rc;
	rc = tpi_copy_reserve(k->s->alloc, &pieces, s->n_pieces, &s->cap_pieces,
	    1, sizeof(*s->pieces), err);
	s->pieces = pieces;
	if (rc)
		return rc;
	rc = tpi_copy_reserve(k->s->alloc, &payloads, s->n_payloads,
	    &s->cap_payloads, 1, sizeof(*s->payloads), err);
	s->payloads = payloads;
	if (rc)
		return rc;
	if (*payload == TP_NONE) {
		*payload = s->n_payloads++;
		s->payloads[*payload].first = s->n_pieces;
	} else {
		s->pieces[s->payloads[*payload].last].next = s->n_pieces;
	}
	s->payloads[*payload].last = s->n_pieces;
	s->pieces[s->n_pieces++] = (struct tpi_piece){k->w->pos, end, TP_NONE};
	return TP_OK;
}

/*
 * Which message do the pieces belong to that field `number` of the frame on top
 * gives? Only of interest for tensors that are not elements of a list.
 */
static enum tp_status
find_single(struct walk *k, const struct frame *parent, uint32_t number,
    struct frame *f, struct tp_err *err)
{
	void *singles = k->singles;
	enum tp_status rc;

	for (size_t i = k->n_singles; i-- > 0;)
		if (k->singles[i].parent == parent->id &&
		    k->singles[i].number == number) {
			f->id = k->singles[i].id;
			f->payload = k->singles[i].payload;
			return TP_OK;
		}
	rc = tpi_copy_reserve(k->s->alloc, &singles, k->n_singles,
	    &k->cap_singles, 1, sizeof(*k->singles), err);
	k->singles = singles;
	if (!rc)
		k->singles[k->n_singles++] =
		    (struct single){parent->id, number, f->id, TP_NONE};
	return rc;
}

static enum tp_status
remember_payload(struct walk *k, struct frame *f, bool single, uint64_t end,
    struct tp_err *err)
{
	enum tp_status rc = add_piece(k, &f->payload, end, err);

	for (size_t i = k->n_singles; single && !rc && i-- > 0;)
		if (k->singles[i].id == f->id)
			k->singles[i].payload = f->payload;
	return rc;
}

/* Messages have fewer than 64 fields; more would only merge less well. */
static uint64_t
seen_bit(
    const ProtobufCMessageDescriptor *desc, const ProtobufCFieldDescriptor *f)
{
	ptrdiff_t i = f - desc->fields;

	return i < 64 ? (uint64_t)1 << i : 0;
}

/*
 * Go on with a message that is in the copy already, and note in `seen` what it
 * has. protobuf-c could merge the pieces too, but it would lose the unknown
 * fields of the first.
 */
static enum tp_status
reopen(struct walk *k, struct frame *parent, uint32_t number, struct frame *f,
    struct tp_err *err)
{
	struct tpi_copy *c = &k->s->copy;
	const ProtobufCFieldDescriptor *field;
	enum tpi_wire_type type;
	struct tpi_wire w;
	size_t body = 0;
	enum tp_status rc;

	if (parent->length_at != TP_NONE)
		body = parent->length_at + TPI_COPY_LENGTH;
	parent->name = 0; /* it may move */
	rc = tpi_copy_reopen(c, body, number, &f->length_at, err);
	tpi_wire_memory(&w, c->data, c->n);
	w.pos = f->length_at + TPI_COPY_LENGTH;
	while (!rc && w.pos < w.size) {
		rc = tpi_wire_tag(&w, w.size, &number, &type, err);
		if (rc)
			break;
		field =
		    protobuf_c_message_descriptor_get_field(f->desc, number);
		if (field)
			f->seen |= seen_bit(f->desc, field);
		rc = tpi_wire_skip(&w, w.size, number, type, err);
	}
	return rc;
}

/*
 * Enter the message in the field of the frame on top, or the outermost one
 * (field NULL); it lies from pos to end. again: as a piece of one before.
 */
static enum tp_status
push(struct walk *k, const ProtobufCMessageDescriptor *desc,
    const ProtobufCFieldDescriptor *field, bool again, uint64_t end,
    struct tp_err *err)
{
	const bool tensor = desc == &tp_onnx__tensor_proto__descriptor;
	const bool sparse = desc == &tp_onnx__sparse_tensor_proto__descriptor;
	bool single = field && field->label != PROTOBUF_C_LABEL_REPEATED;
	struct frame f = {.desc = desc,
	    .end = end,
	    .length_at = TP_NONE,
	    .id = k->n_ids++,
	    .n_singles = single ? TP_NONE : k->n_singles,
	    .payload = TP_NONE};
	void *frames = k->frames;
	struct frame *parent;
	enum tp_status rc;

	if (k->n_frames > k->depth)
		return tp_fail(err, TP_ELIMIT, k->w->pos,
		    "messages nested more than %" PRIu64 " deep", k->depth);
	rc = charge(k, desc->sizeof_message + FIELD_COST, err);
	if (!rc)
		rc = tpi_copy_reserve(k->s->alloc, &frames, k->n_frames,
		    &k->cap_frames, 1, sizeof(f), err);
	k->frames = frames;
	single = single && (tensor || sparse);
	if (!rc && single)
		rc = find_single(
		    k, &k->frames[k->n_frames - 1], field->id, &f, err);
	if (!rc && tensor && k->mode == TPI_SKIM_PAYLOADS)
		rc = remember_payload(k, &f, single, end, err);
	if (!rc && field) {
		parent = &k->frames[k->n_frames - 1];
		rc = again ? reopen(k, parent, field->id, &f, err)
			   : tpi_copy_begin(
				 &k->s->copy, field->id, &f.length_at, err);
	}
	if (rc)
		return rc;
	k->frames[k->n_frames++] = f;
	return TP_OK;
}

/* Leave the message on top; a tensor gets the number of its record. */
static enum tp_status
pop(struct walk *k, struct tp_err *err)
{
	const struct frame *f = &k->frames[k->n_frames - 1];
	struct tpi_copy *c = &k->s->copy;
	uint8_t *p;
	enum tp_status rc = TP_OK;

	if (f->payload != TP_NONE) {
		rc = tpi_copy_tag(c, TPI_RAW_DATA, TPI_WIRE_BYTES, err);
		if (!rc)
			rc = tpi_copy_varint(c, 4, err);
		if (!rc)
			rc = tpi_copy_add(c, 4, &p, err);
		if (!rc)
			tp_put_le32(p, (uint32_t)f->payload);
	}
	if (!rc && f->length_at != TP_NONE)
		rc = tpi_copy_end(c, f->length_at, err);
	if (rc)
		return rc;
	if (f->n_singles != TP_NONE)
		k->n_singles = f->n_singles;
	k->n_frames--;
	return TP_OK;
}

/* How a single value of that type is written. */
static enum tpi_wire_type
wire_type_of(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_BOOL:
	case PROTOBUF_C_TYPE_ENUM:
		return TPI_WIRE_VARINT;
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return TPI_WIRE_FIXED64;
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_FLOAT:
		return TPI_WIRE_FIXED32;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
	case PROTOBUF_C_TYPE_MESSAGE:
		break;
	}
	return TPI_WIRE_BYTES;
}

/* The packed values of a repeated field, whose length is to be read. */
static enum tp_status
copy_packed(struct walk *k, const struct frame *f,
    const ProtobufCFieldDescriptor *field, struct tp_err *err)
{
	struct tpi_wire *w = k->w;
	enum tpi_wire_type one = wire_type_of(field);
	uint64_t size = one == TPI_WIRE_FIXED32 ? 4 : 8, n, end, v;
	enum tp_status rc;

	rc = tpi_wire_length(w, f->end, &n, err);
	if (!rc)
		rc = tpi_copy_varint(&k->s->copy, n, err);
	if (rc)
		return rc;
	if (one != TPI_WIRE_VARINT) {
		if (n % size)
			return tp_fail(err, TP_EFORMAT, w->pos,
			    "%s: %" PRIu64 " bytes are no multiple of %" PRIu64,
			    field->name, n, size);
		return put_bytes(k, n, err);
	}

	/* Unpacked they take 8 bytes each, however short they are here. */
	rc = charge(k, n <= UINT64_MAX / 8 ? 8 * n : UINT64_MAX, err);
	for (end = w->pos + n; !rc && w->pos < end;)
		rc = tpi_wire_varint(w, end, &v, err);
	if (rc)
		return rc;
	w->pos = end - n;
	return put_bytes(k, n, err);
}

/* A field that is no message and no payload, tag read. */
static enum tp_status
copy_plain(struct walk *k, const struct frame *f, uint32_t number,
    enum tpi_wire_type type, struct tp_err *err)
{
	uint64_t v = type == TPI_WIRE_FIXED32 ? 4 : 8;
	enum tp_status rc;

	rc = tpi_copy_tag(&k->s->copy, number, type, err);
	if (rc)
		return rc;
	if (type == TPI_WIRE_VARINT) {
		rc = tpi_wire_varint(k->w, f->end, &v, err);
		return rc ? rc : tpi_copy_varint(&k->s->copy, v, err);
	}
	if (type == TPI_WIRE_BYTES) {
		rc = tpi_wire_length(k->w, f->end, &v, err);
		if (!rc)
			rc = tpi_copy_varint(&k->s->copy, v, err);
		if (rc)
			return rc;
	}
	if (v > f->end - k->w->pos)
		return tp_fail(err, TP_EFORMAT, k->w->pos,
		    "truncated: %" PRIu64 " bytes of a number of %" PRIu64,
		    f->end - k->w->pos, v);
	k->last_length = v;
	return put_bytes(k, v, err);
}

/* A payload field of a tensor, tag read: note where it is and pass it by. */
static enum tp_status
note_payload(struct walk *k, const struct frame *f, uint32_t number,
    enum tpi_wire_type type, struct tp_err *err)
{
	struct tpi_payload *p = &k->s->payloads[f->payload];
	uint64_t at = k->w->pos, n = 0;
	enum tp_status rc;

	if (type == TPI_WIRE_BYTES) {
		rc = tpi_wire_length(k->w, f->end, &n, err);
		at = k->w->pos;
		if (!rc)
			k->w->pos += n;
	} else {
		rc = tpi_wire_skip(k->w, f->end, number, type, err);
		n = k->w->pos - at;
	}
	if (rc)
		return rc;
	p->single =
	    number == TPI_RAW_DATA || (!p->n_fields && type == TPI_WIRE_BYTES);
	p->fields |= 1U << number;
	p->n_fields++;
	p->offset = at;
	p->nbytes = n;
	return TP_OK;
}

/* A message in a message, tag read. */
static enum tp_status
enter(struct walk *k, struct frame *f, const ProtobufCFieldDescriptor *field,
    struct tp_err *err)
{
	uint64_t bit = seen_bit(f->desc, field), n;
	bool again = f->seen & bit && field->label != PROTOBUF_C_LABEL_REPEATED;
	enum tp_status rc;

	if (again && k->n_merges++ == MAX_MERGES)
		return tp_fail(err, TP_ELIMIT, k->w->pos,
		    "%s: more than %d pieces of messages to be merged",
		    field->name, MAX_MERGES);
	f->seen |= bit;
	rc = tpi_wire_length(k->w, f->end, &n, err);
	if (rc)
		return rc;
	return push(k, field->descriptor, field, again, k->w->pos + n, err);
}

/* One field of the message on top. */
static enum tp_status
step(struct walk *k, struct tp_err *err)
{
	struct frame *f = &k->frames[k->n_frames - 1];
	const ProtobufCFieldDescriptor *field;
	enum tpi_wire_type type, own;
	uint32_t number;
	bool packed;
	enum tp_status rc;

	rc = tpi_wire_tag(k->w, f->end, &number, &type, err);
	if (rc)
		return rc;
	if (type == TPI_WIRE_GROUP || type == TPI_WIRE_END_GROUP)
		return tpi_wire_skip(k->w, f->end, number, type, err);
	field = protobuf_c_message_descriptor_get_field(f->desc, number);
	rc = charge(k, FIELD_COST, err);
	if (rc)
		return rc;
	if (!field)
		return copy_plain(k, f, number, type, err);

	own = wire_type_of(field);
	packed = field->label == PROTOBUF_C_LABEL_REPEATED &&
		 own != TPI_WIRE_BYTES && type == TPI_WIRE_BYTES;
	if (type != own && !packed)
		return tpi_wire_skip(k->w, f->end, number, type, err);
	if (f->payload != TP_NONE && is_payload(f->desc, number))
		return note_payload(k, f, number, type, err);
	if (field->type == PROTOBUF_C_TYPE_MESSAGE)
		return enter(k, f, field, err);
	if (packed) {
		rc = tpi_copy_tag(&k->s->copy, number, type, err);
		return rc ? rc : copy_packed(k, f, field, err);
	}
	rc = copy_plain(k, f, number, type, err);
	if (!rc && number == NAME_FIELD &&
	    f->desc == &tp_onnx__tensor_proto__descriptor) {
		f->name = (size_t)k->last_length;
		f->name_at = k->s->copy.n - f->name;
	}
	return rc;
}

/* Say which tensor it was, if its name came before the trouble. */
static void
blame(const struct walk *k, struct tp_err *err)
{
	struct tp_str name = {NULL, 0};
	struct tp_err plain;

	for (size_t i = k->n_frames; i-- > 0 && !name.s;)
		if (k->frames[i].name)
			name = (struct tp_str){(const char *)k->s->copy.data +
						   k->frames[i].name_at,
			    k->frames[i].name};
	if (!err || !name.s || err->status != TP_EFORMAT)
		return;
	plain = *err;
	tp_fail(err, plain.status, plain.offset, "tensor '%s': %s",
	    TP_BRIEF(name), plain.msg);
}

enum tp_status
tpi_skim(struct tpi_skim *s, const struct tp_alloc *alloc, struct tpi_wire *w,
    uint64_t end, const ProtobufCMessageDescriptor *desc,
    enum tpi_skim_mode mode, const struct tp_limits *limits, struct tp_err *err)
{
	struct walk k = {.s = s,
	    .w = w,
	    .mode = mode,
	    .budget = limits->directory_bytes,
	    .depth = limits->depth < MAX_DEPTH ? limits->depth : MAX_DEPTH};
	enum tp_status rc;

	*s = (struct tpi_skim){.alloc = alloc, .copy.alloc = alloc};
	rc = push(&k, desc, NULL, false, end, err);
	while (!rc && k.n_frames) {
		if (w->pos == k.frames[k.n_frames - 1].end)
			rc = pop(&k, err);
		else
			rc = step(&k, err);
	}
	if (rc)
		blame(&k, err);
	tp_mem_free(alloc, k.frames, k.cap_frames, sizeof(*k.frames));
	tp_mem_free(alloc, k.singles, k.cap_singles, sizeof(*k.singles));
	if (rc)
		tpi_skim_release(s);
	return rc;
}

void
tpi_skim_release(struct tpi_skim *s)
{
	tpi_copy_release(&s->copy);
	tp_mem_free(
	    s->alloc, s->payloads, s->cap_payloads, sizeof(*s->payloads));
	tp_mem_free(s->alloc, s->pieces, s->cap_pieces, sizeof(*s->pieces));
	*s = (struct tpi_skim){.alloc = s->alloc, .copy.alloc = s->alloc};
}

enum tp_status
tpi_skim_unpack(const struct tp_alloc *alloc, const void *data, size_t n,
    const ProtobufCMessageDescriptor *desc, const struct tp_limits *limits,
    ProtobufCMessage **out, struct tp_err *err)
{
	struct tpi_skim s;
	struct tpi_wire w;
	enum tp_status rc;

	*out = NULL;
	tpi_wire_memory(&w, data, n);
	rc = tpi_skim(&s, alloc, &w, n, desc, TPI_SKIM_WHOLE, limits, err);
	if (rc)
		return rc;
	rc = tpi_proto_unpack(alloc, desc, s.copy.data, s.copy.n, out, err);
	tpi_skim_release(&s);
	return rc;
}
