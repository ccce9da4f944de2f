/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - tp-verify run: do models compute what they are expected to? */
#include "run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report.h"

static struct run_settings settings = {
    .rules = {.tolerance = {.rtol = 1e-3, .atol = 1e-7}}};
static const char *opt_tolerances, *opt_failures;
static int64_t opt_iterations, opt_seed;
static struct cli_filter filter;
static struct report_options reports;

static const char *
parse_number(const struct cli_option *option, const char *text)
{
	double *out = option->value;
	char *end = NULL;

	errno = 0;
	*out = strtod(text, &end);
	if (end == text || *end || !isfinite(*out) || *out < 0)
		return "not a number from 0 on";
	return NULL;
}

/* clang-format off */
static const struct cli_option options[] = {
    {CLI_HEADING, .help = "What holds"},
    {CLI_CALL, 0, "rtol", "X", &settings.rules.tolerance.rtol,
	.help = "floats: |a - b| <= atol + X * |b| (default 1e-3)", .call = parse_number},
    {CLI_CALL, 0, "atol", "X", &settings.rules.tolerance.atol,
	.help = "floats: |a - b| <= X + rtol * |b| (default 1e-7)", .call = parse_number},
    {CLI_STRING, 0, "tolerances", "FILE", &opt_tolerances,
	.help = "others for some tests: lines of GLOB rtol=X atol=X"},
    {CLI_STRING, 0, "expect-fail", "FILE", &opt_failures,
	.help = "tests that are expected to differ: lines of NAME REASON"},

    {CLI_HEADING, .help = "Which tests"},
    CLI_FILTER_OPTIONS(filter),

    {CLI_HEADING, .help = "How they are run"},
    {CLI_INT, 0, "max-iterations", "N", &opt_iterations,
	.help = "refuse a Loop that runs longer (default 1000000)", .min = 1, .max = INT64_MAX},
    {CLI_INT, 0, "seed", "N", &opt_seed,
	.help = "of random operators that have none (default 0)", .min = 0, .max = INT64_MAX},

    {CLI_HEADING, .help = "Output"},
    REPORT_OPTIONS(reports),
    {.kind = CLI_END},
};
/* clang-format on */

const struct cli_app run_app = {
    .name = "tp-verify run",
    .synopsis = "[options] MODEL_DIR|MODEL.onnx [DATA_SET...]...",
    .summary =
	"Compute ONNX models with the reference operators and compare what "
	"comes out with what is expected. Exit status 0: every output of every "
	"data set was compared and holds.",
    .options = options,
    .min_args = 1,
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
	return true;
}

static bool
read_rules(struct run_rules *r)
{
	return (!opt_tolerances ||
		   run_rules_read_tolerances(r, opt_tolerances)) &&
	       (!opt_failures || run_rules_read_failures(r, opt_failures));
}

static int
run_all(struct run_case *cases, struct verdict *verdicts, size_t n)
{
	bool all = n == 1 || cli_common.verbose;
	int rc = CLI_OK;

	for (size_t i = 0; i < n; i++) {
		cases[i].excluded = !cli_filter_takes(
		    &filter, run_target_name(cases[i].target));
		if (cases[i].excluded)
			verdict_init(
			    &cases[i].v, "run", cases[i].target->path, NULL);
		else
			run_case(&cases[i], &settings);
		if (!cli_common.json && !cases[i].excluded)
			run_put_case(stdout, &cases[i], all);
		if (!cases[i].excluded)
			rc = cli_worst(rc, verdict_exit(&cases[i].v));
		verdicts[i] = cases[i].v;
	}
	if (!cli_common.json)
		run_put_summary(stdout, cases, n);
	return rc;
}

int
run_run(int n_args, char **argv)
{
	struct run_targets targets = {NULL, 0, 0};
	struct run_case *cases = NULL;
	struct verdict *verdicts = NULL;
	int rc = CLI_INPUT;

	settings.n_threads = (unsigned)cli_common.threads;
	settings.max_iterations = (uint64_t)opt_iterations;
	settings.seed = (uint64_t)opt_seed;
	if (!read_rules(&settings.rules) ||
	    !find_targets(&targets, n_args, argv))
		goto out;
	cases = calloc(targets.n + 1, sizeof(*cases));
	verdicts = calloc(targets.n + 1, sizeof(*verdicts));
	if (!cases || !verdicts) {
		cli_message("out of memory");
		goto out;
	}
	for (size_t i = 0; i < targets.n; i++)
		cases[i].target = &targets.items[i];
	rc = run_all(cases, verdicts, targets.n);
	rc = report_all(&reports, verdicts, targets.n, rc);
	run_rules_finish(&settings.rules);
out:
	for (size_t i = 0; cases && i < targets.n; i++)
		run_case_release(&cases[i]);
	free(cases);
	free(verdicts);
	run_targets_release(&targets);
	run_rules_release(&settings.rules);
	cli_list_release(&filter.include);
	cli_list_release(&filter.exclude);
	return rc;
}
