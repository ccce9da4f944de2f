/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.h - the layout of a native file, as lists that reader and writer share
 *
 *	header, 64 bytes | padding | storage | padding | storage … |
 *	padding | attachment … | padding | directory
 *
 * The specification is schemas/native.md. Each list below names the fixed
 * fields of one record in order; from it come a struct, its size on disk and
 * the functions that read and write it.
 */
#ifndef TPI_NATIVE_H
#define TPI_NATIVE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/endian.h"

#include "plugin.h"

/* 89 'T' 'P' 'T' 0D 0A 1A 0A */
#define TPI_NATIVE_MAGIC UINT64_C(0x0a1a0a0d54505489)
#define TPI_NATIVE_BYTE_ORDER UINT32_C(0x01020304)
#define TPI_NATIVE_MAJOR 1
#define TPI_NATIVE_MINOR 0

#define TPI_NATIVE_ALIGN_MIN 8
#define TPI_NATIVE_ALIGN_DEFAULT 64
#define TPI_NATIVE_ALIGN_MAX 65536

/* Deflated pieces hold that many decoded bytes each: what we write, … */
#define TPI_NATIVE_CHUNK ((size_t)1 << 20)
/* … and what may be read. */
#define TPI_NATIVE_CHUNK_MIN (UINT32_C(1) << 12)
#define TPI_NATIVE_CHUNK_MAX (UINT32_C(1) << 26)

/* No code of deflate gives more than that many bytes for one. */
#define TPI_DEFLATE_RATIO 1032

#define TPI_NATIVE_NO_INDEX UINT32_MAX

/* Records and sections are a multiple of this. */
#define TPI_NATIVE_UNIT 8

/* clang-format off */
#define TPI_NATIVE_HEADER_FIELDS(X)                                     \
	X(64, magic)       X(32, byte_order)    X(16, major)            \
	X(16, minor)       X(64, file_nbytes)   X(64, dir_offset)       \
	X(64, dir_nbytes)  X(32, dir_crc32c)    X(32, align)            \
	X(64, reserved)    X(32, reserved2)     X(32, crc32c)

#define TPI_NATIVE_SECTION_FIELDS(X)                                    \
	X(32, kind)        X(32, flags)         X(64, n_records)        \
	X(64, nbytes)

/* Storages and attachments begin with the same fields. */
#define TPI_NATIVE_EXTENT_FIELDS(X)                                     \
	X(32, record_nbytes) X(32, encoding)    X(64, offset)           \
	X(64, stored_nbytes) X(64, nbytes)      X(32, crc32c)           \
	X(32, chunk_nbytes)

#define TPI_NATIVE_ATTACHMENT_FIELDS(X)                                 \
	X(32, name_nbytes)   X(32, reserved)

#define TPI_NATIVE_TENSOR_FIELDS(X)                                     \
	X(32, record_nbytes) X(16, dtype)       X(8, rank)              \
	X(8, origin)         X(32, flags)       X(32, storage)          \
	X(64, first)         X(32, quantizer)   X(32, name_nbytes)      \
	X(32, scope_nbytes)  X(32, local_nbytes)

/* Follows shape and strides of a sparse tensor. */
#define TPI_NATIVE_SPARSE_FIELDS(X)                                     \
	X(64, n_values)      X(32, indices)     X(32, reserved)

#define TPI_NATIVE_QUANTIZER_FIELDS(X)                                  \
	X(32, record_nbytes) X(8, per)          X(8, flags)             \
	X(16, scheme)        X(32, axis)        X(32, scale)            \
	X(32, zero_point)    X(32, reserved)    X(64, block)

#define TPI_NATIVE_META_FIELDS(X)                                       \
	X(32, record_nbytes) X(32, key_nbytes)  X(32, value_nbytes)     \
	X(32, reserved)

/* Codes of dtypes; fixed for ever, whatever enum tp_dtype does. */
#define TPI_NATIVE_DTYPES(X)                                            \
	X(BOOL, 1)        X(U2, 2)          X(I2, 3)         X(U4, 4)   \
	X(I4, 5)          X(U8, 6)          X(I8, 7)         X(U16, 8)  \
	X(I16, 9)         X(U32, 10)        X(I32, 11)       X(U64, 12) \
	X(I64, 13)        X(F4E2M1, 14)     X(F6E2M3, 15)               \
	X(F6E3M2, 16)     X(F8E4M3FN, 17)   X(F8E5M2, 18)               \
	X(F8E4M3FNUZ, 19) X(F8E5M2FNUZ, 20) X(F8E8M0, 21)               \
	X(F16, 22)        X(BF16, 23)       X(F32, 24)       X(F64, 25) \
	X(C64, 26)        X(C128, 27)       X(STRING, 28)
/* clang-format on */

enum tpi_native_section_kind {
	TPI_NATIVE_STORAGES = 1,
	TPI_NATIVE_TENSORS = 2,
	TPI_NATIVE_QUANTIZERS = 3,
	TPI_NATIVE_METADATA = 4,
	TPI_NATIVE_ATTACHMENTS = 5,
	TPI_NATIVE_N_SECTIONS = 5,
};

/* A section that readers must not skip. */
#define TPI_NATIVE_SECTION_CRITICAL UINT32_C(1)

enum tpi_native_encoding {
	TPI_NATIVE_RAW = 0,
	TPI_NATIVE_ZLIB = 1,
};

enum tpi_native_tensor_flag {
	TPI_NATIVE_STRIDES = 1,
	TPI_NATIVE_SPARSE = 2,
	TPI_NATIVE_COORDINATES = 4,
	TPI_NATIVE_SCOPE_IN_NAME = 8,  /* the first bytes of the name */
	TPI_NATIVE_LOCAL_IN_NAME = 16, /* the last bytes of the name */
	TPI_NATIVE_TENSOR_FLAGS = 31,
};

enum tpi_native_quantizer_flag {
	TPI_NATIVE_IN_GRAPH = 1,
	TPI_NATIVE_QUANTIZER_FLAGS = 1,
};

#define TPI_GET_8(p) (*(p))
#define TPI_GET_16(p) tp_le16(p)
#define TPI_GET_32(p) tp_le32(p)
#define TPI_GET_64(p) tp_le64(p)
#define TPI_PUT_8(p, v) (*(p) = (v))
#define TPI_PUT_16(p, v) tp_put_le16((p), (v))
#define TPI_PUT_32(p, v) tp_put_le32((p), (v))
#define TPI_PUT_64(p, v) tp_put_le64((p), (v))

#define TPI_FIELD_DECLARE(bits, name) uint##bits##_t name;
#define TPI_FIELD_SIZE(bits, name) +(bits) / 8
#define TPI_FIELD_GET(bits, name)    \
	v->name = TPI_GET_##bits(p); \
	p += (bits) / 8;
#define TPI_FIELD_PUT(bits, name)   \
	TPI_PUT_##bits(p, v->name); \
	p += (bits) / 8;

/*
 * struct tpi_native_NAME, TPI_NATIVE_NAME_SIZE bytes at p to and from it, and
 * proof that the list has the size that the specification gives.
 */
#define TPI_NATIVE_RECORD(name, FIELDS, size)                       \
	struct tpi_native_##name {                                  \
		FIELDS(TPI_FIELD_DECLARE)                           \
	};                                                          \
	static_assert((0 FIELDS(TPI_FIELD_SIZE)) == (size), #name); \
	static inline void tpi_native_get_##name(                   \
	    const uint8_t *p, struct tpi_native_##name *v)          \
	{                                                           \
		FIELDS(TPI_FIELD_GET)                               \
		(void)p;                                            \
	}                                                           \
	static inline void tpi_native_put_##name(                   \
	    uint8_t *p, const struct tpi_native_##name *v)          \
	{                                                           \
		FIELDS(TPI_FIELD_PUT)                               \
		(void)p;                                            \
	}

#define TPI_NATIVE_HEADER_SIZE 64
#define TPI_NATIVE_SECTION_SIZE 24
#define TPI_NATIVE_EXTENT_SIZE 40
#define TPI_NATIVE_ATTACHMENT_SIZE 8
#define TPI_NATIVE_TENSOR_SIZE 40
#define TPI_NATIVE_SPARSE_SIZE 16
#define TPI_NATIVE_QUANTIZER_SIZE 32
#define TPI_NATIVE_META_SIZE 16

TPI_NATIVE_RECORD(header, TPI_NATIVE_HEADER_FIELDS, TPI_NATIVE_HEADER_SIZE)
TPI_NATIVE_RECORD(section, TPI_NATIVE_SECTION_FIELDS, TPI_NATIVE_SECTION_SIZE)
TPI_NATIVE_RECORD(extent, TPI_NATIVE_EXTENT_FIELDS, TPI_NATIVE_EXTENT_SIZE)
TPI_NATIVE_RECORD(
    attachment, TPI_NATIVE_ATTACHMENT_FIELDS, TPI_NATIVE_ATTACHMENT_SIZE)
TPI_NATIVE_RECORD(tensor, TPI_NATIVE_TENSOR_FIELDS, TPI_NATIVE_TENSOR_SIZE)
TPI_NATIVE_RECORD(sparse, TPI_NATIVE_SPARSE_FIELDS, TPI_NATIVE_SPARSE_SIZE)
TPI_NATIVE_RECORD(
    quantizer, TPI_NATIVE_QUANTIZER_FIELDS, TPI_NATIVE_QUANTIZER_SIZE)
TPI_NATIVE_RECORD(meta, TPI_NATIVE_META_FIELDS, TPI_NATIVE_META_SIZE)

/* The header's CRC covers all of it but the CRC itself, which comes last. */
#define TPI_NATIVE_HEADER_COVERED (TPI_NATIVE_HEADER_SIZE - 4)

/* The code of a dtype, 0 if none; and back. */
uint16_t tpi_native_dtype_code(enum tp_dtype dtype);
enum tp_dtype tpi_native_dtype(uint16_t code);

/* Where the bytes of a storage or an attachment lie. */
struct tpi_native_place {
	struct tpi_native_extent x;
	const uint32_t *chunks; /* stored size of each deflated piece */
	const uint64_t *starts; /* of a reader: where it begins in the file */
	size_t n_chunks;
};

/* The pieces that nbytes make; false when they cannot be counted. */
bool tpi_native_n_chunks(uint64_t nbytes, uint32_t chunk_nbytes, size_t *n);

/*
 * The format's functions, native_read.c and native_write.c. A reader keeps in
 * priv what struct tpi_native_reader (there) holds.
 */
enum tp_status tpi_native_open(struct tp_reader *r, struct tp_err *err);
enum tp_status tpi_native_stream(
    struct tp_reader *r, size_t i, struct tp_stream **out, struct tp_err *err);
enum tp_status tpi_native_stream_from(struct tp_reader *r, size_t i,
    uint64_t from, struct tp_stream **out, struct tp_err *err);
enum tp_status tpi_native_attach(
    struct tp_reader *r, size_t i, struct tp_err *err);

enum tp_status tpi_native_plan(struct tp_writer *w, struct tp_err *err);
enum tp_status tpi_native_put(struct tp_writer *w, size_t storage,
    struct tp_stream *s, struct tp_err *err);
enum tp_status tpi_native_finish(struct tp_writer *w, struct tp_err *err);
void tpi_native_discard(struct tp_writer *w);

#endif
