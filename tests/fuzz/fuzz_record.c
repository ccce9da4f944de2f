/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_record.c - which codes have which scales, as metadata says it: the input
 * is that text, in a model that is always the same
 *
 * What is accepted gives the numbers that a loop over codes, scales and zero
 * points gives; the reader that adopted it says the same.
 */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "formats/plugin.h"
#include "tp/convert.h"
#include "tp/copy.h"
#include "tp/quantized.h"

/*
 * c, d: codes; s*: scales; z, y: zero points; h, f: floats that were cast.
 */
#define HEADER                                                                 \
	"{\"c\":{\"dtype\":\"I8\",\"shape\":[2,4],\"data_offsets\":[0,8]},"    \
	"\"d\":{\"dtype\":\"U8\",\"shape\":[2,2],\"data_offsets\":[8,12]},"    \
	"\"s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[12,20]},"    \
	"\"s1\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[20,24]},"    \
	"\"s4\":{\"dtype\":\"F16\",\"shape\":[2,2],\"data_offsets\":[24,32]}," \
	"\"z\":{\"dtype\":\"I8\",\"shape\":[2],\"data_offsets\":[32,34]},"     \
	"\"y\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[34,35]},"      \
	"\"f\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[35,36]}" \
	","                                                                    \
	"\"h\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[36,40]}}"
#define HEADER_NBYTES (sizeof(HEADER) - 1)

static const uint8_t bytes[40] = {1, 2, 3, 4, 5, 250, 251, 252, /* c */
    0, 10, 128, 255,						/* d */
    0, 0, 0x80, 0x3f, 0, 0, 0, 0x40,				/* s: 1, 2 */
    0, 0, 0, 0x3f,						/* s1: 0.5 */
    0, 0x3c, 0, 0x40, 0, 0x42, 0, 0x44,				/* 1, 2, 3, 4 */
    1, 255, 7, 0x38, 0x80, 0x3f, 0, 0x40};

static const struct tp_quantize_options options = {.n_threads = 1};

/* NULL: no text. */
static struct tp_reader *
open_model(struct tp_str record)
{
	uint8_t file[8 + HEADER_NBYTES + sizeof(bytes)] = {
	    HEADER_NBYTES & 255, HEADER_NBYTES >> 8};
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r;

	memcpy(file + 8, HEADER, HEADER_NBYTES);
	memcpy(file + 8 + HEADER_NBYTES, bytes, sizeof(bytes));
	r = fuzz_open(
	    fuzz_file("model.safetensors", file, sizeof(file)), NULL, 0, &err);
	MUST(r);
	if (!tpi_reader_add_meta(
		r, TP_STR(TP_QUANTIZED_KEY), record, TP_NO_OFFSET, &err))
		return r;
	MUST(err.msg[0]);
	tp_close(r);
	return NULL;
}

/* The numbers of an entry, row-major. */
static double *
numbers(struct tp_reader *r, size_t entry)
{
	const struct tp_entry *e = tp_reader_entry(r, entry);
	double *x = calloc((size_t)e->n_elems + 1, sizeof(*x));
	struct tp_err err = TP_ERR_INIT;
	struct tp_tensor *t = NULL;
	uint8_t *packed;

	MUST(x);
	MUST_OK(tp_reader_tensor(r, entry, &t, &err), &err);
	packed = fuzz_packed(t, e->nbytes);
	for (size_t i = 0; i < e->n_elems; i++)
		x[i] = tp_load_f64(e->dtype, packed, i);
	tp_tensor_free(t);
	free(packed);
	return x;
}

/* Which scale element k has. */
static size_t
group_of(const struct tp_entry *e, const struct tp_quant_info *q, size_t k)
{
	size_t inner = 1, at, n_blocks;

	if (q->per == TP_PER_TENSOR)
		return 0;
	for (unsigned d = q->axis + 1; d < e->rank; d++)
		inner *= (size_t)e->shape[d];
	at = k / inner % (size_t)e->shape[q->axis];
	if (q->per == TP_PER_CHANNEL)
		return at;
	n_blocks = (size_t)(((uint64_t)e->shape[q->axis] - 1) / q->block) + 1;
	return (k / inner / (size_t)e->shape[q->axis] * n_blocks +
		   (size_t)(at / q->block)) *
		   inner +
	       k % inner;
}

/*
 * What the entry stands for, with a scale or without; and what was made of it.
 */
static void
check_numbers(struct tp_reader *r, size_t i, struct tp_reader *wide)
{
	const struct tp_entry *e = tp_reader_entry(r, i);
	const struct tp_quant_info *q = e->quant;
	size_t at = tp_reader_find(wide, e->name);
	double *code, *scale = NULL, *zero = NULL, *got;

	if (at == TP_NONE)
		return;
	code = numbers(r, i);
	got = numbers(wide, at);
	if (q)
		scale = numbers(r, q->scale);
	if (q && q->zero_point != TP_NONE)
		zero = numbers(r, q->zero_point);
	for (size_t k = 0; k < e->n_elems; k++) {
		size_t g = q ? group_of(e, q, k) : 0;
		double x = code[k] - (zero ? zero[g] : 0);

		MUST(got[k] == (q ? (double)(float)(x * scale[g]) : x));
	}
	free(code);
	free(scale);
	free(zero);
	free(got);
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	struct tp_str record = {(const char *)data, n};
	struct tp_err err = TP_ERR_INIT, why = TP_ERR_INIT;
	struct tp_reader *r = open_model(record), *wide = NULL;
	struct tp_quantize_options o = options;
	struct fuzz_cost cost = {0, 0};
	enum tp_status rc, adopted;

	if (!r)
		return;
	o.alloc = fuzz_failing();
	rc = tp_dequantize_reader(r, &o, &wide, &err);
	MUST(!rc == (wide != NULL));
	tp_close(wide);
	fuzz_failed();
	fuzz_begin();
	rc = tp_dequantize_reader(r, &options, &wide, &err);
	fuzz_end(&cost, "reading a record");
	MUST((rc == TP_OK) == (wide != NULL));
	MUST(!rc || err.msg[0]);
	adopted = tp_reader_adopt_quantizers(r, &why);
	MUST(!adopted || why.msg[0]);
	if (wide) {
		MUST_OK(adopted, &why);
		for (size_t i = 0; i < tp_reader_n_entries(r); i++)
			check_numbers(r, i, wide);
		fuzz_walk(wide);
	}
	tp_close(wide);
	tp_close(r);
}
