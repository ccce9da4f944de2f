/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_files.h - making native files, whole and broken, and comparing them
 *
 * Offsets and sizes are those of schemas/native.md, written down again here, so
 * that the tests do not believe the library about its own layout.
 */
#ifndef TEST_NATIVE_FILES_H
#define TEST_NATIVE_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/endian.h"
#include "tp/format.h"

#include "formats/crc32c.h"
#include "support/model_io.h"

/* A struct tp_str in a table of constants. */
#define LIT(text)                        \
	{                                \
		(text), sizeof(text) - 1 \
	}

/* A model and the bytes of its storages. */
struct native_model {
	struct tp_model m;
	const void *const *data;
};

static inline enum tp_status
native_write(const char *path, const struct native_model *n,
    const struct tp_create_options *options, struct tp_err *err)
{
	struct tp_create_options o = {0};

	if (options)
		o = *options;
	o.format = "native";
	o.force = true;
	return create_model(path, &n->m, NULL, n->data, &o, err);
}

/* The example of schemas/native.md: two tensors share a storage. */
static inline struct native_model
native_example(void)
{
	static const uint8_t f32[16] = {
	    0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x3f, 0, 0, 0, 0};
	static const int64_t shape[] = {2, 2};
	static const struct tp_entry entries[] = {
	    {.name = LIT("emb"),
		.dtype = TP_DTYPE_F32,
		.rank = 2,
		.shape = shape,
		.n_elems = 4,
		.nbytes = 16},
	    {.name = LIT("head"),
		.dtype = TP_DTYPE_F32,
		.rank = 2,
		.shape = shape,
		.n_elems = 4,
		.nbytes = 16},
	};
	static const struct tp_meta meta[] = {{LIT("format"), LIT("pt")}};
	static const uint64_t nbytes[] = {sizeof(f32)};
	static const void *const data[] = {f32};

	return (struct native_model){
	    .m = {.entries = entries,
		.n_entries = 2,
		.storage_nbytes = nbytes,
		.n_storages = 1,
		.meta = meta,
		.n_meta = 1},
	    .data = data,
	};
}

/*
 * All kinds of records in little space: raw and deflated storages with padding
 * between, shared storage, sparse, quantizer, metadata, attachment.
 */
static inline const struct native_model *
native_small(void)
{
	static const uint8_t weights[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
	    12, 13, 14, 15, 16},
			     five[5] = {1, 2, 3, 4, 5}, zeros[5000],
			     indices[16] = {2, [8] = 7},
			     scale[4] = {0, 0, 128, 63};
	static const int64_t s2x2[] = {2, 2}, s5[] = {5}, s5000[] = {5000},
			     s3x3[] = {3, 3}, t2x2[] = {1, 2};
	static const struct tp_quant_info quant = {
	    .per = TP_PER_TENSOR, .scale = 5, .zero_point = TP_NONE};
	static const struct tp_sparse_info sparse = {2, 3, false};
	static const uint64_t nbytes[] = {16, 5, 5000, 16, 4};
	static const void *const data[] = {
	    weights, five, zeros, indices, scale};
	static const struct tp_entry entries[] = {
	    {LIT("emb"), LIT(""), LIT("emb"), TP_ORIGIN_PLAIN, TP_DTYPE_F32, 2,
		s2x2, NULL, 4, 16, 0, 0, NULL, NULL},
	    {LIT("tie"), LIT("b"), LIT("x"), TP_ORIGIN_PLAIN, TP_DTYPE_F32, 2,
		s2x2, t2x2, 4, 16, 0, 0, NULL, NULL},
	    {LIT("five"), LIT(""), LIT("five"), TP_ORIGIN_PLAIN, TP_DTYPE_I8, 1,
		s5, NULL, 5, 5, 1, 0, &quant, NULL},
	    {LIT("zeros"), LIT(""), LIT("zeros"), TP_ORIGIN_PLAIN, TP_DTYPE_U8,
		1, s5000, NULL, 5000, 5000, 2, 0, NULL, NULL},
	    {LIT("sparse"), LIT(""), LIT("sparse"), TP_ORIGIN_SPARSE,
		TP_DTYPE_F32, 2, s3x3, NULL, 9, 36, 0, 0, NULL, &sparse},
	    {LIT("scale"), LIT(""), LIT("scale"), TP_ORIGIN_PLAIN, TP_DTYPE_F32,
		0, NULL, NULL, 1, 4, 4, 0, NULL, NULL},
	};
	static const struct tp_meta meta[] = {
	    {LIT("k1"), LIT("v1")}, {LIT("k2"), LIT("")}};
	static const struct tp_attachment attachments[] = {
	    {LIT("blob"), "some bytes", 10}};
	static const struct native_model n = {
	    .m = {.entries = entries,
		.n_entries = 6,
		.storage_nbytes = nbytes,
		.n_storages = 5,
		.meta = meta,
		.n_meta = 2,
		.attachments = attachments,
		.n_attachments = 1},
	    .data = data,
	};

	return &n;
}

/* Where things lie in a file, by the specification. */
enum {
	AT_MAJOR = 12,
	AT_MINOR = 14,
	AT_FILE_NBYTES = 16,
	AT_DIR_OFFSET = 24,
	AT_DIR_NBYTES = 32,
	AT_DIR_CRC = 40,
	AT_ALIGN = 44,
	AT_RESERVED = 48,
	AT_HEADER_CRC = 60,
	HEADER_NBYTES = 64,
	SECTION_NBYTES = 24,
};

/* Make both checksums right again after the bytes were changed. */
static inline void
native_seal(uint8_t *file)
{
	size_t offset = (size_t)tp_le64(file + AT_DIR_OFFSET);
	size_t nbytes = (size_t)tp_le64(file + AT_DIR_NBYTES);

	tp_put_le32(file + AT_DIR_CRC, tpi_crc32c(0, file + offset, nbytes));
	tp_put_le32(file + AT_HEADER_CRC, tpi_crc32c(0, file, AT_HEADER_CRC));
}

/* The offset of section k (from 0) in the file. */
static inline size_t
native_section(const uint8_t *file, unsigned k)
{
	size_t at = (size_t)tp_le64(file + AT_DIR_OFFSET);

	while (k--)
		at += SECTION_NBYTES + (size_t)tp_le64(file + at + 16);
	return at;
}

/* The offset of record i of section k in the file. */
static inline size_t
native_record(const uint8_t *file, unsigned k, unsigned i)
{
	size_t at = native_section(file, k) + SECTION_NBYTES;

	while (i--)
		at += tp_le32(file + at);
	return at;
}

#endif
