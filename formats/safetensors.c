/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors.c - the safetensors format: dtypes, probing, descriptor
 *
 *	u64le N | N bytes of JSON, padded with spaces | tensor bytes
 *
 * or a shard set: several such files and an index, which is JSON. The dialect
 * that is read and written is described in schemas/safetensors.md.
 */
#include "safetensors.h"

#include <stdio.h>
#include <string.h>

#include "tp/endian.h"

#include "shards.h"

#include "banned.h"

/* In the order of the format's own list; files hold the last ones first. */
/* clang-format off */
#define CODE(ID, name) {TP_DTYPE_##ID, {name, sizeof(name) - 1}}
static const struct {
	enum tp_dtype dtype;
	struct tp_str name;
} codes[] = {
	CODE(BOOL, "BOOL"),
	CODE(F4E2M1, "F4"),
	CODE(F6E2M3, "F6_E2M3"),
	CODE(F6E3M2, "F6_E3M2"),
	CODE(U8, "U8"),
	CODE(I8, "I8"),
	CODE(F8E5M2, "F8_E5M2"),
	CODE(F8E4M3FN, "F8_E4M3"),
	CODE(F8E8M0, "F8_E8M0"),
	CODE(F8E4M3FNUZ, "F8_E4M3FNUZ"),
	CODE(F8E5M2FNUZ, "F8_E5M2FNUZ"),
	CODE(I16, "I16"),
	CODE(U16, "U16"),
	CODE(F16, "F16"),
	CODE(BF16, "BF16"),
	CODE(I32, "I32"),
	CODE(U32, "U32"),
	CODE(F32, "F32"),
	CODE(C64, "C64"),
	CODE(F64, "F64"),
	CODE(I64, "I64"),
	CODE(U64, "U64"),
};
/* clang-format on */
#define N_CODES (sizeof(codes) / sizeof(codes[0]))

const char *
tpi_safetensors_dtype_name(enum tp_dtype dtype)
{
	for (size_t i = 0; i < N_CODES; i++)
		if (codes[i].dtype == dtype)
			return codes[i].name.s;
	return NULL;
}

enum tp_dtype
tpi_safetensors_dtype_find(struct tp_str name)
{
	for (size_t i = 0; i < N_CODES; i++)
		if (codes[i].name.len == name.len &&
		    !memcmp(codes[i].name.s, name.s, name.len))
			return codes[i].dtype;
	return TP_DTYPE_NONE;
}

unsigned
tpi_safetensors_dtype_order(enum tp_dtype dtype)
{
	for (size_t i = 0; i < N_CODES; i++)
		if (codes[i].dtype == dtype)
			return (unsigned)(N_CODES - 1 - i);
	return N_CODES;
}

/*
 * A believable length and the brace behind it. A damaged file that looks like
 * one is taken too, less surely, so that the reader says what is wrong.
 */
static int
probe_file(const uint8_t *head, size_t n, uint64_t file_size)
{
	uint64_t header = tp_le64(head);
	bool fits = header >= 2 && header <= file_size - 8 &&
		    header <= TPI_SAFETENSORS_HEADER_MAX;

	if (head[8] == '{' && fits)
		return 95;
	if (head[8] == '{' && n > 9 && (head[9] == '"' || head[9] == '}'))
		return 60;
	if (fits && strchr(" \t\r\n", head[8]) && head[8])
		return 40;
	return 0;
}

static int
probe(const uint8_t *head, size_t n, uint64_t file_size)
{
	if (tpi_shards_is_index(head, n))
		return 90;
	return n > 8 ? probe_file(head, n, file_size) : 0;
}

static enum tp_status
open_file(struct tp_reader *r, struct tp_err *err)
{
	const struct tpi_source *src = r->sources[0];
	uint8_t head[TPI_SHARDS_PROBE];
	size_t n = src->size < sizeof(head) ? (size_t)src->size : sizeof(head);
	enum tp_status rc = tpi_source_read(src, 0, head, n, err);
	bool done = false;

	if (rc)
		return rc;
	if (tpi_shards_is_index(head, n))
		return tpi_shards_open_index(r, err);
	rc = tpi_shards_open_around(r, &done, err);
	if (rc || done)
		return rc;
	return tpi_safetensors_read(r, 0, NULL, NULL, err);
}

static bool
holds_dtype(enum tp_dtype dtype, uint64_t n_elems)
{
	/* Elements of 4 or 6 bits must fill their last byte. */
	return tpi_safetensors_dtype_name(dtype) &&
	       n_elems % 8 * tp_dtype_bits(dtype) % 8 == 0;
}

static unsigned
loses(const struct tp_create_options *options, const struct tp_model *m,
    bool whole, size_t i, bool shared, char why[TP_WHY_SIZE])
{
	(void)options;
	(void)whole;
	(void)shared;
	if (tp_str_cmp(m->entries[i].name, TP_STR("__metadata__")))
		return 0;
	snprintf(why, TP_WHY_SIZE,
	    "safetensors keeps metadata under the name __metadata__");
	return TP_LOSS_NAME;
}

const struct tp_format tpi_format_safetensors = {
    .name = "safetensors",
    .suffixes =
	(const char *const[]){".safetensors", TPI_SHARDS_INDEX_SUFFIX, NULL},
    .caps = TPI_CAP_METADATA | TPI_CAP_HARDENED,
    .probe_len = TPI_SHARDS_PROBE,
    .probe = probe,
    .open = open_file,
    .holds_dtype = holds_dtype,
    .loses = loses,
    .plan = tpi_safetensors_plan,
    .put = tpi_safetensors_put,
};
