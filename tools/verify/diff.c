/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - tp-verify diff: two models, tensor by tensor */
#include "diff.h"

#include <string.h>

#include "tp/alloc.h"
#include "tp/format.h"
#include "tp/shape.h"

#include "glob.h"
#include "verdict.h"

#define BUFFER ((size_t)1 << 20)

static const char *opt_from;
static struct cli_filter filter;

static const struct cli_option options[] = {
    {CLI_HEADING, .help = "Which tensors"},
    CLI_FILTER_OPTIONS(filter),
    {CLI_STRING, 0, "from", "FMT", &opt_from,
	.help = "read both as FMT (default: by content)"},
    {.kind = CLI_END},
};

static const char *
check(void)
{
	if (opt_from && !tp_format_find(opt_from))
		return "--from names an unknown format";
	return NULL;
}

const struct cli_app diff_app = {
    .name = "tp-verify diff",
    .synopsis = "[options] A B",
    .summary = "Compare the tensors of two models by name, across formats.",
    .options = options,
    .min_args = 2,
    .max_args = 2,
    .check = check,
};

struct job {
	struct tp_reader *r[2];
	const char *paths[2];
	struct verdict v;
	uint8_t *buf[2];
};

/* The bytes of both, as they are. */
static enum tp_status
compare_bytes(struct job *j, const size_t entries[2], bool *equal,
    int *at_fault, struct tp_err *err)
{
	struct tp_stream *s[2] = {NULL, NULL};
	enum tp_status rc = TP_OK;

	*equal = true;
	for (int i = 0; !rc && i < 2; i++) {
		*at_fault = i;
		rc = tp_stream_entry(j->r[i], entries[i], &s[i], err);
	}
	if (!rc)
		*equal = tp_stream_left(s[0]) == tp_stream_left(s[1]);
	while (!rc && *equal && tp_stream_left(s[0])) {
		uint64_t left = tp_stream_left(s[0]);
		size_t n = left < BUFFER ? (size_t)left : BUFFER;

		for (int i = 0; !rc && i < 2; i++) {
			*at_fault = i;
			rc = tp_stream_read(s[i], j->buf[i], n, err);
		}
		if (!rc)
			*equal = !memcmp(j->buf[0], j->buf[1], n);
	}
	tp_stream_close(s[0]);
	tp_stream_close(s[1]);
	return rc;
}

static void
compare_pair(struct job *j, struct verdict_item *item, const size_t entries[2])
{
	const struct tp_entry *a = tp_reader_entry(j->r[0], entries[0]);
	const struct tp_entry *b = tp_reader_entry(j->r[1], entries[1]);
	struct tp_err err = TP_ERR_INIT;
	char reason[TP_ERR_MSG_SIZE + 80];
	bool equal = false;
	int at_fault = 0;

	item->status = VERDICT_DIFFERENT;
	item->reason = reason;
	if (a->dtype != b->dtype) {
		item->kind = "dtype";
		snprintf(reason, sizeof(reason), "dtype %s, and %s",
		    tp_dtype_name(a->dtype), tp_dtype_name(b->dtype));
	} else if (a->rank != b->rank ||
		   (a->rank && memcmp(a->shape, b->shape,
				   a->rank * sizeof(*a->shape)))) {
		item->kind = "shape";
		snprintf(reason, sizeof(reason), "shape %s, and %s",
		    TP_SHAPE_TEXT(a->shape, a->rank),
		    TP_SHAPE_TEXT(b->shape, b->rank));
	} else if (compare_bytes(j, entries, &equal, &at_fault, &err)) {
		item->status = VERDICT_NOT_COMPARED;
		item->kind = "unreadable";
		item->exit = cli_report(j->paths[at_fault], &err);
		snprintf(reason, sizeof(reason), "%s: %s",
		    tp_status_text(err.status), err.msg);
	} else if (!equal) {
		item->kind = "value";
		snprintf(reason, sizeof(reason), "values differ");
	} else {
		item->status = VERDICT_EQUAL;
		item->reason = NULL;
	}
	verdict_add(&j->v, item);
}

static struct verdict_item
item_of(const struct tp_entry *e)
{
	return (struct verdict_item){.name = e->name,
	    .status = VERDICT_EXCLUDED,
	    .n_elems = e->n_elems,
	    .nbytes = e->nbytes,
	    .rank = e->rank,
	    .shape = e->shape};
}

static void
compare_all(struct job *j)
{
	for (size_t i = 0; i < tp_reader_n_entries(j->r[0]); i++) {
		const struct tp_entry *e = tp_reader_entry(j->r[0], i);
		size_t other = tp_reader_find(j->r[1], e->name);
		struct verdict_item item = item_of(e);

		if (cli_filter_takes(&filter, e->name)) {
			item.status = VERDICT_MISSING;
			if (other != TP_NONE) {
				compare_pair(j, &item, (size_t[2]){i, other});
				continue;
			}
		}
		verdict_add(&j->v, &item);
	}
	for (size_t i = 0; i < tp_reader_n_entries(j->r[1]); i++) {
		const struct tp_entry *e = tp_reader_entry(j->r[1], i);
		struct verdict_item item = item_of(e);

		if (tp_reader_find(j->r[0], e->name) != TP_NONE)
			continue;
		if (cli_filter_takes(&filter, e->name))
			item.status = VERDICT_EXTRA;
		verdict_add(&j->v, &item);
	}
}

int
diff_run(int n_args, char **argv)
{
	struct tp_open_options open = {.format = opt_from, .warn = cli_warn};
	struct job j = {.paths = {argv[0], argv[1]}};
	struct tp_err err = TP_ERR_INIT;
	int rc;

	(void)n_args;
	verdict_init(&j.v, "diff", argv[0], argv[1]);
	for (int i = 0; i < 2; i++) {
		j.buf[i] = tp_mem_array(NULL, BUFFER, 1);
		if (!j.buf[i])
			tp_fail(&err, TP_ENOMEM, TP_NO_OFFSET, "no memory");
		if (!j.buf[i] || tp_open(j.paths[i], &open, &j.r[i], &err)) {
			cli_report(j.paths[i], &err);
			verdict_fail(&j.v, j.paths[i], &err);
		}
	}
	if (j.r[0] && j.r[1]) {
		compare_all(&j);
		verdict_put_items(stdout, &j.v);
	}
	verdict_put_totals(stdout, &j.v);
	rc = verdict_exit(&j.v);
	verdict_release(&j.v);
	for (int i = 0; i < 2; i++) {
		tp_close(j.r[i]);
		tp_mem_free(NULL, j.buf[i], BUFFER, 1);
	}
	cli_list_release(&filter.include);
	cli_list_release(&filter.exclude);
	return rc;
}
