/* SPDX-License-Identifier: Apache-2.0 */
/* op.c - tp-verify op: one operator on tensors from files */
#include "op.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "run.h"
#include "run_files.h"
#include "untrusted.h"

static struct cli_list opt_in, opt_attr, opt_expect;
static int64_t opt_opset, opt_outputs;
static const char *opt_out;
static struct run_tolerance tolerance = {.rtol = 1e-3, .atol = 1e-7};
static struct report_options reports;

/* clang-format off */
static const struct cli_option options[] = {
    {CLI_LIST, 'i', "in", "FILE[:TENSOR]", &opt_in,
	.help = "the next input; an empty one is left out (repeatable)"},
    {CLI_LIST, 'a', "attr", "K=V", &opt_attr,
	.help = "an attribute: a number, text, a list with commas, the name of a dtype, "
	"FILE[:TENSOR] (repeatable)"},
    {CLI_INT, 0, "opset", "N", &opt_opset,
	.help = "as opset N defines it (default: the newest)", .min = 1, .max = INT32_MAX - 1},
    {CLI_INT, 0, "outputs", "N", &opt_outputs,
	.help = "compute N outputs (default: as many as are expected, or the fewest)",
	.min = 1, .max = 254},
    {CLI_LIST, 'x', "expect", "FILE[:TENSOR]", &opt_expect,
	.help = "what the next output is to be (repeatable)"},
    {CLI_CALL, 0, "rtol", "X", &tolerance.rtol,
	.help = "floats: |a - b| <= atol + X * |b| (default 1e-3)", .call = run_parse_number},
    {CLI_CALL, 0, "atol", "X", &tolerance.atol,
	.help = "floats: |a - b| <= X + rtol * |b| (default 1e-7)", .call = run_parse_number},
    {CLI_STRING, 'o', "out", "FILE", &opt_out,
	.help = "write the outputs to FILE, as output_0, output_1, ... in the native format"},
    REPORT_OPTIONS(reports),
    {CLI_HEADING, .help = "Files from anyone"},
    CLI_UNTRUSTED_OPTIONS("no"),
    {.kind = CLI_END},
};
/* clang-format on */

const struct cli_app op_app = {
    .name = "tp-verify op",
    .synopsis = "[options] [DOMAIN:]NAME",
    .summary =
	"Run one reference operator on tensors from any supported file, and "
	"compare what comes out with --expect. Without it the values are "
	"printed.",
    .options = options,
    .min_args = 1,
    .max_args = 1,
};

/* One call of the operator. */
struct call {
	const struct tp_op *op;
	struct tp_strings *strings;
	struct op_attrs attrs;
	struct run_values in, out, expected;
};

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for values");
}

static enum tp_status
find_op(struct call *c, const char *text, struct tp_err *err)
{
	struct tp_str domain, name;

	op_split_name(text, &domain, &name);
	return tp_op_find(domain, name,
	    opt_opset ? (int)opt_opset : TP_OP_NEWEST, &c->op, err);
}

static enum tp_status
read_values(struct call *c, const struct cli_list *list, struct run_values *v,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	if (!run_values_init(v, list->n))
		return no_memory(err);
	for (size_t i = 0; i < list->n && !rc; i++)
		if (*list->items[i].text)
			rc = run_files_value(
			    list->items[i].text, c->strings, &v->items[i], err);
	return rc;
}

static size_t
count_outputs(const struct call *c)
{
	size_t least = tp_op_info(c->op).min_out;

	if (opt_outputs)
		return (size_t)opt_outputs;
	if (least == 0)
		least = 1;
	return c->expected.n > least ? c->expected.n : least;
}

static enum tp_status
compute(struct call *c, struct tp_err *err)
{
	const struct tp_op_opts opts = {
	    .n_threads = (unsigned)cli_common.threads, .strings = c->strings};

	if (!run_values_init(&c->out, count_outputs(c)))
		return no_memory(err);
	return tp_op_run(c->op, c->attrs.items, c->attrs.n, c->in.items,
	    c->in.n, c->out.items, c->out.n, &opts, err);
}

static enum tp_status
write_outputs(const struct call *c, const char *name, struct tp_err *err)
{
	struct run_spool *spool = NULL;
	enum tp_status rc = run_spool_new(&spool, err);

	for (size_t i = 0; i < c->out.n && !rc; i++) {
		char text[32];

		snprintf(text, sizeof(text), "output_%zu", i);
		rc = run_spool_add(
		    spool, tp_str(text), &c->out.items[i], c->strings, err);
	}
	if (!rc)
		rc = run_spool_write(spool, opt_out, name, err);
	run_spool_free(spool);
	return rc;
}

/* Everything up to the verdict. */
static enum tp_status
run(struct call *c, const char *name, struct tp_err *err)
{
	enum tp_status rc;

	rc = tp_strings_new(NULL, 0, &c->strings, err);
	if (!rc)
		rc = find_op(c, name, err);
	if (!rc)
		rc = op_attrs_parse(
		    c->op, &opt_attr, c->strings, &c->attrs, err);
	if (!rc)
		rc = read_values(c, &opt_in, &c->in, err);
	if (!rc)
		rc = read_values(c, &opt_expect, &c->expected, err);
	if (!rc)
		rc = compute(c, err);
	if (!rc && opt_out)
		rc = write_outputs(c, name, err);
	return rc;
}

static void
print_outputs(const struct call *c)
{
	for (size_t i = 0; i < c->out.n; i++) {
		printf("output_%zu: ", i);
		run_put_value(stdout, &c->out.items[i], false);
		putchar('\n');
		run_print_value(stdout, &c->out.items[i], c->strings);
	}
}

static void
judge(struct call *c, struct run_case *test)
{
	static const struct tp_value none = {.kind = TP_VALUE_NONE};
	struct run_judge j = {.v = &test->v,
	    .outputs = &test->outputs,
	    .strings = c->strings,
	    .tolerance = tolerance};

	for (size_t i = 0; i < c->out.n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "output_%zu", i);
		run_judge(&j, NULL, tp_str(name), NULL, &c->out.items[i],
		    i < c->expected.n ? &c->expected.items[i] : &none);
	}
}

static void
release(struct call *c)
{
	op_attrs_release(&c->attrs);
	run_values_release(&c->in);
	run_values_release(&c->out);
	run_values_release(&c->expected);
	tp_strings_free(c->strings);
	cli_list_release(&opt_in);
	cli_list_release(&opt_attr);
	cli_list_release(&opt_expect);
}

static int
enter_sandbox(void)
{
	struct sandbox_plan plan = {.paths = NULL};

	run_files_plan(&opt_in, NULL, &plan);
	run_files_plan(&opt_expect, NULL, &plan);
	run_files_plan(&opt_attr, "=", &plan);
	sandbox_plan_add(&plan, SANDBOX_WRITE, opt_out);
	report_plan(&reports, &plan);
	return cli_untrusted_enter(CLI_TRUSTED, &plan);
}

int
op_run(int n_args, char **argv)
{
	const struct run_target target = {.path = argv[0]};
	struct run_case test = {.target = &target};
	struct tp_err err = TP_ERR_INIT;
	struct call c = {.op = NULL};
	int rc;

	(void)n_args;
	rc = enter_sandbox();
	if (rc) {
		release(&c);
		return rc;
	}
	verdict_init(&test.v, "op", argv[0], NULL);
	test.v.figures = run_figures;
	if (run(&c, argv[0], &err)) {
		cli_report(NULL, &err);
		verdict_fail(&test.v, argv[0], &err);
	} else if (opt_expect.n || cli_common.json) {
		judge(&c, &test);
	} else {
		/* Nothing was asked for but the values. */
		print_outputs(&c);
		test.v.excluded = true;
	}
	if (!cli_common.json)
		run_put_case(stdout, &test, true);
	rc = report_all(&reports, &test.v, 1, verdict_exit(&test.v));
	run_case_release(&test);
	release(&c);
	return rc;
}
