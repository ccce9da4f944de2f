/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - tp-verify ops: which operators there are */
#include "op.h"

#include <stdlib.h>
#include <string.h>

#include "cli_json.h"
#include "glob.h"

static const struct cli_option options[] = {{.kind = CLI_END}};

const struct cli_app ops_app = {
    .name = "tp-verify ops",
    .synopsis = "[options] [NAME...]",
    .summary =
	"List the reference operators, or those that NAME (a pattern) names: "
	"domain, opsets, inputs, outputs, dtypes; with --verbose attributes "
	"too.",
    .options = options,
};

void
op_split_name(const char *text, struct tp_str *domain, struct tp_str *name)
{
	const char *colon = strrchr(text, ':');

	*domain = colon ? (struct tp_str){text, (size_t)(colon - text)}
			: (struct tp_str){"", 0};
	*name = tp_str(colon ? colon + 1 : text);
}

/* By domain, name, then opset. */
static int
compare_ops(const void *a, const void *b)
{
	struct tp_op_info x = tp_op_info(*(const struct tp_op *const *)a);
	struct tp_op_info y = tp_op_info(*(const struct tp_op *const *)b);
	int order = strcmp(x.domain, y.domain);

	if (!order)
		order = strcmp(x.onnx, y.onnx);
	return order ? order : x.since - y.since;
}

static bool
is_wanted(const struct tp_op_info *op, int n, char **names)
{
	struct tp_str domain, name;

	for (int i = 0; i < n; i++) {
		op_split_name(names[i], &domain, &name);
		if (cli_glob(name, tp_str(op->onnx)) &&
		    (!domain.len || !tp_str_cmp(domain, tp_str(op->domain))))
			return true;
	}
	return n == 0;
}

/* Those that are wanted, sorted; NULL without memory. */
static const struct tp_op **
gather(int n_names, char **names, size_t *n)
{
	const struct tp_op **ops, *op;
	size_t all = 0;

	while (tp_op_at(all))
		all++;
	ops = calloc(all + 1, sizeof(*ops));
	*n = 0;
	for (size_t i = 0; ops && (op = tp_op_at(i)); i++) {
		struct tp_op_info info = tp_op_info(op);

		if (is_wanted(&info, n_names, names))
			ops[(*n)++] = op;
	}
	if (ops && *n)
		qsort(ops, *n, sizeof(*ops), compare_ops);
	return ops;
}

/* "2", "1-3", "1-*" */
static void
put_count(char *buf, size_t size, unsigned least, unsigned most)
{
	if (least == most)
		snprintf(buf, size, "%u", least);
	else if (most == TP_OP_ANY)
		snprintf(buf, size, "%u-*", least);
	else
		snprintf(buf, size, "%u-%u", least, most);
}

static void
put_dtypes(const struct tp_op *op)
{
	bool all = true;

	for (int d = 1; d < TP_DTYPE_COUNT; d++)
		all = all && (d == TP_DTYPE_STRING ||
				 tp_op_takes(op, (enum tp_dtype)d));
	if (all)
		printf(" all%s",
		    tp_op_takes(op, TP_DTYPE_STRING) ? " string" : "");
	for (int d = 1; d < TP_DTYPE_COUNT && !all; d++)
		if (tp_op_takes(op, (enum tp_dtype)d))
			printf(" %s", tp_dtype_name((enum tp_dtype)d));
}

static void
put_attributes(const struct tp_op *op)
{
	enum tp_attr_kind kind = TP_ATTR_INT;
	const char *name;

	for (size_t i = 0; (name = tp_op_attr_at(op, i, &kind)); i++)
		printf("%s%s (%s)", i ? ", " : "    ", name,
		    tp_attr_kind_name(kind));
	if (tp_op_attr_at(op, 0, &kind))
		putchar('\n');
}

static void
put_op(const struct tp_op *op)
{
	struct tp_op_info o = tp_op_info(op);
	char opsets[24], in[16], out[16], name[100];

	snprintf(name, sizeof(name), "%s%s%s", o.domain, *o.domain ? ":" : "",
	    o.onnx);
	if (o.until)
		put_count(opsets, sizeof(opsets), (unsigned)o.since,
		    (unsigned)o.until);
	else
		snprintf(opsets, sizeof(opsets), "%d-", o.since);
	put_count(in, sizeof(in), o.min_in, o.max_in);
	put_count(out, sizeof(out), o.min_out, o.max_out);
	printf("%-26s %-6s %4s -> %-4s", name, opsets, in, out);
	put_dtypes(op);
	putchar('\n');
	if (cli_common.verbose)
		put_attributes(op);
}

static void
json_range(struct tp_json *j, const char *key, unsigned least, unsigned most)
{
	tp_json_key(j, key);
	tp_json_object_begin(j);
	cli_json_u64(j, "least", least);
	tp_json_key(j, "most");
	if (most == TP_OP_ANY)
		tp_json_null(j);
	else
		tp_json_u64(j, most);
	tp_json_object_end(j);
}

static void
json_op(struct tp_json *j, const struct tp_op *op)
{
	struct tp_op_info o = tp_op_info(op);
	enum tp_attr_kind kind = TP_ATTR_INT;
	const char *name;

	tp_json_object_begin(j);
	cli_json_text(j, "name", o.onnx);
	cli_json_text(j, "domain", o.domain);
	cli_json_u64(j, "since", (uint64_t)o.since);
	tp_json_key(j, "until");
	if (o.until)
		tp_json_i64(j, o.until);
	else
		tp_json_null(j);
	json_range(j, "inputs", o.min_in, o.max_in);
	json_range(j, "outputs", o.min_out, o.max_out);
	tp_json_key(j, "dtypes");
	tp_json_row_begin(j);
	for (int d = 1; d < TP_DTYPE_COUNT; d++)
		if (tp_op_takes(op, (enum tp_dtype)d))
			tp_json_text(j, tp_dtype_name((enum tp_dtype)d));
	tp_json_array_end(j);
	tp_json_key(j, "attributes");
	tp_json_object_begin(j);
	for (size_t i = 0; (name = tp_op_attr_at(op, i, &kind)); i++)
		cli_json_text(j, name, tp_attr_kind_name(kind));
	tp_json_object_end(j);
	tp_json_object_end(j);
}

static void
put_json(const struct tp_op *const *ops, size_t n)
{
	struct tp_json j;

	cli_json_begin(&j, stdout, "tp-verify");
	cli_json_text(&j, "command", "ops");
	tp_json_key(&j, "operators");
	tp_json_array_begin(&j);
	for (size_t i = 0; i < n; i++)
		json_op(&j, ops[i]);
	tp_json_array_end(&j);
	cli_json_end(&j);
}

int
ops_run(int n_args, char **argv)
{
	const struct tp_op **ops;
	size_t n = 0;

	ops = gather(n_args, argv, &n);
	if (!ops) {
		cli_message("out of memory");
		return CLI_INPUT;
	}
	if (cli_common.json)
		put_json(ops, n);
	for (size_t i = 0; i < n && !cli_common.json; i++)
		put_op(ops[i]);
	free(ops);
	if (n == 0) {
		cli_message("no operator of that name");
		return CLI_UNSUPPORTED;
	}
	return CLI_OK;
}
