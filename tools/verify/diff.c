/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - tp-verify diff: two models, tensor by tensor */
#include "diff.h"

#include <string.h>

#include "tp/parallel.h"
#include "tp/quantized.h"

#include "progress.h"
#include "report.h"
#include "untrusted.h"

static const char *opt_from;
static struct diff_options opt;
static int opt_tolerance;
static bool opt_per_tensor, opt_no_mmap;
static int64_t opt_count;
static struct report_options reports;

static const char *const tolerances[] = {"exact", "auto", NULL};

/* clang-format off */
static const struct cli_option options[] = {
    {CLI_HEADING, .help = "Which tensors belong together"},
    CLI_FILTER_OPTIONS(opt.filter),
    {CLI_LIST, 0, "rename", "s/RE/NEW/|OLD=NEW", &opt.rename,
	.help = "names of A become those of B by regular expression or by name "
	"(repeatable, applied in order)"},
    {CLI_LIST, 0, "strip-prefix", "P", &opt.rename,
	.help = "remove P from the beginning of A's names"},
    {CLI_LIST, 0, "add-prefix", "P", &opt.rename,
	.help = "put P before all of A's names"},
    {CLI_STRING, 0, "map", "FILE", &opt.map,
	.help = "pairs of names, one a line: A's, a tab, B's"},
    {CLI_LIST, 0, "transpose", "GLOB", &opt.transpose,
	.help = "B's axes are taken in reverse where A's name matches GLOB "
	"(repeatable)"},
    {CLI_STRING, 'f', "from", "FMT", &opt_from,
	.help = "the format of both files, else told by their content"},

    {CLI_HEADING, .help = "When they count as equal (default: values are equal)"},
    {CLI_LIST, 0, "rtol", "[GLOB=]X", &opt.tolerances.lists[DIFF_RTOL],
	.help = "|a - b| <= atol + X * |b| (repeatable, as the next ones; integers "
	"and bools heed only those with GLOB)"},
    {CLI_LIST, 0, "atol", "[GLOB=]X", &opt.tolerances.lists[DIFF_ATOL],
	.help = "|a - b| <= X + rtol * |b|"},
    {CLI_LIST, 0, "ulp", "[GLOB=]N", &opt.tolerances.lists[DIFF_ULP],
	.help = "at most N codes of the narrower dtype apart"},
    {CLI_LIST, 0, "cosine", "[GLOB=]X", &opt.tolerances.lists[DIFF_COSINE],
	.help = "the cosine of the whole tensors is at least X"},
    {CLI_LIST, 0, "sqnr", "[GLOB=]DB", &opt.tolerances.lists[DIFF_SQNR],
	.help = "signal to noise, A as B with noise, is at least DB decibels"},
    {CLI_CHOICE, 0, "tolerance", "exact|auto", &opt_tolerance,
	.help = "auto: where none of these applies, by dtype what rounding explains",
	.choices = tolerances},
    {CLI_FLAG, 0, "equal-nan", NULL, &opt.tolerances.equal_nan,
	.help = "NaN equals NaN"},
    {CLI_FLAG, 0, "bits", NULL, &opt.tolerances.bits,
	.help = "also the same bits: -0 differs from +0"},
    {CLI_FLAG, 0, "ignore-dtype", NULL, &opt.ignore_dtype,
	.help = "equal values of another dtype are equal (a tolerance implies it)"},
    {CLI_FLAG, 0, "metadata", NULL, &opt.metadata,
	.help = "other metadata is a difference too"},

    {CLI_HEADING, .help = "Files from anyone"},
    CLI_UNTRUSTED_OPTIONS("no"),

    {CLI_HEADING, .help = "Output"},
    {CLI_FLAG, 'p', "per-tensor", NULL, &opt_per_tensor,
	.help = "a table of all figures, the worst tensor first"},
    {CLI_INT, 'n', "count", "COUNT", &opt_count,
	.help = "only the worst COUNT of the table", .min = 1, .max = INT64_MAX},
    REPORT_OPTIONS(reports),
    {CLI_FLAG, 0, "no-mmap", NULL, &opt_no_mmap,
	.help = "read files instead of mapping them"},
    {.kind = CLI_END},
};
/* clang-format on */

static void
release_options(void)
{
	rename_free(opt.renames);
	diff_tolerances_release(&opt.tolerances);
	cli_list_release(&opt.rename);
	cli_list_release(&opt.transpose);
	cli_list_release(&opt.filter.include);
	cli_list_release(&opt.filter.exclude);
}

static const char *
check(void)
{
	static char message[300];
	const struct cli_list_item *at = NULL;
	const char *wrong = cli_format_check("from", opt_from);

	if (wrong)
		return wrong;
	opt.tolerances.automatic = opt_tolerance == 1;
	wrong = rename_parse(&opt.rename, &opt.renames, &at);
	if (wrong && wrong != cli_no_memory) {
		snprintf(message, sizeof(message), "--%s %.120s: %.120s",
		    at->option->name, at->text, wrong);
		wrong = message;
	}
	if (!wrong)
		wrong = diff_tolerances_parse(&opt.tolerances);
	if (wrong)
		release_options();
	return wrong;
}

const struct cli_app diff_app = {
    .name = "tp-verify diff",
    .synopsis = "[options] A B",
    .summary =
	"Compare the tensors of two models by name, across formats and dtypes. "
	"Exit status 0: every tensor was compared and is equal by the rule "
	"asked for.",
    .options = options,
    .min_args = 2,
    .max_args = 2,
    .check = check,
};

static void
release(struct diff *d, struct diff_pairs *pairs)
{
	verdict_release(&d->v);
	diff_pairs_release(pairs);
	diff_engine_release(&d->engine);
	tp_close(d->r[0]);
	tp_close(d->r[1]);
	release_options();
}

static void
fail(struct diff *d, const char *path, const struct tp_err *err)
{
	cli_report(path, err);
	verdict_fail(&d->v, path ? path : d->paths[0], err);
}

/* Both are tried, so that all that is bad is told at once. */
static void
open_both(struct diff *d)
{
	struct tp_open_options open = {.format = opt_from,
	    .limits = cli_untrusted_limits(),
	    .flags = opt_no_mmap ? TP_OPEN_NO_MMAP : 0,
	    .warn = cli_warn};

	for (int i = 0; i < 2; i++) {
		struct tp_err err = TP_ERR_INIT;

		if (tp_open(d->paths[i], &open, &d->r[i], &err)) {
			fail(d, d->paths[i], &err);
			cli_untrusted_hint(&err);
		} else if (tp_reader_adopt_quantizers(d->r[i], &err)) {
			fail(d, d->paths[i], &err);
			tp_close(d->r[i]);
			d->r[i] = NULL;
		}
	}
}

static void
compare_all(struct diff *d, struct diff_pairs *pairs)
{
	struct tp_err err = TP_ERR_INIT;
	const char *path = NULL;
	uint64_t nbytes = 0;

	if (!diff_engine_init(&d->engine)) {
		tp_fail(&err, TP_ENOMEM, TP_NO_OFFSET, "no memory for buffers");
		fail(d, NULL, &err);
		return;
	}
	if (diff_pairs_make(pairs, &opt, d->r, &path, &err)) {
		fail(d, path, &err);
		return;
	}
	for (size_t i = 0; i < pairs->n; i++) {
		const struct diff_pair *p = &pairs->pairs[i];

		if (!p->excluded && p->entry[0] != TP_NONE &&
		    p->entry[1] != TP_NONE)
			nbytes += tp_reader_entry(d->r[0], p->entry[0])->nbytes;
	}
	cli_progress_begin("comparing", nbytes);
	for (size_t i = 0; i < pairs->n; i++)
		diff_judge(d, &pairs->pairs[i]);
	cli_progress_end();
	diff_metadata(d);
	diff_tolerances_finish(&opt.tolerances);
}

static void
check_files(struct diff *d)
{
	for (int i = 0; i < 2; i++) {
		struct tp_err err = TP_ERR_INIT;

		if (d->r[i] && tp_reader_check_files(d->r[i], &err))
			fail(d, d->paths[i], &err);
	}
}

static int
enter_sandbox(char **argv)
{
	struct sandbox_plan plan = {.paths = NULL};

	sandbox_plan_add(&plan, SANDBOX_READ, argv[0]);
	sandbox_plan_add(&plan, SANDBOX_READ, argv[1]);
	sandbox_plan_add(&plan, SANDBOX_READ_ONE, opt.map);
	report_plan(&reports, &plan);
	return cli_untrusted_enter(CLI_TRUSTED, &plan);
}

int
diff_run(int n_args, char **argv)
{
	struct diff d = {.paths = {argv[0], argv[1]},
	    .o = &opt,
	    .tolerances = &opt.tolerances,
	    .engine = {.n_threads = cli_common.threads
					? (unsigned)cli_common.threads
					: tp_cpu_count(),
		.max_memory = cli_common.max_memory}};
	struct diff_pairs pairs = {NULL, 0, 0};
	int rc;

	(void)n_args;
	rc = enter_sandbox(argv);
	if (rc) {
		release_options();
		return rc;
	}
	verdict_init(&d.v, "diff", argv[0], argv[1]);
	d.v.figures = diff_figures;
	open_both(&d);
	if (d.r[0] && d.r[1])
		compare_all(&d, &pairs);
	check_files(&d);
	if (!cli_common.json) {
		verdict_put_items(stdout, &d.v);
		if (opt_per_tensor)
			diff_put_table(stdout, &d.v, (uint64_t)opt_count);
		verdict_put_totals(stdout, &d.v);
	}
	rc = report_all(&reports, &d.v, 1, verdict_exit(&d.v));
	release(&d, &pairs);
	return rc;
}
