/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - who is told, and where it is written
 *
 * A report replaces a file only if that is a report of this program already: a
 * model whose name was given by mistake stays what it is.
 */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli_file.h"
#include "text.h"

/* Both kinds of report say so near their beginning. */
#define MARK "tp-verify"
#define MARK_WITHIN 256

typedef int put_fn(FILE *out, const struct verdict *v, size_t n, int status);

const char *
report_status_name(const struct verdict *v, enum verdict_status status)
{
	static const char *const checked[VERDICT_STATUS_COUNT] = {
	    [VERDICT_EQUAL] = "passed",
	    [VERDICT_DIFFERENT] = "failed",
	    [VERDICT_NOT_COMPARED] = "not checked",
	};
	static const char *const summed[VERDICT_STATUS_COUNT] = {
	    [VERDICT_DIFFERENT] = "changed",
	    [VERDICT_EXTRA] = "new",
	};
	static const char *const computed[VERDICT_STATUS_COUNT] = {
	    [VERDICT_EQUAL] = "passed",
	    [VERDICT_DIFFERENT] = "failed",
	    [VERDICT_NOT_COMPARED] = "not run",
	};
	const char *name = NULL;

	if (!strcmp(v->command, "run") || !strcmp(v->command, "op"))
		name = computed[status];
	if (!strcmp(v->command, "check"))
		name = checked[status];
	if (!strcmp(v->command, "manifest"))
		name = summed[status];
	return name ? name : verdict_status_name(status);
}

char *
report_title(const struct verdict *v)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fputs(cli_path_text(v->paths[0]), f);
	if (v->paths[1])
		fprintf(f, " and %s", cli_path_text(v->paths[1]));
	/* Without memory there may be no text, and nobody says so. */
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

const char *
report_why(const struct verdict *v, char buf[REPORT_WHY_SIZE])
{
	bool told = false;

	if (v->error.status) {
		char at[40] = "";

		if (v->error.offset != TP_NO_OFFSET)
			snprintf(at, sizeof(at), " at byte %" PRIu64,
			    v->error.offset);
		snprintf(buf, REPORT_WHY_SIZE, "%s%s: %s",
		    tp_status_text(v->error.status), at, v->error.msg);
		return buf;
	}
	if (v->no_memory)
		return "out of memory";
	for (size_t i = 0; i < v->n_items && !told; i++)
		told = v->items[i].exit != CLI_OK;
	for (size_t i = 0; i < v->n_remarks && !told; i++)
		told = v->remarks[i].exit != CLI_OK;
	if (told || verdict_exit(v) == CLI_OK)
		return NULL;
	return verdict_compared(v).tensors ? "failed"
					   : "no tensor was looked at";
}

/* True if nothing is lost when the file at path is replaced. */
static bool
may_replace(const char *path)
{
	char head[MARK_WITHIN + 1];
	FILE *f = fopen(path, "rb");
	size_t n;

	if (!f)
		return errno == ENOENT;
	n = fread(head, 1, MARK_WITHIN, f);
	fclose(f);
	head[n] = '\0';
	return n == 0 ||
	       ((head[0] == '{' || head[0] == '<') && strstr(head, MARK));
}

struct content {
	put_fn *put;
	const struct verdict *v;
	size_t n;
	int status;
};

/* A cli_put_fn */
static int
put_content(FILE *out, void *ctx)
{
	const struct content *c = ctx;

	return c->put(out, c->v, c->n, c->status);
}

static int
write_file(const char *path, put_fn *put, const struct verdict *v, size_t n,
    int status)
{
	struct content c = {put, v, n, status};
	struct stat st;
	int errnum;

	if ((stat(path, &st) || S_ISREG(st.st_mode)) && !may_replace(path)) {
		cli_message_about(
		    path, "is there and is no report: it is not replaced");
		return CLI_OUTPUT;
	}
	errnum = cli_write_file(path, put_content, &c);
	if (!errnum)
		return CLI_OK;
	cli_message_about(path, "%s", strerror(errnum));
	return CLI_OUTPUT;
}

void
report_plan(const struct report_options *o, struct sandbox_plan *plan)
{
	sandbox_plan_add(plan, SANDBOX_WRITE, o->json);
	sandbox_plan_add(plan, SANDBOX_WRITE, o->junit);
}

int
report_all(const struct report_options *o, const struct verdict *v, size_t n,
    int status)
{
	const char *actions = getenv("GITHUB_ACTIONS");
	int rc = status;

	if (cli_common.json)
		report_json(stdout, v, n, status);
	if (o->json)
		rc = cli_worst(
		    rc, write_file(o->json, report_json, v, n, status));
	if (o->junit)
		rc = cli_worst(
		    rc, write_file(o->junit, report_junit, v, n, status));
	if (actions && *actions)
		report_github(stderr, v, n);
	return rc;
}

int
report_unreadable(const struct report_options *o, const char *command,
    const char *path, const struct tp_err *err)
{
	struct verdict v;
	int rc;

	cli_report(path, err);
	verdict_init(&v, command, path, NULL);
	verdict_fail(&v, path, err);
	rc = report_all(o, &v, 1, verdict_exit(&v));
	verdict_release(&v);
	return rc;
}
