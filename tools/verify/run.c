/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - tp-verify run: do models compute what they are expected to? */
#include "run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report.h"
#include "run_files.h"
#include "untrusted.h"

/* Bytes that the values of a model from anyone may take. */
#define UNTRUSTED_MEMORY (UINT64_C(4) << 30)

static struct run_settings settings = {
    .rules = {.tolerance = {.rtol = 1e-3, .atol = 1e-7}}};
static const char *opt_tolerances, *opt_failures, *opt_against;
static int64_t opt_iterations, opt_seed = -1;
static struct cli_filter filter;
static struct report_options reports;

const char *
run_parse_number(const struct cli_option *option, const char *text)
{
	double *out = option->value;
	char *end = NULL;

	errno = 0;
	*out = strtod(text, &end);
	if (end == text || *end || !isfinite(*out) || *out < 0)
		return "not a number from 0 on";
	return NULL;
}

static const char *
parse_range(const struct cli_option *option, const char *text)
{
	settings.rules.tolerance.has_range = true;
	return run_parse_number(option, text);
}

/* clang-format off */
static const struct cli_option options[] = {
    {CLI_HEADING, .help = "What holds"},
    {CLI_CALL, 0, "rtol", "X", &settings.rules.tolerance.rtol,
	.help = "floats: |a - b| <= atol + X * |b| (default 1e-3)", .call = run_parse_number},
    {CLI_CALL, 0, "atol", "X", &settings.rules.tolerance.atol,
	.help = "floats: |a - b| <= X + rtol * |b| (default 1e-7)", .call = run_parse_number},
    {CLI_CALL, 0, "of-range", "X", &settings.rules.tolerance.of_range,
	.help = "floats instead: |a - b| <= X * (largest - smallest that is expected)",
	.call = parse_range},
    {CLI_STRING, 0, "tolerances", "FILE", &opt_tolerances,
	.help = "others for some tests: lines of GLOB rtol=X atol=X of-range=X"},
    {CLI_STRING, 0, "expect-fail", "FILE", &opt_failures,
	.help = "tests that are expected to differ: lines of NAME REASON"},

    {CLI_HEADING, .help = "Which tests"},
    {CLI_LIST, 0, "include", "GLOB", &filter.include,
	.help = "only tests whose name matches GLOB (repeatable)"},
    {CLI_LIST, 0, "exclude", "GLOB", &filter.exclude,
	.help = "not those whose name matches GLOB (repeatable)"},

    {CLI_HEADING, .help = "Inputs and expectations besides data sets"},
    {CLI_LIST, 0, "in", "FILE", &settings.inputs.in,
	.help = "inputs are the tensors of FILE with their names (repeatable)"},
    {CLI_LIST, 0, "expect", "FILE", &settings.inputs.expect,
	.help = "outputs are compared with the tensors of FILE with their names "
	"(repeatable)"},
    {CLI_LIST, 0, "input", "NAME=FILE[:TENSOR]", &settings.inputs.named,
	.help = "input NAME is that tensor (repeatable)"},
    {CLI_INT, 0, "seed", "N", &opt_seed,
	.help = "make inputs that are not given from seed N; also the seed of random "
	"operators without one", .min = 0, .max = INT64_MAX},
    {CLI_LIST, 0, "shape", "NAME=SIZE,...", &settings.inputs.seed.shapes,
	.help = "their shape (default: as declared, 1 where that says nothing)"},
    {CLI_LIST, 0, "int", "[NAME=]N|LOW..HIGH", &settings.inputs.seed.ints,
	.help = "integers are N, or from LOW to HIGH (default 0..1; repeatable)"},
    {CLI_STRING, 0, "against", "OTHER.onnx", &opt_against,
	.help = "compare with what OTHER computes from the same inputs (default seed 0)"},
    {CLI_FLAG, 0, "intermediates", NULL, &settings.intermediates,
	.help = "with --against: also every value of the same name"},

    {CLI_HEADING, .help = "How they are run"},
    {CLI_INT, 0, "max-iterations", "N", &opt_iterations,
	.help = "refuse a Loop that runs longer (default 1000000)", .min = 1, .max = INT64_MAX},

    {CLI_HEADING, .help = "Files from anyone"},
    CLI_UNTRUSTED_OPTIONS("no"),

    {CLI_HEADING, .help = "Output"},
    {CLI_FLAG, 't', "trace", NULL, &settings.trace,
	.help = "a line for each node: shapes, dtypes, range, time"},
    {CLI_STRING, 0, "stop-at", "NODE", &settings.stop_at,
	.help = "compute no further than the node of that name or output; print what "
	"it made"},
    {CLI_STRING, 0, "dump", "DIR", &settings.dump,
	.help = "write all values of run N to DIR/run-N.tpt"},
    REPORT_OPTIONS(reports),
    {.kind = CLI_END},
};
/* clang-format on */

static const char *
check(void)
{
	if (opt_against && settings.inputs.expect.n)
		return "--expect and --against exclude each other";
	if (settings.intermediates && !opt_against)
		return "--intermediates needs --against";
	return run_inputs_check(&settings.inputs);
}

const struct cli_app run_app = {
    .name = "tp-verify run",
    .synopsis = "[options] MODEL_DIR|MODEL.onnx [DATA_SET...]...",
    .summary =
	"Compute ONNX models with the reference operators and compare what "
	"comes out with what is expected. Exit status 0: every output of every "
	"data set was compared and holds.",
    .options = options,
    .min_args = 1,
    .check = check,
};

static bool
find_targets(struct run_targets *t, int n, char **operands)
{
	const char *wrong;

	for (int i = 0; i < n; i++) {
		wrong = run_targets_add(t, operands[i]);
		if (wrong) {
			cli_message_about(operands[i], "%s", wrong);
			return false;
		}
	}
	wrong = run_targets_finish(t);
	if (wrong)
		cli_message("%s", wrong);
	return !wrong;
}

static int
read_rules(struct run_rules *r)
{
	struct tp_err err = TP_ERR_INIT;

	if (opt_tolerances &&
	    run_rules_read_tolerances(r, opt_tolerances, &err))
		return report_unreadable(&reports, "run", opt_tolerances, &err);
	if (opt_failures && run_rules_read_failures(r, opt_failures, &err))
		return report_unreadable(&reports, "run", opt_failures, &err);
	return CLI_OK;
}

static void
exclude(struct run_case *c)
{
	verdict_init(&c->v, "run", c->target->path, NULL);
	c->v.excluded = true;
	verdict_remark(&c->v, "excluded", CLI_OK, "by --include or --exclude");
}

static int
run_all(struct run_case *cases, size_t n)
{
	bool all = n == 1 || cli_common.verbose;
	int rc = CLI_OK;
	size_t n_run = 0;

	for (size_t i = 0; i < n; i++) {
		struct run_case *c = &cases[i];

		if (!cli_filter_takes(&filter, run_target_name(c->target)))
			exclude(c);
		else if (opt_against)
			run_against(c, &settings, opt_against);
		else
			run_case(c, &settings);
		n_run += !c->v.excluded;
		rc = cli_worst(rc, verdict_exit(&c->v));
		if (!cli_common.json)
			run_put_case(stdout, c, all);
	}
	if (!cli_common.json)
		run_put_summary(stdout, cases, n);
	return n_run ? rc : CLI_UNSUPPORTED;
}

/* Reports take verdicts in a row. */
static int
report(const struct run_case *cases, size_t n, int rc)
{
	struct verdict *verdicts = calloc(n + 1, sizeof(*verdicts));

	if (!verdicts) {
		cli_message("out of memory");
		return CLI_INPUT;
	}
	for (size_t i = 0; i < n; i++)
		verdicts[i] = cases[i].v;
	rc = report_all(&reports, verdicts, n, rc);
	free(verdicts);
	return rc;
}

static void
set_up(void)
{
	struct run_input_options *in = &settings.inputs;

	settings.n_threads = (unsigned)cli_common.threads;
	settings.max_iterations = (uint64_t)opt_iterations;
	if (cli_common.has_max_memory)
		settings.max_memory = cli_common.max_memory;
	else if (cli_untrusted.trust != CLI_TRUSTED)
		settings.max_memory = UNTRUSTED_MEMORY;
	in->seeded = opt_seed >= 0 || opt_against;
	in->seed.seed = opt_seed >= 0 ? (uint64_t)opt_seed : 0;
}

static int
enter_sandbox(const struct run_targets *t)
{
	const struct run_input_options *in = &settings.inputs;
	struct sandbox_plan plan = {.paths = NULL};

	for (size_t i = 0; i < t->n; i++) {
		const struct run_target *target = &t->items[i];

		sandbox_plan_add(&plan, SANDBOX_READ, target->model);
		for (size_t k = 0; k < target->n_sets; k++)
			sandbox_plan_add(&plan, SANDBOX_READ, target->sets[k]);
	}
	for (size_t i = 0; i < in->in.n; i++)
		sandbox_plan_add(&plan, SANDBOX_READ, in->in.items[i].text);
	for (size_t i = 0; i < in->expect.n; i++)
		sandbox_plan_add(&plan, SANDBOX_READ, in->expect.items[i].text);
	run_files_plan(&in->named, "=", &plan);
	sandbox_plan_add(&plan, SANDBOX_READ, opt_against);
	sandbox_plan_add(&plan, SANDBOX_READ_ONE, opt_tolerances);
	sandbox_plan_add(&plan, SANDBOX_READ_ONE, opt_failures);
	sandbox_plan_add(&plan, SANDBOX_WRITE_IN, settings.dump);
	report_plan(&reports, &plan);
	return cli_untrusted_enter(CLI_TRUSTED, &plan);
}

int
run_run(int n_args, char **argv)
{
	struct run_targets targets = {NULL, 0, 0};
	struct run_case *cases = NULL;
	int rc = CLI_INPUT;

	if (!find_targets(&targets, n_args, argv))
		goto out;
	rc = enter_sandbox(&targets);
	if (rc)
		goto out;
	set_up();
	rc = read_rules(&settings.rules);
	if (rc)
		goto out;
	rc = CLI_INPUT;
	cases = calloc(targets.n + 1, sizeof(*cases));
	if (!cases) {
		cli_message("out of memory");
		goto out;
	}
	for (size_t i = 0; i < targets.n; i++)
		cases[i].target = &targets.items[i];
	rc = report(cases, targets.n, run_all(cases, targets.n));
	run_rules_finish(&settings.rules);
out:
	for (size_t i = 0; cases && i < targets.n; i++)
		run_case_release(&cases[i]);
	free(cases);
	run_targets_release(&targets);
	run_rules_release(&settings.rules);
	run_inputs_release(&settings.inputs);
	cli_list_release(&filter.include);
	cli_list_release(&filter.exclude);
	return rc;
}
