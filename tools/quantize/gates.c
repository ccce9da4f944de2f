/* SPDX-License-Identifier: Apache-2.0 */
/* gates.c - figures of tensors against the bounds of the command line */
#include "quantize/gates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glob.h"

static const char *const names[] = {
    [METRIC_SQNR] = "sqnr",
    [METRIC_COSINE] = "cosine",
    [METRIC_MAXABS] = "maxabs",
    [METRIC_SATURATED] = "saturated",
};
#define N_METRICS (sizeof(names) / sizeof(names[0]))

const char *
metric_name(enum metric metric)
{
	return names[metric];
}

double
metric_of(enum metric metric, const struct tp_quantized_item *item)
{
	switch (metric) {
	case METRIC_SQNR:
		return tp_compare_sqnr(&item->errors);
	case METRIC_COSINE:
		return tp_compare_cosine(&item->errors);
	case METRIC_MAXABS:
		return item->errors.max_abs;
	case METRIC_SATURATED:
		return (double)item->n_saturated;
	}
	return NAN;
}

static const char *
complain(const struct cli_list_item *item, const char *what)
{
	static char message[300];

	snprintf(message, sizeof(message), "--%s %.120s: %s",
	    item->option->name, item->text, what);
	return message;
}

/* The last '<' or '>' divides, a '=' before it ends the pattern. */
static const char *
parse(const struct cli_list_item *item, struct gate *gate)
{
	const char *text = item->text, *name = text, *at = NULL;
	size_t len;
	char *end;

	for (const char *p = text; *p; p++)
		if (*p == '<' || *p == '>')
			at = p;
	if (!at)
		return complain(item, "no < or > after a metric");
	for (const char *p = text; p < at; p++)
		if (*p == '=')
			name = p + 1;
	if (name > text)
		gate->pattern =
		    (struct tp_str){text, (size_t)(name - 1 - text)};
	len = (size_t)(at - name);
	for (size_t i = 0; i <= N_METRICS; i++) {
		if (i == N_METRICS)
			return complain(item,
			    "metrics are sqnr, cosine, maxabs, saturated");
		if (strlen(names[i]) == len && !memcmp(names[i], name, len)) {
			gate->metric = (enum metric)i;
			break;
		}
	}
	gate->above = *at == '>';
	gate->value = strtod(at + 1, &end);
	gate->text = text;
	if (end == at + 1 || *end || isnan(gate->value))
		return complain(item, "no number after < or >");
	return NULL;
}

const char *
gates_parse(struct gates *g)
{
	g->rows = calloc(g->list.n + 1, sizeof(*g->rows));
	if (!g->rows)
		return cli_no_memory;
	for (size_t i = 0; i < g->list.n; i++) {
		const char *wrong = parse(&g->list.items[i], &g->rows[i]);

		if (wrong)
			return wrong;
	}
	return NULL;
}

void
gates_release(struct gates *g)
{
	free(g->rows);
	g->rows = NULL;
	cli_list_release(&g->list);
}

const struct gate *
gates_hit(const struct gates *g, const struct tp_quantized_item *item)
{
	for (size_t i = 0; i < g->list.n; i++) {
		const struct gate *gate = &g->rows[i];
		double v = metric_of(gate->metric, item);

		if (gate->pattern.s && !cli_glob(gate->pattern, item->name))
			continue;
		if (gate->above ? v > gate->value : v < gate->value)
			return gate;
	}
	return NULL;
}
