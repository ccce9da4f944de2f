/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize.c - from the model that was named to the one that was asked for
 *
 * What is read is wrapped in a reader whose tensors are narrower (or wider
 * again); that is transferred as any other.
 */
#include "quantize/quantize.h"

#include <string.h>

#include "cli_file.h"
#include "quantize/report.h"
#include "untrusted.h"

struct quantization {
	struct cli_job job;
	struct tp_reader *reader, *quantized;
	struct tp_plan *plan; /* NULL: one scheme for all */
	const char *format;   /* of the output */
};

static bool
proceed(void *ctx)
{
	(void)ctx;
	return !cli_stopped();
}

/* The format that the output will have. */
static int
find_format(struct quantization *q)
{
	const char *to = quantize_options.output.format;
	const struct tp_format *f =
	    to ? tp_format_find(to) : tp_format_for_path(q->job.path);

	if (!f) {
		tp_fail(&q->job.err, TP_EARG, TP_NO_OFFSET,
		    "the name %s tells no format", q->job.path);
		return cli_job_fail(&q->job, NULL);
	}
	q->format = tp_format_name(f);
	return CLI_OK;
}

/* What both ways have in common. */
static struct tp_quantize_options
common_options(const struct quantization *q)
{
	return (struct tp_quantize_options){
	    .ctx = &quantize_options.selection,
	    .max_memory = cli_common.max_memory,
	    .n_threads = (unsigned)cli_common.threads,
	    /* How what belongs together is told; in others it is metadata. */
	    .records = !strcmp(q->format, "native"),
	    .keep_graph = !strcmp(q->format, "onnx"),
	    .half_graph = quantize_options.graph_dtype == QUANTIZE_GRAPH_F16,
	};
}

/* Known layouts of other tools are better refused than half read. */
static int
refuse_foreign(struct quantization *q)
{
	size_t i = 0;
	const char *layout = select_foreign(q->reader, &i);

	if (!layout)
		return CLI_OK;
	tp_fail(&q->job.err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "tensor '%s' is of the %s layout, which cannot be dequantized",
	    TP_BRIEF(tp_reader_entry(q->reader, i)->name), layout);
	return cli_job_fail(&q->job, q->job.input);
}

static int
widen(struct quantization *q)
{
	struct tp_quantize_options o = common_options(q);
	const struct tp_quantized_item *item;
	size_t n = 0;
	int rc = refuse_foreign(q);

	if (rc)
		return rc;
	o.recipe = select_dequantize;
	if (tp_dequantize_reader(q->reader, &o, &q->quantized, &q->job.err))
		return cli_job_fail(&q->job, q->job.input);
	for (size_t i = 0; (item = tp_quantized_item(q->quantized, i)); i++)
		n += item->widened;
	if (n == 0)
		cli_note(
		    "nothing in %s is known to be quantized", q->job.input);
	return CLI_OK;
}

/* Choose a scheme for each tensor, or take what a file says. */
static int
make_plan(struct quantization *q, const struct tp_quantize_options *o)
{
	const struct plan_request *request = &quantize_options.plan;

	if (tp_plan_new(NULL, q->reader, &q->plan, &q->job.err))
		return cli_job_fail(&q->job, q->job.input);
	if (!plan_is_auto(request)) {
		if (tp_plan_read(q->plan, request->from, &q->job.err))
			return cli_job_fail(&q->job, request->from);
	} else if (plan_choose(request, q->reader, o, q->job.path,
		       quantize_options.output.format, q->plan, &q->job.err)) {
		return cli_job_fail(&q->job, q->job.input);
	}
	quantize_options.selection.plan = q->plan;
	if (request->save && plan_save(q->plan, request->save, &q->job.err))
		return cli_job_fail(&q->job, request->save);
	return CLI_OK;
}

static int
narrow(struct quantization *q)
{
	const struct quantize_options *want = &quantize_options;
	struct tp_quantize_options o = common_options(q);
	int rc = CLI_OK;

	o.recipe = select_recipe;
	o.accept = want->selection.skip.list.n ? select_accept : NULL;
	/* Who asks for figures, or may stop for them, waits for them. */
	o.measure_later = !want->fail_if.list.n && !want->output.dry_run;
	o.proceed = proceed;
	if (want->plan.from)
		rc = make_plan(q, &o);
	if (!rc &&
	    tp_quantize_reader(q->reader, &o, &q->quantized, &q->job.err))
		rc = cli_job_fail(&q->job, q->job.input);
	return rc;
}

static int
plan_transfer(struct quantization *q)
{
	struct tp_transfer_options o = cli_job_transfer_options(&q->job);
	int rc;

	/* Tied weights of safetensors are stored twice, as they must. */
	o.allow_loss = TP_LOSS_ALIAS;
	rc = cli_job_plan(&q->job, &q->quantized, 1, &o);
	if (rc)
		return rc;
	cli_job_put_notes(&q->job);
	if (tp_transfer_check(q->job.transfer, &q->job.err))
		return cli_job_fail(&q->job, q->job.path);
	return CLI_OK;
}

/* Tensors that --fail-if speaks of. */
static int
check_gates(struct quantization *q)
{
	const struct tp_quantized_item *item;
	size_t n = 0;

	for (size_t i = 0; (item = tp_quantized_item(q->quantized, i)); i++)
		n += item->recipe.scheme &&
		     gates_hit(&quantize_options.fail_if, item);
	if (n == 0)
		return CLI_OK;
	q->job.status = "gate";
	cli_message("--fail-if holds for %zu tensor%s; nothing was written", n,
	    n == 1 ? "" : "s");
	return CLI_DIFFERS;
}

static int
run(struct quantization *q)
{
	int rc = find_format(q);

	if (!rc)
		rc = cli_job_check_output(&q->job);
	if (!rc)
		rc = cli_job_open(&q->job, q->job.input, quantize_options.from,
		    0, &q->reader);
	if (!rc)
		rc = quantize_options.dequantize ? widen(q) : narrow(q);
	if (!rc)
		rc = plan_transfer(q);
	if (!rc)
		rc = check_gates(q);
	if (!rc && q->job.output->dry_run) {
		q->job.status = "planned";
		return CLI_OK;
	}
	if (!rc)
		rc = cli_job_write(&q->job);
	if (rc && !quantize_options.dequantize &&
	    q->job.err.status == TP_ERANGE)
		cli_note("--nonfinite keep-float keeps such tensors as they "
			 "are");
	return rc;
}

/* A cli_put_fn */
static int
put_report(FILE *out, void *ctx)
{
	report_json(out, ctx);
	return 0;
}

/* The report in a file of its own. */
static int
save_report(struct quantize_report *r, const char *path)
{
	int errnum = cli_write_file(path, put_report, r);

	if (!errnum)
		return CLI_OK;
	cli_message_about(path, "%s", strerror(errnum));
	return CLI_OUTPUT;
}

static int
report(const struct quantization *q)
{
	const struct quantize_options *o = &quantize_options;
	const struct cli_job *j = &q->job;
	struct quantize_report r = {
	    .status = j->status,
	    .input = q->job.input,
	    .output = j->path,
	    .reader = q->reader,
	    .quantized = q->quantized,
	    .transfer = j->transfer,
	    .gates = &o->fail_if,
	    .plan = o->plan.from ? &o->plan : NULL,
	    .verified = j->verified,
	    .err = strcmp(j->status, "failed") ? NULL : &j->err,
	    .err_path = j->err_path,
	};

	if (cli_common.json)
		report_json(stdout, &r);
	else if (!cli_common.quiet && q->quantized && !r.err)
		report_text(cli_job_talk(j), &r,
		    cli_common.verbose || o->output.dry_run || o->plan.from);
	return o->report ? save_report(&r, o->report) : CLI_OK;
}

static void
release(struct quantization *q)
{
	cli_job_release(&q->job);
	tp_close(q->quantized);
	tp_plan_free(q->plan);
	tp_close(q->reader);
}

static int
enter_sandbox(const struct cli_job *j)
{
	const struct quantize_options *o = &quantize_options;
	struct sandbox_plan plan = {.paths = NULL};

	sandbox_plan_add(&plan, SANDBOX_READ, j->input);
	if (o->plan.from && !plan_is_auto(&o->plan))
		sandbox_plan_add(&plan, SANDBOX_READ_ONE, o->plan.from);
	sandbox_plan_add(&plan, SANDBOX_WRITE, o->plan.save);
	sandbox_plan_add(&plan, SANDBOX_WRITE, o->report);
	if (!j->output->dry_run)
		sandbox_plan_add(&plan, SANDBOX_WRITE, j->path);
	return cli_untrusted_enter(CLI_TRUSTED, &plan);
}

int
quantize(const char *input, const char *output)
{
	struct quantization q = {.reader = NULL};
	int rc;

	if (!cli_job_init(&q.job, &quantize_options.output, output))
		return CLI_USAGE;
	q.job.input = input;
	rc = enter_sandbox(&q.job);
	if (rc == CLI_OK) {
		rc = run(&q);
		rc = cli_worst(rc, report(&q));
	}
	release(&q);
	return rc;
}
