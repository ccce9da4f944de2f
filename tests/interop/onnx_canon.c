/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_canon.c - one form for all ONNX files that say the same */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.pb-c.h"
#include "onnx_canon.h"
#include "tp/endian.h"

static void
fail(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s\n", path, what);
	exit(1);
}

static void *
need(void *p)
{
	if (!p) {
		fputs("out of memory\n", stderr);
		exit(1);
	}
	return p;
}

/* n bytes from offset of a file; n == SIZE_MAX: up to its end. */
static uint8_t *
read_part(const char *path, long offset, size_t n, size_t *nbytes)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;
	long end;

	if (!f || fseek(f, 0, SEEK_END))
		fail(path, strerror(errno));
	end = ftell(f);
	if (end < offset || fseek(f, offset, SEEK_SET))
		fail(path, "shorter than the offset");
	if (n == SIZE_MAX)
		n = (size_t)(end - offset);
	bytes = need(malloc(n ? n : 1));
	if (fread(bytes, 1, n, f) != n)
		fail(path, "short read");
	fclose(f);
	*nbytes = n;
	return bytes;
}

/* Bytes of one element in raw_data for each data_type; 0: not a number. */
static size_t
element_size(int32_t data_type)
{
	static const uint8_t sizes[] = {[1] = 4,
	    [2] = 1,
	    [3] = 1,
	    [4] = 2,
	    [5] = 2,
	    [6] = 4,
	    [7] = 8,
	    [9] = 1,
	    [10] = 2,
	    [11] = 8,
	    [12] = 4,
	    [13] = 8,
	    [14] = 4,
	    [15] = 8,
	    [16] = 2,
	    [17] = 1,
	    [18] = 1,
	    [19] = 1,
	    [20] = 1,
	    [21] = 1,
	    [22] = 1,
	    [23] = 1,
	    [24] = 1,
	    [25] = 1,
	    [26] = 1};

	if (data_type < 0 || (size_t)data_type >= sizeof(sizes))
		return 0;
	return sizes[data_type];
}

static void
put_le(uint8_t *p, uint64_t v, size_t size)
{
	for (size_t i = 0; i < size; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t
bits_of(const void *p, size_t size)
{
	uint32_t narrow;
	uint64_t wide;

	if (size == 4) {
		memcpy(&narrow, p, 4);
		return narrow;
	}
	memcpy(&wide, p, 8);
	return wide;
}

/*
 * The numbers of one typed field (host order, `stride` bytes apart) as
 * little-endian elements of `size` bytes appended to *raw. The array is freed.
 */
static void
take_typed(ProtobufCBinaryData *raw, void *items, size_t *n, size_t stride,
    size_t size)
{
	const uint8_t *from = items;

	if (*n) {
		raw->data = need(realloc(raw->data, raw->len + *n * size));
		for (size_t i = 0; i < *n; i++)
			put_le(raw->data + raw->len + i * size,
			    bits_of(from + i * stride, stride), size);
		raw->len += *n * size;
	}
	free(items);
	*n = 0;
}

static bool
is(ProtobufCBinaryData text, const char *word)
{
	return text.len == strlen(word) && !memcmp(text.data, word, text.len);
}

static size_t
number_of(ProtobufCBinaryData text)
{
	char digits[24] = "";

	if (text.len >= sizeof(digits))
		fail("external_data", "a number too long");
	memcpy(digits, text.data, text.len);
	return (size_t)strtoull(digits, NULL, 10);
}

static void
take_external(TpOnnx__TensorProto *t, const char *model)
{
	const char *slash = strrchr(model, '/');
	int folder = slash ? (int)(slash - model + 1) : 0;
	char path[4096] = "";
	size_t offset = 0, length = SIZE_MAX;

	for (size_t i = 0; i < t->n_external_data; i++) {
		const TpOnnx__StringStringEntryProto *e = t->external_data[i];

		if (is(e->key, "location"))
			snprintf(path, sizeof(path), "%.*s%.*s", folder, model,
			    (int)e->value.len, (const char *)e->value.data);
		else if (is(e->key, "offset"))
			offset = number_of(e->value);
		else if (is(e->key, "length"))
			length = number_of(e->value);
	}
	free(t->raw_data.data);
	t->raw_data.data =
	    read_part(path, (long)offset, length, &t->raw_data.len);
}

/* Where values were is no content, be it true or left over. */
static void
drop_external(TpOnnx__TensorProto *t)
{
	for (size_t i = 0; i < t->n_external_data; i++)
		tp_onnx__string_string_entry_proto__free_unpacked(
		    t->external_data[i], NULL);
	free(t->external_data);
	t->external_data = NULL;
	t->n_external_data = 0;
}

static void
canon_tensor(TpOnnx__TensorProto *t, const char *model)
{
	size_t size = element_size(t->data_type);

	if (t->has_data_location && t->data_location == 1)
		take_external(t, model);
	drop_external(t);
	t->has_data_location = 0;
	t->data_location = 0;
	if (!size)
		return;
	take_typed(&t->raw_data, t->float_data, &t->n_float_data, 4, size);
	take_typed(&t->raw_data, t->int32_data, &t->n_int32_data, 4, size);
	take_typed(&t->raw_data, t->int64_data, &t->n_int64_data, 8, size);
	take_typed(&t->raw_data, t->double_data, &t->n_double_data, 8, size);
	take_typed(&t->raw_data, t->uint64_data, &t->n_uint64_data, 8, size);
	t->float_data = NULL;
	t->int32_data = NULL;
	t->int64_data = NULL;
	t->double_data = NULL;
	t->uint64_data = NULL;
	t->has_raw_data = 1;
}

/* Every tensor in the message, found by protobuf-c's own description. */
static void
canon_message(ProtobufCMessage *m, const char *model)
{
	const ProtobufCMessageDescriptor *d = m->descriptor;
	char *base = (char *)m;

	if (d == &tp_onnx__tensor_proto__descriptor)
		canon_tensor((TpOnnx__TensorProto *)m, model);
	for (unsigned i = 0; i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &d->fields[i];
		ProtobufCMessage **one = (void *)(base + f->offset);
		size_t n = 1;

		if (f->type != PROTOBUF_C_TYPE_MESSAGE)
			continue;
		if (f->label == PROTOBUF_C_LABEL_REPEATED) {
			memcpy(&n, base + f->quantifier_offset, sizeof(n));
			memcpy(&one, base + f->offset, sizeof(one));
		}
		for (size_t k = 0; k < n; k++)
			if (one[k])
				canon_message(one[k], model);
	}
}

uint8_t *
onnx_canon(const char *path, size_t *nbytes)
{
	TpOnnx__ModelProto *model;
	size_t n = 0;
	uint8_t *bytes = read_part(path, 0, SIZE_MAX, &n);

	model = tp_onnx__model_proto__unpack(NULL, n, bytes);
	if (!model)
		fail(path, "protobuf-c cannot unpack it");
	free(bytes);
	canon_message(&model->base, path);
	*nbytes = tp_onnx__model_proto__get_packed_size(model);
	bytes = need(malloc(*nbytes ? *nbytes : 1));
	tp_onnx__model_proto__pack(model, bytes);
	tp_onnx__model_proto__free_unpacked(model, NULL);
	return bytes;
}

bool
onnx_same_content(const char *a, const char *b)
{
	size_t n_a = 0, n_b = 0;
	uint8_t *canon_a = onnx_canon(a, &n_a);
	uint8_t *canon_b = onnx_canon(b, &n_b);
	bool same = n_a == n_b && !memcmp(canon_a, canon_b, n_a);

	free(canon_a);
	free(canon_b);
	return same;
}
