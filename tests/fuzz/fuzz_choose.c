/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_choose.c - a plan of two schemes
 *
 * What fits is no larger than asked for, and no other choice that fits has a
 * better worst tensor. What reaches a bound does so with the smallest choices.
 * What is written reads back the same.
 */
#include "fuzz_choose.h"

#include <math.h>
#include <string.h>

#include "formats/quantize_plan.h"
#include "fuzz.h"

static const struct tpi_choice *
chosen(const struct tp_plan *p, size_t i)
{
	const struct tpi_plan_row *row = &p->rows[i];

	MUST(row->chosen < row->n_choices);
	MUST(tp_plan_recipe(p, i) == &row->choices[row->chosen].recipe);
	return &row->choices[row->chosen];
}

static uint64_t
bytes_of(const struct tp_plan *p)
{
	uint64_t total = 0;

	for (size_t i = 0; i < p->n; i++)
		total += chosen(p, i)->nbytes;
	return total;
}

static double
worst_of(const struct tp_plan *p)
{
	double worst = INFINITY;

	for (size_t i = 0; i < p->n; i++)
		worst = fmin(worst, chosen(p, i)->sqnr);
	return worst;
}

/* Choices ascend, and the last is exact. */
static void
check_rows(const struct tp_plan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct tpi_plan_row *row = &p->rows[i];

		for (unsigned k = 1; k < row->n_choices; k++) {
			const struct tpi_choice *c = &row->choices[k];

			MUST(c->nbytes > c[-1].nbytes);
			MUST(c->sqnr > c[-1].sqnr);
		}
		MUST(isinf(row->choices[row->n_choices - 1].sqnr));
	}
}

static void
check_reach(struct tp_plan *p, double sqnr)
{
	tp_plan_reach(p, sqnr);
	for (size_t i = 0; i < p->n; i++) {
		const struct tpi_choice *c = chosen(p, i);

		MUST(c->sqnr >= sqnr);
		MUST(c == p->rows[i].choices || c[-1].sqnr < sqnr);
	}
}

static void
check_fit(struct tp_plan *p, uint64_t nbytes)
{
	struct tp_err err = TP_ERR_INIT;
	double worst;

	MUST_OK(tp_plan_fit(p, nbytes, &err), &err);
	MUST(bytes_of(p) <= nbytes);
	worst = worst_of(p);
	if (isinf(worst))
		return;
	/* The smallest choices that are all better are too many. */
	tp_plan_reach(p, nextafter(worst, INFINITY));
	MUST(bytes_of(p) > nbytes);
}

/* A tp_json_write_fn: ctx is a file in memory. */
static int
append(void *ctx, const char *s, size_t n)
{
	return fwrite(s, 1, n, ctx) == n ? 0 : -1;
}

static char *
write_plan(const struct tp_plan *p, size_t *n)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, n);
	struct tp_json j;

	MUST(f);
	tp_json_init(&j, append, f, TP_JSON_COMPACT);
	tp_plan_write(p, &j);
	MUST(tp_json_finish(&j) == 0);
	MUST(fclose(f) == 0);
	return text;
}

static void
check_text(struct tp_plan *p)
{
	struct tp_err err = TP_ERR_INIT;
	size_t n = 0, m = 0;
	char *text = write_plan(p, &n), *again;

	MUST_OK(tpi_plan_parse(p, text, n, &err), &err);
	again = write_plan(p, &m);
	MUST(n == m && !memcmp(text, again, n));
	free(again);
	free(text);
}

static void
choose(struct tp_plan *p)
{
	struct tp_err err = TP_ERR_INIT;
	uint64_t least, most;

	check_rows(p);
	check_reach(p, 20);
	check_reach(p, INFINITY);
	most = bytes_of(p);
	check_reach(p, -INFINITY);
	least = bytes_of(p);
	check_fit(p, least);
	check_fit(p, least + (most - least) / 2);
	check_fit(p, most);
	MUST(!least || tp_plan_fit(p, least - 1, &err) == TP_EUNSUPPORTED);
	check_text(p);
}

/* The same while memory ends. */
static void
choose_without_memory(const struct tp_reader *r, const struct tp_reader *a)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_plan *p = NULL;
	enum tp_status rc = tp_plan_new(fuzz_failing(), r, &p, &err);

	MUST((rc == TP_OK) == (p != NULL));
	if (!rc)
		rc = tp_plan_offer(p, a, &err);
	if (!rc)
		rc = tp_plan_fit(p, UINT64_MAX, &err);
	MUST(rc == TP_OK || rc == TP_ENOMEM);
	tp_plan_free(p);
	fuzz_failed();
}

void
fuzz_choose(
    struct tp_reader *r, const struct tp_reader *a, const struct tp_reader *b)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_plan *p = NULL;

	MUST_OK(tp_plan_new(NULL, r, &p, &err), &err);
	MUST_OK(tp_plan_offer(p, a, &err), &err);
	MUST_OK(tp_plan_offer(p, b, &err), &err);
	choose(p);
	tp_plan_free(p);
	choose_without_memory(r, a);
}
