/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_take.c - the tensors of any message, as values in memory
 */
#include "onnx_take.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "tp/checked.h"

#include "onnx_read.h"

#include "banned.h"

/* A mapping takes a system call and whole pages. */
#define MAP_FROM ((uint64_t)64 << 10)

/* The descriptor of the reader: what tpi_format_onnx has, but nothing opens. */
static const struct tp_format take_format = {
    .name = "onnx",
    .stream = tpi_onnx_stream,
    .close = tpi_onnx_close,
};

static enum tp_status
read_message(struct tpi_onnx_take *t, const char *path,
    const ProtobufCMessageDescriptor *desc, struct tp_err *err)
{
	struct tp_reader *r = t->r;
	struct tpi_onnx_reader *o;
	size_t source;
	enum tp_status rc;

	r->format = &take_format;
	r->map_from = MAP_FROM;
	rc = tpi_reader_add_source(r, path, &source, err);
	if (!rc)
		rc = tpi_onnx_reader_init(r, err);
	if (rc)
		return rc;
	o = r->priv;
	return tpi_onnx_message_read(&t->tree, &o->skim, r->sources[source],
	    desc, &r->limits, &t->message, err);
}

enum tp_status
tpi_onnx_take_open(struct tpi_onnx_take *t, const char *path,
    const struct tp_open_options *options,
    const ProtobufCMessageDescriptor *desc, struct tp_strings *strings,
    struct tp_err *err)
{
	const struct tp_open_options none = {0};
	enum tp_status rc;

	options = options ? options : &none;
	*t = (struct tpi_onnx_take){.strings = strings};
	tpi_arena_init(&t->tree, options->alloc);
	t->r = tpi_reader_new(options);
	if (!t->r)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for a reader");
	rc = read_message(t, path, desc, err);
	if (rc)
		tpi_onnx_take_close(t);
	return rc;
}

void
tpi_onnx_take_close(struct tpi_onnx_take *t)
{
	tp_close(t->r);
	tpi_arena_release(&t->tree);
	*t = (struct tpi_onnx_take){.r = NULL};
}

/*
 * Entries have names of their own: two tensors of one name are nothing wrong
 * here.
 */
static enum tp_status
free_name(struct tpi_onnx_take *t, struct tp_str name, struct tp_str *out,
    struct tp_err *err)
{
	size_t size, number = t->r->n_entries;
	char *text;

	*out = name;
	if (tp_reader_find(t->r, name) == TP_NONE)
		return TP_OK;
	if (tp_add_size(name.len, 24, &size) || name.len > INT_MAX)
		return tp_fail(
		    err, TP_ELIMIT, TP_NO_OFFSET, "a name that is too long");
	text = tpi_arena_array(&t->r->arena, size, 1);
	if (!text)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "tensor '%s': out of memory", TP_BRIEF(name));
	do {
		snprintf(
		    text, size, "%.*s #%zu", (int)name.len, name.s, number++);
		*out = tp_str(text);
	} while (tp_reader_find(t->r, *out) != TP_NONE);
	return TP_OK;
}

static enum tp_status
take(struct tpi_onnx_take *t, struct tpi_onnx_slot *slot, struct tp_str name,
    struct tp_value *out, struct tp_err *err)
{
	const struct tpi_onnx_scope scope = {.path = TP_STR("")};
	const struct tp_entry *e;
	size_t entry = t->r->n_entries;
	enum tp_status rc;

	*out = (struct tp_value){.kind = TP_VALUE_NONE};
	slot->local = name;
	rc = free_name(t, name, &slot->name, err);
	if (!rc)
		rc = tpi_onnx_add_slot(t->r, slot, &scope, err);
	if (rc)
		return rc;
	e = &t->r->entries[entry];
	/* A dense form is not bounded by the size of the file. */
	if (e->sparse && e->nbytes > t->r->limits.directory_bytes)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "tensor '%s': %" PRIu64 " bytes when it is not sparse, the "
		    "limit is %" PRIu64,
		    TP_BRIEF(name), e->nbytes, t->r->limits.directory_bytes);
	return tp_reader_value(t->r, entry, t->strings, out, err);
}

enum tp_status
tpi_onnx_take_tensor(struct tpi_onnx_take *t, TpOnnx__TensorProto *tensor,
    struct tp_str name, struct tp_value *out, struct tp_err *err)
{
	struct tpi_onnx_slot slot = {
	    .kind = TPI_SLOT_INITIALIZER, .tensor = tensor};

	return take(t, &slot, name, out, err);
}

enum tp_status
tpi_onnx_take_sparse(struct tpi_onnx_take *t, TpOnnx__SparseTensorProto *sparse,
    struct tp_str name, struct tp_value *out, struct tp_err *err)
{
	struct tpi_onnx_slot slot = {
	    .kind = TPI_SLOT_SPARSE_INITIALIZER, .sparse = sparse};

	return take(t, &slot, name, out, err);
}
