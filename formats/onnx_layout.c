/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_layout.c - what lies in the model, what in the file beside it
 *
 * Inside while the model stays below 2 GiB, or as the options say. Outside go
 * whole storages, so that tensors that share one go on sharing it:
 *
 *	model.onnx	 location model.onnx.data, offset 128, length 64
 *	model.onnx.data	 storage 0 | zeros up to 128 | storage 1 | …
 *
 * Small ones stay inside, since runtimes want the values of shapes at hand.
 */
#include "onnx_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/utf8.h"

#include "onnx_write.h"

#include "banned.h"

#define DEFAULT_THRESHOLD 1024
#define DEFAULT_ALIGN 64
#define SUFFIX ".data"

/* TensorProto.data_location */
#define LOCATION_EXTERNAL 1

/* How much may go outside. */
enum reach {
	REACH_NOTHING,
	REACH_INITIALIZERS,
	REACH_EVERYTHING, /* Constants too */
};

/*
 * About what the model takes if all of it lies inside, rather more than less.
 * It must not depend on what only the writer knows: tp_format_loses asks too.
 */
static uint64_t
estimate(const struct tp_model *m)
{
	uint64_t sum = 4096;
	bool over = false;

	for (size_t i = 0; i < m->n_storages && sum <= TPI_PROTO_MAX; i++)
		over |= tp_add_u64(sum, m->storage_nbytes[i], &sum);
	for (size_t i = 0; i < m->n_attachments && !over; i++)
		over |= tp_add_u64(sum, m->attachments[i].nbytes, &sum);
	for (size_t i = 0; i < m->n_entries && !over; i++)
		over |= tp_add_u64(sum,
		    m->entries[i].name.len + 64 + 11 * m->entries[i].rank,
		    &sum);
	for (size_t i = 0; i < m->n_meta && !over; i++)
		over |= tp_add_u64(
		    sum, m->meta[i].key.len + m->meta[i].value.len + 32, &sum);
	return over ? UINT64_MAX : sum;
}

uint64_t
tpi_onnx_threshold(const struct tp_create_options *options)
{
	return options->external_threshold ? options->external_threshold
					   : DEFAULT_THRESHOLD;
}

bool
tpi_onnx_wants_outside(
    const struct tp_create_options *options, const struct tp_model *m)
{
	switch (options->external) {
	case TP_EXTERNAL_ALWAYS:
		return true;
	case TP_EXTERNAL_NEVER:
		return false;
	case TP_EXTERNAL_AUTO:
		break;
	}
	return estimate(m) > TPI_PROTO_MAX;
}

/* Tied tensors that lie outside are tied even if some are Constants. */
static bool
storage_moves(const struct tpi_onnx_out *o, size_t storage, enum reach reach)
{
	size_t first = o->first_place[storage];
	bool reluctant = true;

	if (reach == REACH_NOTHING || first == TP_NONE ||
	    o->m->storage_nbytes[storage] < tpi_onnx_threshold(&o->w->options))
		return false;
	for (size_t i = first; i != TP_NONE; i = o->places[i].next) {
		if (!o->places[i].may_move)
			return false;
		reluctant &= o->places[i].reluctant;
	}
	return !reluctant || reach == REACH_EVERYTHING ||
	       o->places[first].next != TP_NONE;
}

/* Give each storage that goes outside its offset, in the order of the slots. */
static enum tp_status
choose(struct tpi_onnx_out *o, enum reach reach, struct tp_err *err)
{
	uint64_t align =
	    o->w->options.align ? o->w->options.align : DEFAULT_ALIGN;
	uint64_t end = 0, offset;

	for (size_t i = 0; i < o->n_places; i++)
		o->places[i].external = false;
	for (size_t i = 0; i < o->n_places; i++) {
		size_t storage = o->places[i].storage;

		if (!o->places[i].oldest || !storage_moves(o, storage, reach))
			continue;
		if (tp_round_up_u64(end, align, &offset) ||
		    tp_add_u64(offset, o->m->storage_nbytes[storage], &end) ||
		    end > INT64_MAX)
			return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
			    "tensor '%s' does not fit a file",
			    TP_BRIEF(o->places[i].payload.name));
		for (size_t k = o->first_place[storage]; k != TP_NONE;
		     k = o->places[k].next) {
			o->places[k].external = true;
			o->places[k].offset = offset;
		}
	}
	o->data_nbytes = end;
	return TP_OK;
}

static struct tp_str
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return tp_str(slash ? slash + 1 : path);
}

/* The location is a text of the model, so it is UTF-8. */
static enum tp_status
check_location(const struct tpi_onnx_out *o, struct tp_err *err)
{
	struct tp_str base = base_name(o->w->path);

	if (strcmp(o->w->path, "-") == 0)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "external data needs a file name, not standard output");
	if (tp_utf8_check(base.s, base.len) != base.len)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "external data needs a file name that is UTF-8, not '%s'",
		    TP_BRIEF(base));
	return TP_OK;
}

static TpOnnx__StringStringEntryProto *
pair(struct tpi_onnx_out *o, struct tp_str key, struct tp_str value)
{
	TpOnnx__StringStringEntryProto *p = TPI_ONNX_MESSAGE(
	    o, StringStringEntryProto, string_string_entry_proto);
	struct tp_str copy = tpi_arena_str(&o->arena, value);

	if (!p || !copy.s)
		return NULL;
	p->has_key = p->has_value = 1;
	p->key = tpi_onnx_bytes(key);
	p->value = tpi_onnx_bytes(copy);
	return p;
}

static enum tp_status
refer(struct tpi_onnx_out *o, const struct tpi_onnx_place *p,
    struct tp_str location, struct tp_err *err)
{
	TpOnnx__TensorProto *t = p->tensor;
	TpOnnx__StringStringEntryProto **list =
	    tpi_arena_array(&o->arena, 3, sizeof(void *));
	char offset[24], length[24];

	if (!list)
		return tpi_onnx_no_memory(err);
	snprintf(
	    offset, sizeof(offset), "%" PRIu64, p->offset + p->payload.skip);
	snprintf(length, sizeof(length), "%" PRIu64, p->payload.size);
	list[0] = pair(o, TP_STR("location"), location);
	list[1] = pair(o, TP_STR("offset"), tp_str(offset));
	list[2] = pair(o, TP_STR("length"), tp_str(length));
	if (!list[0] || !list[1] || !list[2])
		return tpi_onnx_no_memory(err);
	t->external_data = list;
	t->n_external_data = 3;
	t->has_data_location = 1;
	t->data_location = LOCATION_EXTERNAL;
	t->has_raw_data = 0;
	t->raw_data = (ProtobufCBinaryData){0, NULL};
	return TP_OK;
}

/* Tell the message what was chosen. */
static enum tp_status
apply(struct tpi_onnx_out *o, struct tp_err *err)
{
	struct tp_str base = base_name(o->w->path), location;
	enum tp_status rc = TP_OK;
	char *name = tpi_arena_array(&o->arena, base.len + sizeof(SUFFIX), 1);

	if (!name)
		return tpi_onnx_no_memory(err);
	memcpy(name, base.s, base.len);
	memcpy(name + base.len, SUFFIX, sizeof(SUFFIX));
	location = tp_str(name);

	for (size_t i = 0; !rc && i < o->n_places; i++) {
		struct tpi_onnx_place *p = &o->places[i];
		ProtobufCBinaryData field = {0, NULL};

		if (p->external) {
			tpi_splice_drop(&o->splice, i);
			rc = refer(o, p, location, err);
			continue;
		}
		rc = tpi_splice_place(
		    &o->splice, i, p->payload.nbytes, &field, err);
		if (p->tensor) {
			p->tensor->has_raw_data = 1;
			p->tensor->raw_data = field;
			p->tensor->n_external_data = 0;
			p->tensor->has_data_location = 0;
		} else if (p->unknown) {
			p->unknown->len = field.len;
			p->unknown->data = field.data;
		}
	}
	return rc;
}

/* The size of the message when so much goes outside; above the limit: any. */
static enum tp_status
attempt(struct tpi_onnx_out *o, enum reach reach, uint64_t *size,
    struct tp_err *err)
{
	enum tp_status rc = choose(o, reach, err);

	if (!rc)
		rc = apply(o, err);
	if (!rc)
		*size = tpi_splice_measure(&o->splice, &o->message->base);
	return rc;
}

enum tp_status
tpi_onnx_lay_out(struct tpi_onnx_out *o, struct tp_err *err)
{
	const struct tp_create_options *options = &o->w->options;
	enum reach reach = tpi_onnx_wants_outside(options, o->m)
			       ? REACH_INITIALIZERS
			       : REACH_NOTHING;
	uint64_t size = 0;
	enum tp_status rc;

	rc = tpi_splice_init(&o->splice, o->alloc, o->n_places, err);
	if (!rc)
		rc = attempt(o, reach, &size, err);
	while (!rc && size > TPI_PROTO_MAX && reach < REACH_EVERYTHING &&
	       options->external != TP_EXTERNAL_NEVER)
		rc = attempt(o, ++reach, &size, err);
	if (rc)
		return rc;
	if (size > TPI_PROTO_MAX)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET, "%s",
		    reach == REACH_NOTHING
			? "an ONNX file cannot be larger than 2 GiB; larger "
			  "models need external data"
			: "more than 2 GiB that cannot lie beside the model: "
			  "an ONNX file cannot be larger");
	if (o->data_nbytes)
		rc = check_location(o, err);
	if (!rc)
		rc = tpi_splice_pack(&o->splice, &o->message->base, err);
	return rc;
}
