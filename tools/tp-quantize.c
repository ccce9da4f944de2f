/* SPDX-License-Identifier: Apache-2.0 */
/* tp-quantize.c - a model with narrower weights, and what that costs */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tp/quantized.h"
#include "tp/transfer.h"

#include "cli.h"
#include "cli_file.h"
#include "progress.h"
#include "quantize/gates.h"
#include "quantize/plan.h"
#include "quantize/report.h"
#include "quantize/select.h"
#include "untrusted.h"

enum { SIGN_DEFAULT, SIGN_SYMMETRIC, SIGN_ASYMMETRIC };

static const char *opt_from, *opt_to, *opt_scheme, *opt_report;
static struct selection selection = {.axis = 0};
static struct gates fail_if;
static struct plan_request plan_request;
static int opt_per = -1, opt_nonfinite, opt_sync, opt_graph_dtype = -1;
static bool opt_calibrate;
static bool opt_symmetric, opt_asymmetric, opt_dequantize;
static bool opt_verify, opt_dry_run, opt_force;
static int64_t opt_axis = INT64_MAX, opt_block = -1, opt_min_elements = 1024;

static const char *const pers[] = {"tensor", "channel", "block", NULL};
static const char *const nonfinites[] = {"error", "keep-float", NULL};
static const char *const graph_dtypes[] = {"keep", "f16", NULL};
static const char *const syncs[] = {"auto", "always", "never", NULL};

/* --calibrate minmax|percentile:P|mse */
static const char *
parse_calibrate(const struct cli_option *option, const char *text)
{
	char *end;

	(void)option;
	opt_calibrate = true;
	if (!strcmp(text, "minmax") || !strcmp(text, "mse")) {
		selection.calibrate = strcmp(text, "mse") ? TP_CALIBRATE_MINMAX
							  : TP_CALIBRATE_MSE;
		return NULL;
	}
	if (strncmp(text, "percentile:", 11))
		return "minmax, percentile:P or mse";
	selection.calibrate = TP_CALIBRATE_PERCENTILE;
	selection.percentile = strtod(text + 11, &end);
	if (end == text + 11 || *end || !(selection.percentile > 0) ||
	    selection.percentile > 100)
		return "a percentile is above 0 and at most 100";
	return NULL;
}

/* --target-sqnr DB */
static const char *
parse_sqnr(const struct cli_option *option, const char *text)
{
	char *end;

	(void)option;
	plan_request.sqnr = strtod(text, &end);
	plan_request.has_sqnr = true;
	return end == text || *end || !isfinite(plan_request.sqnr)
		   ? "a number of decibels"
		   : NULL;
}

/* clang-format off */
static const struct cli_option options[] = {
    {CLI_HEADING, .help = "Formats"},
    {CLI_STRING, 'f', "from", "FMT", &opt_from,
	.help = "the format of the input, else told by its content"},
    {CLI_STRING, 't', "to", "FMT", &opt_to,
	.help = "the format of the output, else told by its suffix"},

    {CLI_HEADING, .help = "Scheme"},
    {CLI_STRING, 's', "scheme", "SCHEME", &opt_scheme,
	.help = "int8, uint8, int4, uint4, f16, bf16, f8e4m3, f8e5m2, q8_0 or q4_0"},
    {CLI_FLAG, 0, "dequantize", NULL, &opt_dequantize,
	.help = "the reverse: make floats (f32) of what is quantized"},
    {CLI_CHOICE, 0, "per", "tensor|channel|block", &opt_per,
	.help = "what has a scale of its own (default channel)", .choices = pers},
    {CLI_INT, 0, "axis", "N", &opt_axis,
	.help = "the axis of channels and blocks; from the end if negative (default "
	"0, of blocks the last; in graphs as the consumers want it)", .min = -64, .max = 63},
    {CLI_INT, 0, "block", "N", &opt_block,
	.help = "elements of a block (default 32)", .min = 1, .max = INT32_MAX},
    {CLI_FLAG, 0, "symmetric", NULL, &opt_symmetric,
	.help = "zero is in the middle of the codes (default of int8 and int4)"},
    {CLI_FLAG, 0, "asymmetric", NULL, &opt_asymmetric,
	.help = "zero is where the range wants it (default of uint8 and uint4)"},
    {CLI_CALL, 0, "calibrate", "minmax|percentile:P|mse",
	.call = parse_calibrate, .help =
	"the range that codes cover: of all values, of P percent of them, or where "
	"the squared error is least (default minmax)"},

    {CLI_CHOICE, 0, "graph-dtype", "keep|f16", &opt_graph_dtype,
	.help = "of f16 in ONNX: cast weights back to what the graph computes with "
	"(default keep), or let it compute with f16", .choices = graph_dtypes},

    {CLI_HEADING, .help = "Plan"},
    {CLI_STRING, 0, "plan", "auto|FILE", &plan_request.from,
	.help = "in place of --scheme: for each tensor float, f16, bf16, int8 per "
	"channel or int4 per block, as the target wants it or FILE says"},
    {CLI_CALL, 0, "target-sqnr", "DB", .call = parse_sqnr,
	.help = "for auto: the smallest tensors of which each reaches DB decibels"},
    {CLI_SIZE, 0, "target-size", "SIZE", &plan_request.max_nbytes,
	.help = "for auto: the best worst tensor while all take SIZE at most, scales "
	"too, the file's header not", .min = 1, .max = INT64_MAX},
    {CLI_STRING, 0, "save-plan", "FILE", &plan_request.save,
	.help = "for auto: write the plan to FILE, which --plan takes"},

    {CLI_HEADING, .help = "Tensors"},
    CLI_FILTER_OPTIONS(selection.filter),
    {CLI_INT, 0, "min-elements", "N", &opt_min_elements,
	.help = "keep tensors of fewer elements as they are (default 1024)",
	.min = 1, .max = INT64_MAX},
    {CLI_CHOICE, 0, "nonfinite", "error|keep-float", &opt_nonfinite,
	.help = "what becomes of a tensor with a NaN or an infinity (default error)",
	.choices = nonfinites},
    {CLI_LIST, 0, "skip-if", "[GLOB=]METRIC<VALUE", &selection.skip.list,
	.help = "keep a tensor as it is whose sqnr, cosine, maxabs or saturated is "
	"below VALUE, or with > above it (repeatable)"},

    {CLI_HEADING, .help = "Files from anyone"},
    CLI_UNTRUSTED_OPTIONS("no"),

    {CLI_HEADING, .help = "Output"},
    {CLI_LIST, 0, "fail-if", "[GLOB=]METRIC<VALUE", &fail_if.list,
	.help = "write nothing and exit with 1 if that holds for a tensor (repeatable)"},
    {CLI_STRING, 0, "report", "FILE", &opt_report,
	.help = "also write the JSON report to FILE"},
    {CLI_FLAG, 0, "verify", NULL, &opt_verify,
	.help = "read the output back and prove it equal"},
    {CLI_FLAG, 'n', "dry-run", NULL, &opt_dry_run,
	.help = "measure, report and write nothing"},
    {CLI_FLAG, 0, "force", NULL, &opt_force,
	.help = "replace an existing output"},
    {CLI_CHOICE, 0, "sync", "auto|always|never", &opt_sync,
	.help = "flush to the disk before renaming (default auto: when a file is "
	"replaced)", .choices = syncs},
    {.kind = CLI_END},
};
/* clang-format on */

/* Options that the scheme leaves no choice about. */
static const char *
check_fixed(const struct tp_scheme *s)
{
	if (s->scale == TP_DTYPE_NONE &&
	    (opt_per >= 0 || opt_symmetric || opt_asymmetric || opt_calibrate ||
		opt_axis != INT64_MAX || opt_block >= 0))
		return "--per, --axis, --block, --symmetric, --asymmetric and "
		       "--calibrate are for schemes with scales";
	if (s->block && (opt_per >= 0 || opt_symmetric || opt_asymmetric ||
			    opt_axis != INT64_MAX || opt_block >= 0))
		return "q8_0 and q4_0 fix --per, --axis, --block and the sign";
	return NULL;
}

static const char *
check_formats(void)
{
	if ((opt_from && !tp_format_find(opt_from)) ||
	    (opt_to && !tp_format_find(opt_to)))
		return "--from, --to: the formats are native, safetensors, "
		       "onnx";
	return NULL;
}

/* A graph that computes with f16 has all its weights so. */
static const char *
check_graph_dtype(const struct tp_scheme *s)
{
	if (opt_graph_dtype < 0)
		return NULL;
	if (s->dtype != TP_DTYPE_F16)
		return "--graph-dtype is for --scheme f16";
	if (opt_graph_dtype == 1 &&
	    (selection.filter.include.n || selection.filter.exclude.n ||
		selection.skip.list.n || opt_nonfinite))
		return "--graph-dtype f16 is for all tensors: --include, "
		       "--exclude, --skip-if and --nonfinite keep-float are "
		       "not";
	return NULL;
}

static const char *
check_dequantize(void)
{
	if (opt_graph_dtype >= 0 || opt_scheme || opt_per >= 0 ||
	    opt_symmetric || opt_asymmetric || opt_calibrate ||
	    opt_axis != INT64_MAX || opt_block >= 0 || opt_nonfinite ||
	    selection.skip.list.n || fail_if.list.n || plan_request.from)
		return "--dequantize takes what is there: schemes and gates "
		       "are for the other way";
	return check_formats();
}

/* A plan takes the place of a scheme; a file, of all that chooses tensors. */
static const char *
check_plan(void)
{
	const char *wrong = plan_check(&plan_request);

	if (wrong)
		return wrong;
	if (opt_scheme || opt_per >= 0 || opt_symmetric || opt_asymmetric ||
	    opt_axis != INT64_MAX || opt_graph_dtype >= 0)
		return "--plan chooses the scheme and what belongs to it";
	if (!plan_is_auto(&plan_request) &&
	    (opt_calibrate || opt_block >= 0 || opt_min_elements != 1024 ||
		selection.filter.include.n || selection.filter.exclude.n))
		return "--plan FILE says what becomes of every tensor";
	if (selection.calibrate == TP_CALIBRATE_PERCENTILE)
		return "--calibrate percentile:P is not for --plan";
	selection.block = opt_block >= 0 ? (uint64_t)opt_block : 32;
	return check_formats();
}

/* Of the tensors, whatever the scheme is. */
static const char *
check_tensors(void)
{
	const char *wrong = gates_parse(&selection.skip);

	selection.min_elements = (uint64_t)opt_min_elements;
	selection.keep_nonfinite = opt_nonfinite == 1;
	if (!wrong)
		wrong = gates_parse(&fail_if);
	if (wrong) {
		gates_release(&selection.skip);
		gates_release(&fail_if);
	}
	return wrong;
}

static const char *
check(void)
{
	const struct tp_scheme *s;
	const char *wrong = plan_check(&plan_request);

	if (opt_dequantize)
		return wrong ? wrong : check_dequantize();
	if (plan_request.from)
		wrong = check_plan();
	if (wrong || plan_request.from)
		return wrong ? wrong : check_tensors();
	if (!opt_scheme)
		return "--scheme, --plan or --dequantize is missing";
	s = tp_scheme_find(opt_scheme);
	if (!s)
		return "--scheme: the schemes are int8, uint8, int4, uint4, "
		       "f16, bf16, f8e4m3, f8e5m2, q8_0, q4_0";
	if (opt_symmetric && opt_asymmetric)
		return "--symmetric and --asymmetric exclude each other";
	wrong = check_fixed(s);
	if (!wrong)
		wrong = check_graph_dtype(s);
	if (!wrong)
		wrong = check_formats();
	if (wrong)
		return wrong;
	selection.scheme = s;
	selection.per = opt_per >= 0 ? (enum tp_quant_per)opt_per : s->per;
	if (opt_block >= 0 && selection.per != TP_PER_BLOCK)
		return "--block is for --per block";
	if (selection.calibrate == TP_CALIBRATE_PERCENTILE &&
	    selection.per == TP_PER_BLOCK)
		return "--calibrate percentile:P is not for blocks";
	if (opt_axis != INT64_MAX && selection.per == TP_PER_TENSOR)
		return "--axis is for --per channel and --per block";
	selection.block = s->block	   ? s->block
			  : opt_block >= 0 ? (uint64_t)opt_block
					   : 32;
	/* The rows of ggml's schemes are along the last axis. */
	selection.auto_axis = opt_axis == INT64_MAX && !s->block;
	selection.axis = s->block ? -1 : opt_axis;
	selection.symmetric =
	    opt_symmetric || (s->symmetric && !opt_asymmetric);
	return check_tensors();
}

static const struct cli_app app = {
    .name = "tp-quantize",
    .synopsis = "[options] INPUT OUTPUT",
    .summary =
	"Narrow the weights of a model and tell, for each tensor, what was "
	"lost. Floats of two and more axes are narrowed, all else is kept. "
	"From "
	"ONNX to ONNX the graph goes along. --dequantize makes floats again.",
    .options = options,
    .min_args = 2,
    .max_args = 2,
    .check = check,
};

struct job {
	const char *input, *output;
	struct tp_reader *reader, *quantized;
	struct tp_transfer *transfer;
	struct tp_plan *plan; /* NULL: one scheme for all */
	const char *format;
	uint64_t progress;
	struct tp_err err;
	const char *err_path;
	const char *status;
	bool verified;
};

static int
fail(struct job *j, const char *path)
{
	j->err_path = path;
	j->status = "failed";
	return cli_report(path, &j->err);
}

/* The input; everything else is of it. */
static int
open_input(struct job *j)
{
	const struct tp_open_options open = {.format = opt_from,
	    .limits = cli_untrusted_limits(),
	    .warn = cli_warn};

	if (!tp_open(j->input, &open, &j->reader, &j->err))
		return CLI_OK;
	fail(j, j->input);
	cli_untrusted_hint(&j->err);
	return cli_exit_of(j->err.status);
}

/* A tp_progress_fn; ctx is what was done at the last call. */
static bool
on_progress(void *ctx, uint64_t done, uint64_t total)
{
	uint64_t *last = ctx;

	(void)total;
	cli_progress_add(done - *last);
	*last = done;
	return !cli_stopped();
}

static bool
proceed(void *ctx)
{
	(void)ctx;
	return !cli_stopped();
}

/* The format that the output will have. */
static int
find_format(struct job *j)
{
	const struct tp_format *f =
	    opt_to ? tp_format_find(opt_to) : tp_format_for_path(j->output);

	if (!f) {
		tp_fail(&j->err, TP_EARG, TP_NO_OFFSET,
		    "the name %s tells no format", j->output);
		return fail(j, NULL);
	}
	j->format = tp_format_name(f);
	return CLI_OK;
}

/* What the format has to hold what belongs together: else it is metadata. */
static void
set_form(const struct job *j, struct tp_quantize_options *o)
{
	o->records = !strcmp(j->format, "native");
	o->keep_graph = !strcmp(j->format, "onnx");
	o->half_graph = opt_graph_dtype == 1;
}

/* Known layouts of other tools are better refused than half read. */
static int
refuse_foreign(struct job *j)
{
	size_t i = 0;
	const char *layout = select_foreign(j->reader, &i);

	if (!layout)
		return CLI_OK;
	tp_fail(&j->err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "tensor '%s' is of the %s layout, which cannot be dequantized",
	    TP_BRIEF(tp_reader_entry(j->reader, i)->name), layout);
	return fail(j, j->input);
}

static int
dequantize(struct job *j)
{
	struct tp_quantize_options o = {
	    .recipe = select_dequantize,
	    .ctx = &selection,
	    .max_memory = cli_common.max_memory,
	    .n_threads = (unsigned)cli_common.threads,
	};
	const struct tp_quantized_item *item;
	size_t n = 0;
	int rc;

	set_form(j, &o);
	rc = open_input(j);
	if (!rc)
		rc = refuse_foreign(j);
	if (rc)
		return rc;
	if (tp_dequantize_reader(j->reader, &o, &j->quantized, &j->err))
		return fail(j, j->input);
	for (size_t i = 0; (item = tp_quantized_item(j->quantized, i)); i++)
		n += item->widened;
	if (n == 0)
		cli_note("nothing in %s is known to be quantized", j->input);
	return CLI_OK;
}

/* Choose a scheme for each tensor, or take what a file says. */
static int
make_plan(struct job *j, const struct tp_quantize_options *o)
{
	const struct plan_request *request = &plan_request;

	if (tp_plan_new(NULL, j->reader, &j->plan, &j->err))
		return fail(j, j->input);
	if (!plan_is_auto(request)) {
		if (tp_plan_read(j->plan, request->from, &j->err))
			return fail(j, request->from);
	} else if (plan_choose(request, j->reader, o, j->output, opt_to,
		       j->plan, &j->err)) {
		return fail(j, j->input);
	}
	selection.plan = j->plan;
	if (request->save && plan_save(j->plan, request->save, &j->err))
		return fail(j, request->save);
	return CLI_OK;
}

static int
quantize(struct job *j)
{
	struct tp_quantize_options o = {
	    .recipe = select_recipe,
	    .accept = selection.skip.list.n ? select_accept : NULL,
	    .ctx = &selection,
	    /* Who asks for figures, or may stop for them, waits for them. */
	    .measure_later = !fail_if.list.n && !opt_dry_run,
	    .max_memory = cli_common.max_memory,
	    .n_threads = (unsigned)cli_common.threads,
	    .proceed = proceed,
	};
	int rc;

	set_form(j, &o);
	rc = open_input(j);
	if (!rc && plan_request.from)
		rc = make_plan(j, &o);
	if (!rc && tp_quantize_reader(j->reader, &o, &j->quantized, &j->err))
		rc = fail(j, j->input);
	return rc;
}

static int
plan(struct job *j)
{
	struct tp_transfer_options o = {
	    .create = {.format = opt_to,
		.force = opt_force,
		.hold = opt_verify,
		.sync = (enum tp_sync)opt_sync},
	    .max_memory = cli_common.max_memory,
	    .n_threads = (unsigned)cli_common.threads,
	    .progress = on_progress,
	    .progress_ctx = &j->progress,
	    /* Tied weights of safetensors are stored twice, as they must. */
	    .allow_loss = TP_LOSS_ALIAS,
	};

	if (tp_transfer_plan(
		&j->quantized, 1, j->output, &o, &j->transfer, &j->err))
		return fail(j, NULL);
	for (size_t i = 0; i < tp_transfer_n_notes(j->transfer); i++)
		cli_note("%s", tp_transfer_note(j->transfer, i));
	if (tp_transfer_check(j->transfer, &j->err))
		return fail(j, j->output);
	return CLI_OK;
}

/* Tensors that --fail-if speaks of. */
static int
check_gates(struct job *j)
{
	const struct tp_quantized_item *item;
	size_t n = 0;

	for (size_t i = 0; (item = tp_quantized_item(j->quantized, i)); i++)
		n += item->recipe.scheme && gates_hit(&fail_if, item);
	if (n == 0)
		return CLI_OK;
	j->status = "gate";
	cli_message("--fail-if holds for %zu tensor%s; nothing was written", n,
	    n == 1 ? "" : "s");
	return CLI_DIFFERS;
}

static int
check_output(struct job *j)
{
	struct stat st;

	if (opt_force || !strcmp(j->output, "-") || stat(j->output, &st) ||
	    !S_ISREG(st.st_mode))
		return CLI_OK;
	tp_fail(&j->err, TP_EOUTPUT, TP_NO_OFFSET,
	    "exists already; --force replaces it");
	return fail(j, j->output);
}

static int
write_output(struct job *j)
{
	enum tp_status rc;

	cli_progress_begin("writing", tp_transfer_nbytes(j->transfer));
	rc = tp_transfer_run(j->transfer, &j->err);
	cli_progress_end();
	if (rc)
		return fail(j, rc == TP_EOUTPUT	 ? j->output
			       : rc == TP_ERANGE ? j->input
						 : NULL);
	j->status = "written";
	if (!opt_verify)
		return CLI_OK;
	j->progress = 0;
	cli_progress_begin("verifying", tp_transfer_nbytes(j->transfer));
	rc = tp_transfer_verify(j->transfer, &j->err);
	cli_progress_end();
	if (rc)
		return fail(j, j->output);
	j->verified = true;
	return CLI_OK;
}

static int
run(struct job *j)
{
	int rc = find_format(j);

	if (!rc)
		rc = check_output(j);
	if (!rc)
		rc = opt_dequantize ? dequantize(j) : quantize(j);
	if (!rc)
		rc = plan(j);
	if (!rc)
		rc = check_gates(j);
	if (!rc && opt_dry_run) {
		j->status = "planned";
		return CLI_OK;
	}
	if (!rc)
		rc = write_output(j);
	if (rc && !opt_dequantize && j->err.status == TP_ERANGE)
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
save_report(struct quantize_report *r)
{
	int errnum = cli_write_file(opt_report, put_report, r);

	if (!errnum)
		return CLI_OK;
	cli_message_about(opt_report, "%s", strerror(errnum));
	return CLI_OUTPUT;
}

static int
report(const struct job *j)
{
	struct quantize_report r = {
	    .status = j->status,
	    .input = j->input,
	    .output = j->output,
	    .reader = j->reader,
	    .quantized = j->quantized,
	    .transfer = j->transfer,
	    .gates = &fail_if,
	    .plan = plan_request.from ? &plan_request : NULL,
	    .verified = j->verified,
	    .err = strcmp(j->status, "failed") ? NULL : &j->err,
	    .err_path = j->err_path,
	};
	bool to_stdout = strcmp(j->output, "-") != 0;

	if (cli_common.json)
		report_json(stdout, &r);
	else if (!cli_common.quiet && j->quantized && !r.err)
		report_text(to_stdout ? stdout : stderr, &r,
		    cli_common.verbose || opt_dry_run || plan_request.from);
	return opt_report ? save_report(&r) : CLI_OK;
}

static void
release(struct job *j)
{
	tp_transfer_free(j->transfer);
	tp_close(j->quantized);
	tp_plan_free(j->plan);
	tp_close(j->reader);
	gates_release(&selection.skip);
	gates_release(&fail_if);
	cli_list_release(&selection.filter.include);
	cli_list_release(&selection.filter.exclude);
}

static int
enter_sandbox(const struct job *j)
{
	struct sandbox_plan plan = {.paths = NULL};

	sandbox_plan_add(&plan, SANDBOX_READ, j->input);
	if (plan_request.from && !plan_is_auto(&plan_request))
		sandbox_plan_add(&plan, SANDBOX_READ_ONE, plan_request.from);
	sandbox_plan_add(&plan, SANDBOX_WRITE, plan_request.save);
	sandbox_plan_add(&plan, SANDBOX_WRITE, opt_report);
	if (!opt_dry_run)
		sandbox_plan_add(&plan, SANDBOX_WRITE, j->output);
	return cli_untrusted_enter(CLI_TRUSTED, &plan);
}

int
main(int argc, char **argv)
{
	struct job j = {.err = TP_ERR_INIT, .status = "failed"};
	int first = cli_parse(&app, argc, argv), rc;

	j.input = argv[first];
	j.output = argv[first + 1];
	if (!strcmp(j.output, "-") && (cli_common.json || opt_verify)) {
		cli_message("--json and --verify need an output that is a "
			    "file");
		return CLI_USAGE;
	}
	cli_catch_signals();
	rc = enter_sandbox(&j);
	if (rc == CLI_OK) {
		rc = run(&j);
		rc = cli_worst(rc, report(&j));
	}
	release(&j);
	rc = cli_finish(rc);
	cli_end_by_signal();
	return rc;
}
