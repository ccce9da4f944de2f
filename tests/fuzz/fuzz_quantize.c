/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_quantize.c - any model quantized, written, read and dequantized
 *
 * What was accepted can be written, and the written file can be widened again.
 * A plan of two schemes keeps what it promises (fuzz_choose.c).
 */
#include "fuzz.h"

#include <math.h>

#include "tp/quantized.h"
#include "tp/transfer.h"

#include "fuzz_choose.h"

struct how {
	unsigned choice;
	const struct tp_scheme *scheme;
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
	if ((e->dtype != TP_DTYPE_F32 && e->dtype != TP_DTYPE_F16 &&
		e->dtype != TP_DTYPE_BF16 && e->dtype != TP_DTYPE_F64) ||
	    e->rank == 0 || e->n_elems == 0 || e->nbytes > FUZZ_TENSOR_BYTES) {
		out->why = "no weight";
		return TP_OK;
	}
	out->scheme = h->scheme;
	out->symmetric = h->choice & 1;
	out->per = (enum tp_quant_per)(h->choice >> 1 & 3) % 3;
	out->axis = TP_AXIS_AUTO;
	out->block = 32;
	out->calibrate = h->choice & 8 ? TP_CALIBRATE_MSE : TP_CALIBRATE_MINMAX;
	out->keep_nonfinite = true;
	if (h->scheme->block) {
		out->symmetric = true;
		out->per = TP_PER_BLOCK;
		out->block = h->scheme->block;
	}
	return TP_OK;
}

static bool
write_model(struct tp_reader *r, const char *path)
{
	const struct tp_transfer_options o = {
	    .create = {.force = true, .sync = TP_SYNC_NEVER},
	    .allow_loss = TP_LOSS_ALIAS,
	    .n_threads = 1,
	};
	struct tp_err err = TP_ERR_INIT;
	struct tp_transfer *t = NULL;
	bool written = fuzz_transfer(r, path, &o, &t, &err);

	tp_transfer_free(t);
	return written;
}

static void
check_items(const struct tp_reader *q)
{
	const struct tp_quantized_item *item;

	for (size_t i = 0; (item = tp_quantized_item(q, i)); i++) {
		if (!item->recipe.scheme)
			continue;
		MUST(item->n_zero_groups <= item->n_groups);
		MUST(isfinite(item->least_scale) && item->least_scale >= 0);
		MUST(isfinite(item->most_scale));
	}
}

/* What could be widened before, or was made here, still can. */
static void
widen(const char *path, bool must)
{
	const struct tp_quantize_options o = {.n_threads = 1};
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = fuzz_open(path, NULL, 0, &err), *wide = NULL;

	MUST(r);
	if (tp_dequantize_reader(r, &o, &wide, &err))
		MUST(!must && err.msg[0]);
	else
		fuzz_walk(wide);
	tp_close(wide);
	tp_close(r);
}

/* Another scheme, and a plan that chooses. */
static void
plan_both(struct tp_reader *r, const struct tp_reader *q,
    const struct tp_quantize_options *options, const struct how *how)
{
	struct how h = *how;
	struct tp_quantize_options o = *options;
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *other = NULL;
	size_t i = 0;

	while (tp_scheme_at(i) != h.scheme)
		i++;
	h.scheme = tp_scheme_at(tp_scheme_at(i + 3) ? i + 3 : 8);
	o.ctx = &h;
	if (!tp_quantize_reader(r, &o, &other, &err))
		fuzz_choose(r, q, other);
	tp_close(other);
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	struct how h = {.choice = fuzz_choice(data, &n)};
	struct tp_quantize_options o = {.recipe = recipe,
	    .ctx = &h,
	    .records = h.choice & 16,
	    .n_threads = 1};
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r, *q = NULL;
	const char *out = h.choice & 16 ? "q.tpt" : "q.safetensors";
	struct fuzz_cost cost = {0, 0};
	enum tp_status rc;
	bool widens;

	for (size_t i = 0; i <= h.choice >> 5 || !h.scheme; i++)
		h.scheme = tp_scheme_at(tp_scheme_at(i) ? i : 0);
	r = fuzz_open(fuzz_file("in", data, n), NULL, 0, &err);
	if (!r)
		return;
	/*
	 * The input may be quantized itself, in ways that are not known here.
	 */
	widens = !tp_dequantize_reader(r, &o, &q, &err);
	if (widens)
		fuzz_walk(q);
	tp_close(q);
	q = NULL;
	fuzz_quantize_failing(r, &o);
	fuzz_begin();
	rc = tp_quantize_reader(r, &o, &q, &err);
	fuzz_end(&cost, "quantizing");
	if (!rc) {
		check_items(q);
		fuzz_walk(q);
		plan_both(r, q, &o, &h);
		if (write_model(q, fuzz_path(out)))
			widen(fuzz_path(out), widens);
	} else {
		MUST(err.msg[0]);
	}
	tp_close(q);
	tp_close(r);
}
