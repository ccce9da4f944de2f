/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_plan.c - the choices of each tensor, and which of them is taken */
#include "quantize_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tp/checked.h"

#include "plugin.h"
#include "wrapped.h"

#include "banned.h"

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a plan");
}

/*
 * Find, for each tensor, the first one that is the same view of the same bytes.
 */
static enum tp_status
find_leaders(struct tp_plan *p, struct tp_err *err)
{
	size_t n_storages = tp_reader_n_storages(p->r);
	size_t *first = tp_mem_array(p->alloc, n_storages + 1, sizeof(*first));

	if (!first)
		return no_memory(err);
	for (size_t i = 0; i < n_storages; i++)
		first[i] = TP_NONE;
	for (size_t i = 0; i < p->n; i++) {
		const struct tp_entry *e = tp_reader_entry(p->r, i);
		size_t *at = &first[e->storage];

		if (*at == TP_NONE)
			*at = i;
		p->rows[i].leader =
		    tpi_same_view(tp_reader_entry(p->r, *at), e) ? *at : i;
	}
	tp_mem_free(p->alloc, first, n_storages + 1, sizeof(*first));
	return TP_OK;
}

enum tp_status
tp_plan_new(const struct tp_alloc *alloc, const struct tp_reader *r,
    struct tp_plan **out, struct tp_err *err)
{
	struct tp_plan *p = tp_mem_array(alloc, 1, sizeof(*p));
	enum tp_status rc = TP_OK;

	*out = NULL;
	if (!p)
		return no_memory(err);
	p->alloc = alloc;
	p->r = r;
	p->n = tp_reader_n_entries(r);
	p->rows = tp_mem_array(alloc, p->n, sizeof(*p->rows));
	rc = p->rows ? find_leaders(p, err) : no_memory(err);
	for (size_t i = 0; !rc && i < p->n; i++) {
		p->rows[i].n_choices = 1;
		p->rows[i].choices[0] =
		    (struct tpi_choice){.recipe.why = "no scheme was offered",
			.nbytes = tp_reader_entry(r, i)->nbytes,
			.sqnr = INFINITY};
	}
	if (rc) {
		tp_plan_free(p);
		return rc;
	}
	*out = p;
	return TP_OK;
}

void
tp_plan_free(struct tp_plan *p)
{
	if (!p)
		return;
	tp_mem_free(p->alloc, p->rows, p->n, sizeof(*p->rows));
	tp_mem_free(p->alloc, p, 1, sizeof(*p));
}

const struct tp_recipe *
tp_plan_recipe(const struct tp_plan *p, size_t entry)
{
	const struct tpi_plan_row *row = &p->rows[entry];

	return &row->choices[row->chosen].recipe;
}

/*
 * ---- choices ----
 */

/* a is as small and as exact as b. */
static bool
covers(const struct tpi_choice *a, const struct tpi_choice *b)
{
	return a->nbytes <= b->nbytes && a->sqnr >= b->sqnr;
}

/* Put a choice in its place; what it covers goes. That all stays as it is is
 * then a choice and has no other reason. */
static enum tp_status
add_choice(
    struct tpi_plan_row *row, const struct tpi_choice *c, struct tp_err *err)
{
	unsigned n = 0, at;

	for (unsigned i = 0; i < row->n_choices; i++)
		if (covers(&row->choices[i], c))
			return TP_OK;
	for (unsigned i = 0; i < row->n_choices; i++)
		if (!covers(c, &row->choices[i]))
			row->choices[n++] = row->choices[i];
	if (n > 0 && !row->choices[n - 1].recipe.scheme)
		row->choices[n - 1].recipe.why = "the plan keeps it";
	row->n_choices = n;
	if (n == TP_PLAN_CHOICES)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "a plan has %d choices for a tensor at most",
		    TP_PLAN_CHOICES);
	for (at = n; at > 0 && row->choices[at - 1].nbytes > c->nbytes; at--)
		row->choices[at] = row->choices[at - 1];
	row->choices[at] = *c;
	row->n_choices++;
	return TP_OK;
}

/* A tensor that was kept tells why, unless it has better to tell. */
static void
note_why(struct tpi_plan_row *row, const char *why)
{
	struct tpi_choice *kept = &row->choices[row->n_choices - 1];

	if (row->n_choices == 1 && !kept->recipe.scheme && why)
		kept->recipe.why = why;
}

enum tp_status
tp_plan_offer(
    struct tp_plan *p, const struct tp_reader *quantized, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < p->n; i++) {
		const struct tp_quantized_item *item =
		    tp_quantized_item(quantized, i);
		struct tpi_choice c = {.recipe = item->recipe,
		    .nbytes = item->nbytes_after,
		    .sqnr = tp_compare_sqnr(&item->errors)};

		if (item->recipe.calibrate == TP_CALIBRATE_PERCENTILE)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "plans know no percentiles");
		else if (!item->recipe.scheme)
			note_why(&p->rows[i], item->recipe.why);
		else if (!isnan(c.sqnr))
			rc = add_choice(&p->rows[i], &c, err);
	}
	return rc;
}

/* Does it have the choices of its leader? By name it may be left out. */
static bool
follows(const struct tp_plan *p, size_t i)
{
	const struct tpi_plan_row *row = &p->rows[i];
	const struct tpi_plan_row *leader = &p->rows[row->leader];

	if (row->leader == i || row->n_choices != leader->n_choices)
		return false;
	for (unsigned k = 0; k < row->n_choices; k++)
		if (row->choices[k].nbytes != leader->choices[k].nbytes ||
		    row->choices[k].recipe.scheme !=
			leader->choices[k].recipe.scheme)
			return false;
	return true;
}

void
tp_plan_reach(struct tp_plan *p, double sqnr)
{
	for (size_t i = 0; i < p->n; i++) {
		struct tpi_plan_row *row = &p->rows[i];

		row->chosen = 0;
		while (row->chosen + 1 < row->n_choices &&
		       row->choices[row->chosen].sqnr < sqnr)
			row->chosen++;
	}
}

/*
 * ---- within a size ----
 *
 * A step raises a tensor from one choice to the next. Taken in the order of the
 * SQNR that they raise, they visit for each bound t the smallest choices that
 * all reach t: so the first that does not fit has found the best worst case.
 */

struct step {
	double sqnr; /* before */
	size_t row;
	unsigned to;
};

static int
compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->sqnr < y->sqnr || x->sqnr > y->sqnr)
		return x->sqnr < y->sqnr ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/*
 * Bytes of all tensors as they are chosen; false if they are too many to count.
 */
static bool
count_bytes(const struct tp_plan *p, uint64_t *total)
{
	*total = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct tpi_plan_row *row = &p->rows[i];

		if (tp_add_u64(*total, row->choices[row->chosen].nbytes, total))
			return false;
	}
	return true;
}

static size_t
list_steps(const struct tp_plan *p, struct step *steps)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		for (unsigned k = 1; k < p->rows[i].n_choices; k++)
			if (!follows(p, i))
				steps[n++] = (struct step){
				    p->rows[i].choices[k - 1].sqnr, i, k};
	return n;
}

/* followers[i]: tensors that tensor i chooses for, itself among them. */
static void
count_followers(const struct tp_plan *p, uint64_t *followers)
{
	for (size_t i = 0; i < p->n; i++)
		followers[follows(p, i) ? p->rows[i].leader : i]++;
}

/* Take all steps that fit into `left`. */
static void
take_steps(struct tp_plan *p, const struct step *steps, size_t n,
    const uint64_t *followers, uint64_t left)
{
	for (size_t i = 0; i < n; i++) {
		struct tpi_plan_row *row = &p->rows[steps[i].row];
		const struct tpi_choice *c = &row->choices[steps[i].to];
		uint64_t more = c->nbytes - c[-1].nbytes;

		/* A tensor that could not be raised stays where it is. */
		if (row->chosen + 1 != steps[i].to ||
		    more > left / followers[steps[i].row])
			continue;
		row->chosen = steps[i].to;
		left -= more * followers[steps[i].row];
	}
	for (size_t i = 0; i < p->n; i++)
		if (follows(p, i))
			p->rows[i].chosen = p->rows[p->rows[i].leader].chosen;
}

enum tp_status
tp_plan_fit(struct tp_plan *p, uint64_t nbytes, struct tp_err *err)
{
	size_t n_steps = 0, max;
	struct step *steps = NULL;
	uint64_t *followers = NULL, least;
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < p->n; i++)
		p->rows[i].chosen = 0;
	if (!count_bytes(p, &least))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET, "too many bytes");
	if (least > nbytes)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "the tensors cannot be made to fit into %" PRIu64
		    " bytes; the least is %" PRIu64,
		    nbytes, least);
	if (tp_mul_size(p->n, TP_PLAN_CHOICES, &max))
		return no_memory(err);
	steps = tp_mem_array(p->alloc, max, sizeof(*steps));
	followers = tp_mem_array(p->alloc, p->n, sizeof(*followers));
	if (!steps || !followers) {
		rc = no_memory(err);
	} else {
		n_steps = list_steps(p, steps);
		count_followers(p, followers);
		qsort(steps, n_steps, sizeof(*steps), compare_steps);
		take_steps(p, steps, n_steps, followers, nbytes - least);
	}
	tp_mem_free(p->alloc, steps, max, sizeof(*steps));
	tp_mem_free(p->alloc, followers, p->n, sizeof(*followers));
	return rc;
}
