/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_files.h - models made in memory, written as ONNX and unpacked again
 */
#ifndef TEST_ONNX_FILES_H
#define TEST_ONNX_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.pb-c.h"
#include "support/model_io.h"
#include "support/temp_dir.h"
#include "tp/format.h"

/* A bytes field over a string literal. */
#define BYTES(text)                                            \
	(ProtobufCBinaryData)                                  \
	{                                                      \
		sizeof(text) - 1, (uint8_t *)(uintptr_t)(text) \
	}

/* Up to eight tensors, each over a storage of its own to begin with. */
struct onnx_source {
	struct tp_entry entries[8];
	struct tp_sparse_info sparse[8];
	int64_t shapes[8][4];
	uint64_t nbytes[16];
	const void *data[16];
	struct tp_attachment attachment;
	struct tp_model m;
};

/* Element count and size are worked out here, apart from the library's code. */
static inline struct tp_entry *
onnx_source_add(struct onnx_source *s, const char *name, enum tp_dtype dtype,
    unsigned rank, const int64_t *shape, const void *data, uint64_t nbytes)
{
	size_t i = s->m.n_entries++, k = s->m.n_storages++;
	struct tp_entry *e = &s->entries[i];

	*e = (struct tp_entry){.name = tp_str(name),
	    .dtype = dtype,
	    .rank = rank,
	    .shape = s->shapes[i],
	    .n_elems = 1,
	    .nbytes = nbytes,
	    .storage = k};
	for (unsigned d = 0; d < rank; d++) {
		s->shapes[i][d] = shape[d];
		e->n_elems *= (uint64_t)shape[d];
	}
	s->nbytes[k] = nbytes;
	s->data[k] = data;
	s->m.entries = s->entries;
	s->m.storage_nbytes = s->nbytes;
	return e;
}

#define SHAPE(...)                                                      \
	(unsigned)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
	    (const int64_t[])                                           \
	{                                                               \
		__VA_ARGS__                                             \
	}
#define SCALAR 0U, NULL

/* Put this skeleton into the model; the packed bytes are the caller's. */
static inline void
onnx_source_skeleton(struct onnx_source *s, const TpOnnx__ModelProto *skeleton)
{
	size_t n = protobuf_c_message_get_packed_size(&skeleton->base);
	uint8_t *packed = calloc(n + 1, 1);

	if (!packed)
		abort();
	protobuf_c_message_pack(&skeleton->base, packed);
	s->attachment =
	    (struct tp_attachment){TP_STR(TP_ATTACHMENT_ONNX), packed, n};
	s->m.attachments = &s->attachment;
	s->m.n_attachments = 1;
}

static inline enum tp_status
onnx_write(const char *path, const struct onnx_source *s,
    const struct tp_create_options *options, struct tp_err *err)
{
	struct tp_create_options o = {.sync = TP_SYNC_NEVER};

	if (options)
		o = *options;
	o.format = "onnx";
	o.force = true;
	return create_model(path, &s->m, NULL, s->data, &o, err);
}

/* Any message as a file. */
static inline void
onnx_put(const char *path, const void *message)
{
	size_t n = protobuf_c_message_get_packed_size(message);
	uint8_t *data = calloc(n + 1, 1);

	if (!data)
		abort();
	protobuf_c_message_pack(message, data);
	write_file(path, data, n);
	free(data);
}

/* A file as a message; freed by protobuf_c_message_free_unpacked. */
static inline TpOnnx__ModelProto *
onnx_unpack(const char *path)
{
	size_t n;
	char *bytes = read_file(path, &n);
	TpOnnx__ModelProto *m =
	    tp_onnx__model_proto__unpack(NULL, n, (uint8_t *)bytes);

	free(bytes);
	if (!m) {
		fprintf(stderr, "%s is no ONNX model\n", path);
		abort();
	}
	return m;
}

#endif
