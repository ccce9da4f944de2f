/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_diff.c - two models made of one input, as tp-verify diff compares them
 *
 * The second is the first itself, the first with a byte changed, the rest of
 * the input, or what a conversion made of the first. A model equals itself and
 * its conversion; each verdict is that of the other direction; and what is said
 * of elements agrees with a loop over them.
 */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "tools/verify/diff.h"
#include "tp/copy.h"
#include "tp/transfer.h"

enum how { ITSELF, CHANGED, SPLIT, CONVERTED };

static struct diff_engine engine = {.n_threads = 1, .max_memory = 8 << 20};

/* Instead of cli_report: says nothing. The name is the linker's. */
int __wrap_cli_report(const char *path, const struct tp_err *err);
int
__wrap_cli_report(const char *path, const struct tp_err *err)
{
	(void)path;
	return cli_exit_of(err->status);
}

/* One direction: what was asked, and what came of it. */
struct direction {
	struct diff_options o;
	struct diff d;
	struct diff_pairs pairs;
	bool done;
};

static void
compare(struct direction *to, struct tp_reader *a, struct tp_reader *b,
    unsigned choice)
{
	struct fuzz_cost cost = {0, 0};
	struct tp_err err = TP_ERR_INIT;
	const char *path;

	*to = (struct direction){.o = {.ignore_dtype = choice & 8,
				     .tolerances = {.equal_nan = !(choice & 16),
					 .bits = choice & 32}}};
	MUST(!diff_tolerances_parse(&to->o.tolerances));
	to->d = (struct diff){.r = {a, b},
	    .paths = {"a", "b"},
	    .o = &to->o,
	    .tolerances = &to->o.tolerances,
	    .engine = engine};
	verdict_init(&to->d.v, "diff", "a", "b");
	to->d.v.figures = diff_figures;
	fuzz_begin();
	to->done = !diff_pairs_make(&to->pairs, &to->o, to->d.r, &path, &err);
	for (size_t i = 0; to->done && i < to->pairs.n; i++)
		diff_judge(&to->d, &to->pairs.pairs[i]);
	if (to->done)
		diff_metadata(&to->d);
	fuzz_end(&cost, "comparing");
	MUST(to->done || err.msg[0]);
	MUST(!to->done || to->d.v.n_items == to->pairs.n);
}

static void
release(struct direction *d)
{
	verdict_release(&d->d.v);
	diff_pairs_release(&d->pairs);
	diff_tolerances_release(&d->o.tolerances);
}

/* What is compared apart: parts of complex numbers as elements. */
static enum tp_dtype
part_dtype(enum tp_dtype dtype)
{
	if (dtype == TP_DTYPE_C64)
		return TP_DTYPE_F32;
	return dtype == TP_DTYPE_C128 ? TP_DTYPE_F64 : dtype;
}

/* The packed elements in the machine's byte order; NULL: unreadable. */
static uint8_t *
elements(struct tp_reader *r, size_t entry)
{
	const struct tp_entry *e = tp_reader_entry(r, entry);
	struct tp_err err = TP_ERR_INIT;
	struct tp_tensor *t = NULL;
	uint8_t *packed;

	if (tp_reader_tensor(r, entry, &t, &err))
		return NULL;
	packed = fuzz_packed(t, e->nbytes);
	tp_tensor_free(t);
	return packed;
}

static bool
is_wide(enum tp_dtype dtype)
{
	return dtype == TP_DTYPE_I64 || dtype == TP_DTYPE_U64;
}

/* One value of each side: both 64-bit integers, or both exact as doubles. */
static bool
are_equal(enum tp_dtype da, const void *a, enum tp_dtype db, const void *b,
    size_t i, bool equal_nan)
{
	double x, y;

	if (is_wide(da)) {
		uint64_t u, v;

		memcpy(&u, (const uint8_t *)a + 8 * i, 8);
		memcpy(&v, (const uint8_t *)b + 8 * i, 8);
		return u == v && (da == db || u <= INT64_MAX);
	}
	x = tp_load_f64(da, a, i);
	y = tp_load_f64(db, b, i);
	return x == y || (equal_nan && isnan(x) && isnan(y));
}

/* The figures of a pair that was compared as it lies. */
static void
check_figures(const struct diff_pair *p, enum tp_dtype da, const uint8_t *a,
    enum tp_dtype db, const uint8_t *b, size_t n, const struct direction *d)
{
	bool equal_nan = d->o.tolerances.equal_nan, any = false;
	uint64_t n_same = 0, first = 0;

	for (size_t i = 0; i < n; i++) {
		bool same = are_equal(da, a, db, b, i, equal_nan);

		n_same += same;
		first = !same && !any ? i : first;
		any |= !same;
	}
	if (!p->figures) {
		MUST(n_same == n);
		return;
	}
	MUST(p->figures->n == n);
	if (d->o.tolerances.bits) {
		MUST(p->figures->n_over >= n - n_same);
		return;
	}
	MUST(p->figures->n_over == n - n_same);
	MUST(!any || p->figures->first_over == first);
	MUST(p->figures->n_equal <= n_same);
	MUST(equal_nan || p->figures->n_equal == n_same);
}

static bool
have_one_shape(const struct tp_entry *a, const struct tp_entry *b)
{
	return a->rank == b->rank &&
	       (a->rank == 0 ||
		   !memcmp(a->shape, b->shape, a->rank * sizeof(a->shape[0])));
}

/* A pair of plain numbers once more, by itself. */
static void
check_pair(const struct direction *d, size_t i)
{
	const struct diff_pair *p = &d->pairs.pairs[i];
	const struct verdict_item *item = &d->d.v.items[i];
	const struct tp_entry *a = tp_reader_entry(d->d.r[0], p->entry[0]);
	const struct tp_entry *b = tp_reader_entry(d->d.r[1], p->entry[1]);
	enum tp_dtype da = part_dtype(a->dtype), db = part_dtype(b->dtype);
	size_t n = (size_t)a->n_elems * (da == a->dtype ? 1 : 2);
	uint8_t *x, *y;

	if (!have_one_shape(a, b))
		MUST(item->status != VERDICT_EQUAL);
	if (!p->has_figures || a->quant || b->quant ||
	    a->nbytes > FUZZ_TENSOR_BYTES || b->nbytes > FUZZ_TENSOR_BYTES ||
	    is_wide(da) != is_wide(db) || !fuzz_is_countable(a) ||
	    !fuzz_is_countable(b))
		return;
	x = elements(d->d.r[0], p->entry[0]);
	y = elements(d->d.r[1], p->entry[1]);
	MUST(x && y);
	check_figures(p, da, x, db, y, n, d);
	MUST((item->status == VERDICT_EQUAL) ==
	     (have_one_shape(a, b) && (da == db || d->o.ignore_dtype) &&
		 (!d->o.tolerances.bits || da == db) &&
		 (!p->figures || p->figures->n_over == 0)));
	if (d->o.tolerances.bits && item->status == VERDICT_EQUAL)
		MUST(!memcmp(x, y, (size_t)a->nbytes));
	free(x);
	free(y);
}

/* The same seen from the other side. */
static enum verdict_status
mirrored(enum verdict_status status)
{
	if (status == VERDICT_MISSING)
		return VERDICT_EXTRA;
	return status == VERDICT_EXTRA ? VERDICT_MISSING : status;
}

static void
check_mirror(
    const struct direction *d, size_t i, const struct direction *back, size_t j)
{
	const struct verdict_item *x = &d->d.v.items[i];
	const struct verdict_item *y = &back->d.v.items[j];
	const struct tp_compare *f = d->pairs.pairs[i].figures;
	const struct tp_compare *g = back->pairs.pairs[j].figures;

	MUST(y->status == mirrored(x->status));
	if (x->status != VERDICT_DIFFERENT)
		return;
	MUST(x->kind && y->kind && !strcmp(x->kind, y->kind));
	MUST(!f == !g);
	if (!f)
		return;
	MUST(f->n == g->n && f->n_equal == g->n_equal);
	MUST(f->n_over == g->n_over && f->first_over == g->first_over);
	MUST(f->n_finite == g->n_finite && f->n_both_nan == g->n_both_nan);
	MUST(f->n_nan[0] == g->n_nan[1] && f->n_inf[1] == g->n_inf[0]);
	MUST(f->max_abs == g->max_abs && f->max_ulp == g->max_ulp);
	MUST(f->worst == g->worst);
}

static void
check_mirrors(const struct direction *d, const struct direction *back)
{
	size_t n = d->pairs.n, *at;

	MUST(back->pairs.n == n);
	/* By the entry of the first; those without, by that of the second. */
	at = calloc(2 * n + 1, sizeof(*at));
	MUST(at);
	for (size_t j = 0; j < n; j++) {
		const size_t *e = back->pairs.pairs[j].entry;

		at[e[1] == TP_NONE ? n + e[0] : e[1]] = j + 1;
	}
	for (size_t i = 0; i < n; i++) {
		const size_t *e = d->pairs.pairs[i].entry;
		size_t j = at[e[0] == TP_NONE ? n + e[1] : e[0]];

		MUST(j && back->pairs.pairs[j - 1].entry[0] == e[1]);
		check_mirror(d, i, back, j - 1);
	}
	free(at);
}

/* Whether so much may be compared that it would take long. */
static bool
is_small(const struct tp_reader *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < tp_reader_n_entries(r); i++) {
		uint64_t nbytes = tp_reader_entry(r, i)->nbytes;

		if (nbytes > 4 * FUZZ_TENSOR_BYTES - sum)
			return false;
		sum += nbytes;
	}
	return true;
}

static void
compare_both_ways(
    struct tp_reader *a, struct tp_reader *b, enum how how, unsigned choice)
{
	struct direction d, back;

	if (!is_small(a) || !is_small(b))
		return;
	compare(&d, a, b, choice);
	compare(&back, b, a, choice);
	MUST(d.done == back.done);
	for (size_t i = 0; d.done && i < d.pairs.n; i++) {
		const struct diff_pair *p = &d.pairs.pairs[i];

		if (p->entry[0] != TP_NONE && p->entry[1] != TP_NONE)
			check_pair(&d, i);
		/* Only what cannot be read is not equal to itself. */
		if ((how == ITSELF || how == CONVERTED) &&
		    d.o.tolerances.equal_nan)
			MUST(d.d.v.items[i].status == VERDICT_EQUAL ||
			     d.d.v.items[i].status == VERDICT_NOT_COMPARED);
	}
	if (d.done)
		check_mirrors(&d, &back);
	release(&d);
	release(&back);
}

/* The same model in the native format; NULL: it cannot be held. */
static struct tp_reader *
convert(struct tp_reader *r)
{
	const char *path = fuzz_path("b.tpt");
	const struct tp_transfer_options o = {
	    .create = {.force = true, .sync = TP_SYNC_NEVER},
	    .allow_loss = TP_LOSS_ALIAS | TP_LOSS_METADATA,
	    .n_threads = 1};
	struct tp_err err = TP_ERR_INIT;
	struct tp_transfer *t = NULL;
	struct tp_reader *b = NULL;

	if (fuzz_transfer(r, path, &o, &t, &err)) {
		b = fuzz_open(path, NULL, 0, &err);
		MUST(b);
	}
	tp_transfer_free(t);
	return b;
}

/* Two bytes off the end of the input: a place in what is left. */
static size_t
take_place(const uint8_t *data, size_t *n)
{
	size_t at = fuzz_choice(data, n);

	at = at << 8 | fuzz_choice(data, n);
	return *n ? at % *n : 0;
}

/* A file with one byte changed. */
static struct tp_reader *
open_changed(const uint8_t *data, size_t n, size_t at, unsigned bits)
{
	struct tp_err err = TP_ERR_INIT;
	uint8_t *copy = malloc(n + 1);
	struct tp_reader *r;

	MUST(copy);
	memcpy(copy, data, n);
	copy[at] ^= (uint8_t)bits;
	r = fuzz_open(fuzz_file("b", copy, n), NULL, 0, &err);
	free(copy);
	return r;
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	unsigned choice = fuzz_choice(data, &n), bits = 0;
	enum how how = (enum how)(choice & 3);
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *a, *b = NULL;
	size_t at = n;

	if (!engine.buffers)
		MUST(diff_engine_init(&engine));
	cli_common.quiet = true;
	if (how == CHANGED)
		bits = fuzz_choice(data, &n);
	if (how == CHANGED || how == SPLIT)
		at = take_place(data, &n);
	a = fuzz_open(
	    fuzz_file("a", data, how == SPLIT ? at : n), NULL, 0, &err);
	if (!a)
		return;
	if (how == CHANGED && n)
		b = open_changed(data, n, at, bits);
	else if (how == SPLIT)
		b = fuzz_open(fuzz_file("b", data + at, n - at), NULL, 0, &err);
	else if (how == CONVERTED)
		b = convert(a);
	if (b || how == ITSELF)
		compare_both_ways(a, b ? b : a, how, choice);
	tp_close(b);
	tp_close(a);
}
