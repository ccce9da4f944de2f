/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/dtype.h - element types
 *
 * TP_DTYPES is the one list: enum, names, sizes and tests are made from it.
 *
 *	X(ID, name, bits, kind)
 *
 * Elements narrower than a byte are packed, the first in the low bits; a
 * tensor of them ends with zero bits up to the next byte. Strings have no fixed
 * size: as bytes each is its length as 8 bytes little-endian, then the bytes.
 */
#ifndef TP_DTYPE_H
#define TP_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/error.h"
#include "tp/macros.h"

/* clang-format off */
#define TP_DTYPES(X) \
	X(BOOL,       "bool",       8,   BOOL)    \
	X(U2,         "u2",         2,   UINT)    \
	X(I2,         "i2",         2,   INT)     \
	X(U4,         "u4",         4,   UINT)    \
	X(I4,         "i4",         4,   INT)     \
	X(U8,         "u8",         8,   UINT)    \
	X(I8,         "i8",         8,   INT)     \
	X(U16,        "u16",        16,  UINT)    \
	X(I16,        "i16",        16,  INT)     \
	X(U32,        "u32",        32,  UINT)    \
	X(I32,        "i32",        32,  INT)     \
	X(U64,        "u64",        64,  UINT)    \
	X(I64,        "i64",        64,  INT)     \
	X(F4E2M1,     "f4e2m1",     4,   FLOAT)   \
	X(F6E2M3,     "f6e2m3",     6,   FLOAT)   \
	X(F6E3M2,     "f6e3m2",     6,   FLOAT)   \
	X(F8E4M3FN,   "f8e4m3fn",   8,   FLOAT)   \
	X(F8E5M2,     "f8e5m2",     8,   FLOAT)   \
	X(F8E4M3FNUZ, "f8e4m3fnuz", 8,   FLOAT)   \
	X(F8E5M2FNUZ, "f8e5m2fnuz", 8,   FLOAT)   \
	X(F8E8M0,     "f8e8m0",     8,   FLOAT)   \
	X(F16,        "f16",        16,  FLOAT)   \
	X(BF16,       "bf16",       16,  FLOAT)   \
	X(F32,        "f32",        32,  FLOAT)   \
	X(F64,        "f64",        64,  FLOAT)   \
	X(C64,        "c64",        64,  COMPLEX) \
	X(C128,       "c128",       128, COMPLEX) \
	X(STRING,     "string",     0,   STRING)
/* clang-format on */

enum tp_dtype {
	TP_DTYPE_NONE = 0,
#define TP_DTYPE_ENUM(ID, name, bits, kind) TP_DTYPE_##ID,
	TP_DTYPES(TP_DTYPE_ENUM)
#undef TP_DTYPE_ENUM
	    TP_DTYPE_COUNT /* one past the last */
};

enum tp_dtype_kind {
	TP_KIND_NONE,
	TP_KIND_BOOL,
	TP_KIND_UINT,
	TP_KIND_INT,
	TP_KIND_FLOAT,
	TP_KIND_COMPLEX,
	TP_KIND_STRING,
};

/* "f32"; "none" for TP_DTYPE_NONE and for numbers that are no dtype. */
TP_API const char *tp_dtype_name(enum tp_dtype dtype);

/*
 * The dtype of that name, or TP_DTYPE_NONE. Accepts the names of the list and
 * the usual long ones ("float16", "int8", "bfloat16", "float8_e4m3fn", …), case
 * ignored.
 */
TP_API enum tp_dtype tp_dtype_find(const char *name);

/* Bits of one element: 0 for strings and TP_DTYPE_NONE. */
TP_API unsigned tp_dtype_bits(enum tp_dtype dtype);
TP_API enum tp_dtype_kind tp_dtype_kind(enum tp_dtype dtype);

/*
 * Bytes between elements that must be swapped together on a big-endian
 * machine: the element size, or half of it for complex numbers; 1 below 16 bits
 * and for strings.
 */
TP_API size_t tp_dtype_swap_size(enum tp_dtype dtype);

/*
 * Bytes that n packed elements take, the last byte filled up. TP_EARG for
 * strings, whose size the shape does not tell; TP_ELIMIT on overflow.
 */
TP_API TP_NODISCARD enum tp_status tp_dtype_nbytes(
    enum tp_dtype dtype, uint64_t n, uint64_t *nbytes, struct tp_err *err);

#endif
