/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_narrow.c - any ONNX graph with narrowed weights, and back
 *
 * A graph without errors stays one; what is written reads back as planned; what
 * is widened and narrowed again is the same, byte for byte.
 */
#include "fuzz.h"

#include <string.h>

#include "tp/onnx.h"
#include "tp/quantized.h"
#include "tp/transfer.h"

struct how {
	const struct tp_scheme *scheme;
	unsigned choice;
	bool half;
};

static enum tp_status
recipe(void *ctx, const struct tp_reader *r, size_t entry,
    struct tp_recipe *out, struct tp_err *err)
{
	const struct how *h = ctx;
	const struct tp_entry *e = tp_reader_entry(r, entry);

	(void)err;
	if (out->why)
		return TP_OK;
	if (e->dtype != TP_DTYPE_F32 || e->rank < 2 || e->n_elems == 0 ||
	    e->nbytes > FUZZ_TENSOR_BYTES) {
		out->why = "no weight";
		return TP_OK;
	}
	out->scheme = h->scheme;
	out->symmetric = h->choice & 1;
	out->per = (enum tp_quant_per)(h->choice >> 1 & 3) % 3;
	out->axis = TP_AXIS_AUTO;
	out->block = 4;
	out->keep_nonfinite = true;
	return TP_OK;
}

static void
count_error(void *ctx, bool is_error, struct tp_str scope, const char *message)
{
	(void)scope;
	(void)message;
	*(size_t *)ctx += is_error;
}

/* Errors of a graph; SIZE_MAX if it could not be looked at. */
static size_t
count_errors(struct tp_reader *r)
{
	struct tp_err err = TP_ERR_INIT;
	size_t n = 0;

	struct fuzz_cost cost = {0, 0};
	enum tp_status rc;

	fuzz_begin();
	rc = tp_onnx_check(r, count_error, &n, &err);
	fuzz_end(&cost, "checking a graph");
	return rc ? SIZE_MAX : n;
}

/* From a file to another: narrowed, or widened where h is NULL. */
static bool
change(const char *from, const char *to, struct how *h)
{
	const struct tp_quantize_options o = {.recipe = h ? recipe : NULL,
	    .ctx = h,
	    .keep_graph = true,
	    .half_graph = h && h->half,
	    .n_threads = 1};
	const struct tp_transfer_options t_options = {
	    .create = {.format = "onnx", .force = true, .sync = TP_SYNC_NEVER},
	    .allow_loss = TP_LOSS_ALIAS,
	    .n_threads = 1};
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = fuzz_open(from, "onnx", 0, &err), *q = NULL;
	struct tp_transfer *t = NULL;
	bool done = false;

	if (r && h)
		fuzz_quantize_failing(r, &o);
	if (r &&
	    !(h ? tp_quantize_reader(r, &o, &q, &err)
		: tp_dequantize_reader(r, &o, &q, &err)) &&
	    fuzz_transfer(q, to, &t_options, &t, &err)) {
		if (count_errors(r) == 0)
			MUST(count_errors(q) == 0);
		done = true;
	}
	tp_transfer_free(t);
	tp_close(q);
	tp_close(r);
	return done;
}

static void
must_be_same(const char *a, const char *b)
{
	FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
	int c;

	MUST(f && g);
	do {
		c = getc(f);
		MUST(c == getc(g));
	} while (c != EOF);
	fclose(f);
	fclose(g);
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	struct how h = {.choice = fuzz_choice(data, &n)};

	h.half = (h.choice >> 5) == 7;
	h.scheme = tp_scheme_at(h.choice >> 5);
	if (!change(fuzz_file("0.onnx", data, n), fuzz_path("1.onnx"), &h))
		return;
	/* The input may have been narrowed by others: first without that. */
	if (!h.half && change(fuzz_path("1.onnx"), fuzz_path("2.onnx"), NULL) &&
	    change(fuzz_path("2.onnx"), fuzz_path("3.onnx"), &h) &&
	    change(fuzz_path("3.onnx"), fuzz_path("4.onnx"), NULL) &&
	    change(fuzz_path("4.onnx"), fuzz_path("5.onnx"), &h))
		must_be_same(fuzz_path("3.onnx"), fuzz_path("5.onnx"));
}
