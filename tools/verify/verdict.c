/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - items, their counts, and the exit status they make */
#include "verdict.h"

#include <stdlib.h>
#include <string.h>

#include "tp/alloc.h"

static const char *const status_names[VERDICT_STATUS_COUNT] = {
    [VERDICT_EQUAL] = "equal",
    [VERDICT_DIFFERENT] = "different",
    [VERDICT_MISSING] = "missing",
    [VERDICT_EXTRA] = "extra",
    [VERDICT_NOT_COMPARED] = "not compared",
    [VERDICT_EXCLUDED] = "excluded",
    [VERDICT_RANDOM] = "random",
    [VERDICT_EXPECTED] = "expected to differ",
};

static const int status_exits[VERDICT_STATUS_COUNT] = {
    [VERDICT_EQUAL] = CLI_OK,
    [VERDICT_DIFFERENT] = CLI_DIFFERS,
    [VERDICT_MISSING] = CLI_DIFFERS,
    [VERDICT_EXTRA] = CLI_DIFFERS,
    [VERDICT_NOT_COMPARED] = CLI_UNSUPPORTED,
    [VERDICT_EXCLUDED] = CLI_OK,
    [VERDICT_RANDOM] = CLI_OK,
    [VERDICT_EXPECTED] = CLI_OK,
};

const char *
verdict_status_name(enum verdict_status status)
{
	return status_names[status];
}

void
verdict_init(struct verdict *v, const char *command, const char *first,
    const char *second)
{
	*v = (struct verdict){
	    .command = command, .paths = {first, second}, .error = TP_ERR_INIT};
}

static void
free_text(const char *text)
{
	if (text)
		tp_mem_free(NULL, (char *)(uintptr_t)text, strlen(text) + 1, 1);
}

void
verdict_release(struct verdict *v)
{
	for (size_t i = 0; i < v->n_items; i++) {
		free_text(v->items[i].reason);
		free_text(v->items[i].warning);
	}
	for (size_t i = 0; i < v->n_remarks; i++)
		free_text(v->remarks[i].text);
	if (v->items)
		tp_mem_free(NULL, v->items, v->cap_items, sizeof(*v->items));
	if (v->remarks)
		tp_mem_free(
		    NULL, v->remarks, v->cap_remarks, sizeof(*v->remarks));
	*v = (struct verdict){.command = NULL};
}

/* A copy, or NULL: of NULL, or without memory. */
static const char *
keep_text(struct verdict *v, const char *text)
{
	size_t n = text ? strlen(text) + 1 : 0;
	char *copy = n ? tp_mem_array(NULL, n, 1) : NULL;

	if (copy)
		memcpy(copy, text, n);
	else
		v->no_memory |= text != NULL;
	return copy;
}

/* Room for one more of size bytes; returns the array, or NULL. */
static void *
grow(struct verdict *v, void *array, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap ? *cap * 2 : 64;
	void *grown;

	if (n < *cap)
		return array;
	grown = tp_mem_grow(NULL, array, *cap, more, size);
	if (grown)
		*cap = more;
	else
		v->no_memory = true;
	return grown;
}

/* A reason for not comparing, for example CLI_INPUT, stands for the status. */
static int
exit_of(const struct verdict_item *item)
{
	if (item->status == VERDICT_NOT_COMPARED && item->exit > CLI_DIFFERS)
		return item->exit;
	return cli_worst(item->exit, status_exits[item->status]);
}

void
verdict_add(struct verdict *v, const struct verdict_item *item)
{
	struct verdict_item *items =
	    grow(v, v->items, v->n_items, &v->cap_items, sizeof(*v->items));
	struct verdict_item *kept;

	v->totals[item->status].tensors++;
	v->totals[item->status].elements += item->n_elems;
	v->exit = cli_worst(v->exit, exit_of(item));
	if (!items)
		return;
	v->items = items;
	kept = &v->items[v->n_items++];
	*kept = *item;
	kept->exit = exit_of(item);
	kept->reason = keep_text(v, item->reason);
	kept->warning = keep_text(v, item->warning);
}

void
verdict_remark(struct verdict *v, const char *kind, int exit, const char *text)
{
	struct verdict_remark *remarks = grow(
	    v, v->remarks, v->n_remarks, &v->cap_remarks, sizeof(*v->remarks));

	v->exit = cli_worst(v->exit, exit);
	if (!remarks)
		return;
	v->remarks = remarks;
	v->remarks[v->n_remarks++] =
	    (struct verdict_remark){kind, keep_text(v, text), exit};
}

void
verdict_fail(struct verdict *v, const char *path, const struct tp_err *err)
{
	v->exit = cli_worst(v->exit, cli_exit_of(err->status));
	if (v->error.status)
		return;
	v->error = *err;
	v->error_path = path;
}

struct verdict_totals
verdict_compared(const struct verdict *v)
{
	static const enum verdict_status compared[] = {
	    VERDICT_EQUAL, VERDICT_DIFFERENT, VERDICT_RANDOM, VERDICT_EXPECTED};
	struct verdict_totals sum = {0, 0};

	for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++) {
		sum.tensors += v->totals[compared[i]].tensors;
		sum.elements += v->totals[compared[i]].elements;
	}
	return sum;
}

struct verdict_figure
verdict_u64(const char *key, uint64_t value)
{
	return (struct verdict_figure){key, VERDICT_U64, {.u64 = value}};
}

struct verdict_figure
verdict_f64(const char *key, double value)
{
	return (struct verdict_figure){key, VERDICT_F64, {.f64 = value}};
}

struct verdict_figure
verdict_text(const char *key, const char *value)
{
	return (struct verdict_figure){key, VERDICT_TEXT, {.text = value}};
}

int
verdict_exit(const struct verdict *v)
{
	int exit = v->exit;

	if (v->no_memory)
		exit = cli_worst(exit, CLI_INPUT);
	/* Missing and extra tensors are a finding of their own. */
	if (exit == CLI_OK && !v->excluded && verdict_compared(v).tensors == 0)
		exit = CLI_UNSUPPORTED;
	return exit;
}

unsigned
verdict_coordinates(
    const int64_t *shape, unsigned rank, uint64_t n, uint64_t at[TP_MAX_RANK])
{
	for (unsigned d = rank; d-- > 0;) {
		if (shape[d] <= 0)
			return 0;
		at[d] = n % (uint64_t)shape[d];
		n /= (uint64_t)shape[d];
	}
	return rank;
}
