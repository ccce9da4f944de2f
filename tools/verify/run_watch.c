/* SPDX-License-Identifier: Apache-2.0 */
/* run_watch.c - looking on while a model is computed */
#include "run_watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tp/copy.h"
#include "tp/print.h"
#include "tp/shape.h"
#include "tp/stats.h"

#include "cli.h"
#include "text.h"

/*
 * ---- values as text ----
 */

static void
put_range(FILE *out, const struct tp_tensor *t)
{
	const enum tp_dtype dtype = tp_tensor_dtype(t);
	struct tp_tensor *packed = NULL;
	struct tp_stats s = {0};

	if (tp_tensor_numel(t) == 0 || tp_tensor_contiguous(t, &packed, NULL))
		return;
	if (!tp_stats_add(&s, dtype, tp_tensor_data(packed),
		(size_t)tp_tensor_numel(t), 1, NULL)) {
		if (s.n_finite)
			fprintf(out, " %.6g..%.6g", s.min, s.max);
		if (s.n_nan)
			fprintf(out, " %" PRIu64 " NaN", s.n_nan);
		if (s.n_pos_inf + s.n_neg_inf)
			fprintf(
			    out, " %" PRIu64 " Inf", s.n_pos_inf + s.n_neg_inf);
	}
	tp_tensor_free(packed);
}

void
run_put_value(FILE *out, const struct tp_value *v, bool with_range)
{
	switch (v->kind) {
	case TP_VALUE_NONE:
		putc('-', out);
		return;
	case TP_VALUE_SEQUENCE:
	case TP_VALUE_OPTIONAL:
		fprintf(out, "%s of %zu", tp_value_kind_name(v->kind),
		    tp_list_count(v->list));
		return;
	case TP_VALUE_TENSOR:
	case TP_VALUE_STRINGS:
		break;
	}
	fprintf(out, "%s %s",
	    v->kind == TP_VALUE_STRINGS
		? "string"
		: tp_dtype_name(tp_tensor_dtype(v->tensor)),
	    TP_SHAPE_TEXT(
		tp_tensor_sizes(v->tensor), tp_tensor_rank(v->tensor)));
	if (with_range && v->kind == TP_VALUE_TENSOR)
		put_range(out, v->tensor);
}

/* A tp_write_fn. */
static int
write_text(void *ctx, const char *s, size_t n)
{
	return fwrite(s, 1, n, ctx) == n ? 0 : -1;
}

static void
print_strings(
    FILE *out, const struct tp_tensor *t, const struct tp_strings *strings)
{
	enum { MOST = 1000 };
	struct tp_tensor *packed = NULL;
	const uint64_t *numbers;
	uint64_t n = tp_tensor_numel(t);

	if (tp_tensor_contiguous(t, &packed, NULL))
		return;
	numbers = tp_tensor_data(packed);
	for (uint64_t i = 0; i < n && i < MOST; i++) {
		fputs(i ? " '" : "'", out);
		cli_put_name(
		    out, tp_strings_at(strings, numbers[i]), CLI_NAME_COLUMNS);
		putc('\'', out);
	}
	if (n > MOST)
		fputs(" ...", out);
	tp_tensor_free(packed);
}

void
run_print_value(
    FILE *out, const struct tp_value *v, const struct tp_strings *strings)
{
	if (v->kind == TP_VALUE_STRINGS)
		print_strings(out, v->tensor, strings);
	else if (v->kind == TP_VALUE_TENSOR &&
		 tp_tensor_print(v->tensor, NULL, write_text, out, NULL))
		fputs("(cannot be printed)", out);
	for (size_t i = 0; v->list && i < tp_list_count(v->list); i++) {
		if (i)
			putc('\n', out);
		run_print_value(out, tp_list_at(v->list, i), strings);
	}
	if (!v->list)
		putc('\n', out);
}

/*
 * ---- the watch ----
 */

static void
put_values(FILE *out, const struct tp_str *names, const struct tp_value *values,
    size_t n, bool with_range)
{
	for (size_t i = 0; i < n; i++) {
		if (!names[i].len)
			continue;
		fputs(i ? ", " : " ", out);
		cli_put_name(out, names[i], 60);
		putc(' ', out);
		run_put_value(out, &values[i], with_range);
	}
}

/* "loop/body: 3 Add 'sum': a f32 [2], b f32 [2] -> c f32 [2] 0..1 (0.01 ms)" */
static void
put_node(FILE *out, const struct tp_watched *w)
{
	const struct tp_node *node = w->node;

	if (w->scope.len) {
		cli_put_name(out, w->scope, CLI_NAME_COLUMNS);
		fputs(": ", out);
	}
	fprintf(out, "%zu ", w->index);
	cli_put_name(out, node->op, CLI_NAME_COLUMNS);
	if (node->name.len) {
		fputs(" '", out);
		cli_put_name(out, node->name, 60);
		putc('\'', out);
	}
	putc(':', out);
	put_values(out, node->inputs, w->inputs, node->n_inputs, false);
	fputs(" ->", out);
	put_values(out, node->outputs, w->outputs, node->n_outputs, true);
	fprintf(out, " (%.3f ms)\n", w->seconds * 1e3);
}

static bool
is_meant(const struct tp_node *node, const char *name)
{
	if (!tp_str_cmp(node->name, tp_str(name)))
		return true;
	for (size_t i = 0; i < node->n_outputs; i++)
		if (!tp_str_cmp(node->outputs[i], tp_str(name)))
			return true;
	return false;
}

/* To be freed with free; NULL without memory. */
static char *
make_name(const struct tp_watched *seen, size_t i, size_t *len)
{
	struct tp_str name = seen->node->outputs[i], scope = seen->scope;
	size_t n = scope.len ? scope.len + 1 : 0;
	char *text = malloc(n + name.len + 1);

	if (!text)
		return NULL;
	if (n) {
		memcpy(text, scope.s, scope.len);
		text[scope.len] = ':';
	}
	memcpy(text + n, name.s, name.len);
	text[n + name.len] = '\0';
	*len = n + name.len;
	return text;
}

enum tp_status
run_watch_outputs(const struct tp_watched *seen, run_output_fn *fn, void *ctx,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < seen->node->n_outputs && !rc; i++) {
		size_t len;
		char *name;

		if (!seen->node->outputs[i].len)
			continue;
		name = make_name(seen, i, &len);
		if (!name)
			return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "out of memory for a name");
		rc = fn(ctx, seen, i, (struct tp_str){name, len}, err);
		free(name);
	}
	return rc;
}

/* A run_output_fn. */
static enum tp_status
spool_output(void *ctx, const struct tp_watched *seen, size_t i,
    struct tp_str name, struct tp_err *err)
{
	struct run_watch *w = ctx;

	return run_spool_add(
	    w->spool, name, &seen->outputs[i], w->strings, err);
}

static void
print_outputs(
    FILE *out, const struct tp_watched *seen, const struct tp_strings *strings)
{
	put_node(out, seen);
	for (size_t i = 0; i < seen->node->n_outputs; i++) {
		if (!seen->node->outputs[i].len)
			continue;
		cli_put_name(out, seen->node->outputs[i], CLI_NAME_COLUMNS);
		fputs(":\n", out);
		run_print_value(out, &seen->outputs[i], strings);
	}
}

enum tp_status
run_watch_node(void *ctx, const struct tp_watched *seen, struct tp_err *err)
{
	struct run_watch *w = ctx;
	enum tp_status rc = TP_OK;

	if (w->trace)
		put_node(w->trace, seen);
	if (w->spool)
		rc = run_watch_outputs(seen, spool_output, w, err);
	if (!rc && w->more)
		rc = w->more(w->more_ctx, seen, err);
	if (rc || !w->stop_at || !is_meant(seen->node, w->stop_at))
		return rc;
	w->stopped = true;
	print_outputs(cli_common.json ? stderr : stdout, seen, w->strings);
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "stopped at '%s', as --stop-at says", TP_BRIEF(tp_str(w->stop_at)));
}
