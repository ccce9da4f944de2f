/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.c - facts about dtypes, all made from TP_DTYPES */
#include "tp/dtype.h"

#include <inttypes.h>

#include "tp/checked.h"

#include "banned.h"

struct dtype_traits {
	const char *name;
	unsigned bits;
	enum tp_dtype_kind kind;
};

static const struct dtype_traits traits[TP_DTYPE_COUNT] = {
    [TP_DTYPE_NONE] = {"none", 0, TP_KIND_NONE},
#define ROW(ID, name, bits, kind) \
	[TP_DTYPE_##ID] = {name, bits, TP_KIND_##kind},
    TP_DTYPES(ROW)
#undef ROW
};

/* Other spellings people type. */
static const struct {
	const char *name;
	enum tp_dtype dtype;
} aliases[] = {
    {"boolean", TP_DTYPE_BOOL},
    {"uint2", TP_DTYPE_U2},
    {"int2", TP_DTYPE_I2},
    {"uint4", TP_DTYPE_U4},
    {"int4", TP_DTYPE_I4},
    {"uint8", TP_DTYPE_U8},
    {"int8", TP_DTYPE_I8},
    {"uint16", TP_DTYPE_U16},
    {"int16", TP_DTYPE_I16},
    {"uint32", TP_DTYPE_U32},
    {"int32", TP_DTYPE_I32},
    {"uint64", TP_DTYPE_U64},
    {"int64", TP_DTYPE_I64},
    {"float4_e2m1", TP_DTYPE_F4E2M1},
    {"float4e2m1", TP_DTYPE_F4E2M1},
    {"f4", TP_DTYPE_F4E2M1},
    {"float8_e4m3fn", TP_DTYPE_F8E4M3FN},
    {"float8e4m3fn", TP_DTYPE_F8E4M3FN},
    {"f8e4m3", TP_DTYPE_F8E4M3FN},
    {"float8_e5m2", TP_DTYPE_F8E5M2},
    {"float8e5m2", TP_DTYPE_F8E5M2},
    {"float8_e4m3fnuz", TP_DTYPE_F8E4M3FNUZ},
    {"float8e4m3fnuz", TP_DTYPE_F8E4M3FNUZ},
    {"float8_e5m2fnuz", TP_DTYPE_F8E5M2FNUZ},
    {"float8e5m2fnuz", TP_DTYPE_F8E5M2FNUZ},
    {"float8_e8m0", TP_DTYPE_F8E8M0},
    {"float8e8m0", TP_DTYPE_F8E8M0},
    {"float16", TP_DTYPE_F16},
    {"fp16", TP_DTYPE_F16},
    {"half", TP_DTYPE_F16},
    {"bfloat16", TP_DTYPE_BF16},
    {"float32", TP_DTYPE_F32},
    {"fp32", TP_DTYPE_F32},
    {"float", TP_DTYPE_F32},
    {"float64", TP_DTYPE_F64},
    {"double", TP_DTYPE_F64},
    {"complex64", TP_DTYPE_C64},
    {"complex128", TP_DTYPE_C128},
};

static const struct dtype_traits *
traits_of(enum tp_dtype dtype)
{
	unsigned i = (unsigned)dtype;

	return &traits[i < TP_DTYPE_COUNT ? i : TP_DTYPE_NONE];
}

const char *
tp_dtype_name(enum tp_dtype dtype)
{
	return traits_of(dtype)->name;
}

unsigned
tp_dtype_bits(enum tp_dtype dtype)
{
	return traits_of(dtype)->bits;
}

enum tp_dtype_kind
tp_dtype_kind(enum tp_dtype dtype)
{
	return traits_of(dtype)->kind;
}

size_t
tp_dtype_swap_size(enum tp_dtype dtype)
{
	const struct dtype_traits *t = traits_of(dtype);
	size_t nbytes = t->bits / 8;

	if (t->kind == TP_KIND_COMPLEX)
		return nbytes / 2;
	return nbytes ? nbytes : 1;
}

/* Equal but for the case of ASCII letters, whatever the locale. */
static bool
equal_ignoring_case(const char *a, const char *b)
{
	for (;; a++, b++) {
		char ca = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a;
		char cb = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;

		if (ca != cb)
			return false;
		if (!ca)
			return true;
	}
}

enum tp_dtype
tp_dtype_find(const char *name)
{
	for (int i = TP_DTYPE_NONE + 1; i < TP_DTYPE_COUNT; i++)
		if (equal_ignoring_case(name, traits[i].name))
			return (enum tp_dtype)i;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (equal_ignoring_case(name, aliases[i].name))
			return aliases[i].dtype;
	return TP_DTYPE_NONE;
}

enum tp_status
tp_dtype_nbytes(
    enum tp_dtype dtype, uint64_t n, uint64_t *nbytes, struct tp_err *err)
{
	unsigned bits = tp_dtype_bits(dtype);
	uint64_t whole, rest;

	if (bits == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "elements of dtype %s have no fixed size",
		    tp_dtype_name(dtype));
	/* Eight elements are `bits` bytes, so nothing here can pass 2^64
	 * unseen. */
	rest = (n % 8 * bits + 7) / 8;
	if (tp_mul_u64(n / 8, bits, &whole) || tp_add_u64(whole, rest, &whole))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%" PRIu64 " elements of %s overflow 64 bits of bytes", n,
		    tp_dtype_name(dtype));
	*nbytes = whole;
	return TP_OK;
}
