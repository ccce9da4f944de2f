/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c - from the files that were named to the one that was asked for */
#include "convert/convert.h"

#include <stdlib.h>
#include <string.h>

#include "convert/report.h"
#include "seen.h"
#include "untrusted.h"

/* One conversion: what is open, and what becomes of it. */
struct conversion {
	struct cli_job job;
	struct tp_reader **readers;
	size_t n_readers;
	struct tp_reader *graph;
	struct tp_meta *meta; /* of --metadata */
};

/* Every input is tried, so that all bad ones are told at once. */
static int
open_inputs(struct conversion *c, char **paths, size_t n)
{
	const struct convert_options *o = &convert_options;
	unsigned flags =
	    o->constants == CONVERT_CONSTANTS_KEEP ? TP_OPEN_KEEP_CONSTANTS : 0;
	struct cli_seen seen = {NULL, 0};
	int rc = CLI_OK;

	c->readers = calloc(n, sizeof(struct tp_reader *));
	if (!c->readers) {
		tp_fail(&c->job.err, TP_ENOMEM, TP_NO_OFFSET, "no memory");
		return cli_job_fail(&c->job, NULL);
	}
	for (size_t i = 0; i < n; i++) {
		struct tp_reader *r = NULL;

		if (cli_seen_has(&seen, paths[i]))
			continue;
		rc = cli_worst(
		    rc, cli_job_open(&c->job, paths[i], o->from, flags, &r));
		if (r) {
			cli_seen_add(&seen, r);
			c->readers[c->n_readers++] = r;
		}
	}
	cli_seen_release(&seen);
	if (o->graph)
		rc = cli_worst(rc,
		    cli_job_open(&c->job, o->graph, NULL, flags, &c->graph));
	return rc;
}

static struct tp_transfer_options
transfer_options(struct conversion *c)
{
	struct convert_options *o = &convert_options;
	struct tp_transfer_options t = cli_job_transfer_options(&c->job);

	t.create.align = o->align;
	t.create.compress = (int)o->compress;
	t.create.max_shard_size = o->max_shard_size;
	t.create.external = (enum tp_external)o->external;
	/* 0 there is the default; here it is every size. */
	t.create.external_threshold =
	    o->external_threshold ? o->external_threshold : 1;
	t.choose = rules_choose;
	t.choose_ctx = &o->rules;
	t.overflow = (enum tp_overflow)o->overflow;
	t.allow_loss = o->allow_loss;
	t.drop_meta = o->no_metadata;
	t.set_meta = c->meta;
	t.n_set_meta = o->metadata.n;
	t.graph = c->graph;
	return t;
}

static bool
take_metadata(struct conversion *c, const struct cli_list *list)
{
	c->meta = calloc(list->n + 1, sizeof(*c->meta));
	for (size_t i = 0; c->meta && i < list->n; i++) {
		const char *text = list->items[i].text;
		const char *equals = strchr(text, '=');

		c->meta[i].key = (struct tp_str){text, (size_t)(equals - text)};
		c->meta[i].value = tp_str(equals + 1);
	}
	return c->meta;
}

static int
make_plan(struct conversion *c)
{
	struct tp_transfer_options o;
	int rc;

	if (!take_metadata(c, &convert_options.metadata)) {
		tp_fail(&c->job.err, TP_ENOMEM, TP_NO_OFFSET, "no memory");
		return cli_job_fail(&c->job, NULL);
	}
	o = transfer_options(c);
	rc = cli_job_plan(&c->job, c->readers, c->n_readers, &o);
	if (rc)
		return rc;
	if (rules_finish(&convert_options.rules, &c->job.err))
		return cli_job_fail(&c->job, NULL);
	cli_job_put_notes(&c->job);
	return CLI_OK;
}

/* Options that the output's format knows nothing about are a mistake. */
static int
check_options(struct cli_job *j)
{
	const struct convert_options *o = &convert_options;
	const char *format = tp_format_name(tp_transfer_format(j->transfer));
	const struct {
		bool given;
		const char *option, *format;
	} rows[] = {
	    {o->compress != 0, "compress", "native"},
	    {o->max_shard_size != 0, "max-shard-size", "safetensors"},
	    {o->external != TP_EXTERNAL_AUTO, "external-data", "onnx"},
	    {o->external_threshold != CONVERT_THRESHOLD, "external-threshold",
		"onnx"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].given && strcmp(rows[i].format, format) != 0) {
			tp_fail(&j->err, TP_EARG, TP_NO_OFFSET,
			    "--%s is for %s outputs, this one is %s",
			    rows[i].option, rows[i].format, format);
			return cli_job_fail(j, NULL);
		}
	return CLI_OK;
}

/* What would be lost is told: here, or by the report of a plan. */
static int
refuse(struct cli_job *j)
{
	size_t n = tp_transfer_n_losses(j->transfer);

	j->status = "refused";
	cli_message_about(j->path,
	    "%s cannot hold %zu thing%s; --allow-loss KIND,... accepts by kind",
	    tp_format_name(tp_transfer_format(j->transfer)), n,
	    n == 1 ? "" : "s");
	if (!j->output->dry_run)
		report_losses(stderr, j->transfer);
	return cli_exit_of(j->err.status);
}

static int
run(struct conversion *c, char **paths, size_t n_paths)
{
	struct cli_job *j = &c->job;
	int rc = open_inputs(c, paths, n_paths);

	if (!rc)
		rc = make_plan(c);
	if (!rc)
		rc = check_options(j);
	if (rc)
		return rc;
	if (j->output->dry_run)
		j->status = "planned";
	if (tp_transfer_check(j->transfer, &j->err))
		return refuse(j);
	return j->output->dry_run ? cli_job_check_output(j) : cli_job_write(j);
}

static void
report(const struct conversion *c)
{
	const struct cli_job *j = &c->job;
	bool dry = j->output->dry_run;
	struct report r = {
	    .status = j->status,
	    .readers = c->readers,
	    .n_readers = c->n_readers,
	    .graph = c->graph,
	    .path = j->path,
	    .transfer = j->transfer,
	    .verified = j->verified,
	    .err = strcmp(j->status, "failed") ? NULL : &j->err,
	    .err_path = j->err_path,
	};

	if (cli_common.json)
		report_json(stdout, &r);
	else if (!cli_common.quiet && j->transfer &&
		 (dry || !strcmp(j->status, "written")))
		report_text(cli_job_talk(j), &r, cli_common.verbose || dry);
}

static void
release(struct conversion *c)
{
	cli_job_release(&c->job);
	tp_close(c->graph);
	for (size_t i = 0; i < c->n_readers; i++)
		tp_close(c->readers[i]);
	free(c->readers);
	free(c->meta);
}

static int
enter_sandbox(const struct cli_job *j, char **paths, size_t n_paths)
{
	struct sandbox_plan plan = {.paths = NULL};

	for (size_t i = 0; i < n_paths; i++)
		sandbox_plan_add(&plan, SANDBOX_READ, paths[i]);
	sandbox_plan_add(&plan, SANDBOX_READ, convert_options.graph);
	if (!j->output->dry_run)
		sandbox_plan_add(&plan, SANDBOX_WRITE, j->path);
	return cli_untrusted_enter(CLI_TRUSTED, &plan);
}

int
convert(char **paths, size_t n_paths, const char *output)
{
	struct conversion c = {.readers = NULL};
	int rc;

	if (!cli_job_init(&c.job, &convert_options.output, output))
		return CLI_USAGE;
	rc = enter_sandbox(&c.job, paths, n_paths);
	if (rc == CLI_OK) {
		rc = run(&c, paths, n_paths);
		report(&c);
	}
	release(&c);
	return rc;
}
