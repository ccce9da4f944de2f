/* SPDX-License-Identifier: Apache-2.0 */
/* tp-inspect.c - show what is inside model files */
#include "inspect/inspect.h"

#include "cli_json.h"
#include "seen.h"
#include "text.h"
#include "untrusted.h"

struct inspect_options inspect_options;

static const char *const sorts[] = {"file", "name", "size", "offset", NULL};

static const struct cli_option options[] = {
    {CLI_HEADING,
	.help = "What to show (default: a line a tensor, and totals)"},
    {CLI_FLAG, 'l', "long", NULL, &inspect_options.all_columns,
	.help = "also offset, alignment, encoding, checksum, strides, sharing"},
    {CLI_FLAG, 't', "tree", NULL, &inspect_options.tree,
	.help = "names as a tree, equal numbered layers folded"},
    {CLI_FLAG, 'm', "metadata", NULL, &inspect_options.metadata,
	.help = "metadata"},
    {CLI_FLAG, 'g', "graph", NULL, &inspect_options.graph,
	.help = "ONNX: inputs, outputs, operators, opsets, producer"},
    {CLI_FLAG, 's', "stats", NULL, &inspect_options.stats,
	.help = "minimum, maximum, mean, standard deviation, zeros, NaN, Inf"},
    {CLI_FLAG, 0, "histogram", NULL, &inspect_options.histogram,
	.help = "how the values of each tensor are distributed"},
    {CLI_LIST, 0, "values", "NAME[SLICE]", &inspect_options.values,
	.help = "values as NumPy prints them, for example 'w[0:2, ::3]' "
		"(repeatable)"},
    {CLI_FLAG, 0, "hash", NULL, &inspect_options.hash,
	.help = "SHA-256 of dtype, shape and bytes of each tensor"},
    {CLI_HEADING, .help = "Which tensors, and how"},
    CLI_FILTER_OPTIONS(inspect_options.filter),
    {CLI_CHOICE, 0, "sort", "KEY", &inspect_options.sort,
	.help = "order by name, size (largest first), offset, or as in the "
		"file (default)",
	.choices = sorts},
    {CLI_STRING, 0, "from", "FMT", &inspect_options.from,
	.help = "read as FMT (default: by content)"},
    {CLI_HEADING, .help = "Files from anyone"},
    CLI_UNTRUSTED_OPTIONS("no"),
    {.kind = CLI_END},
};

static const char *
check_options(void)
{
	return cli_format_check("from", inspect_options.from);
}

static const struct cli_app app = {
    .name = "tp-inspect",
    .synopsis = "[options] FILE...",
    .summary =
	"Show what is inside model files: safetensors (also shard sets), "
	"ONNX, and native. FILE may be - for standard input.",
    .options = options,
    .min_args = 1,
    .check = check_options,
};

/* A blank line between sections, none before the first. */
static void
put_gap(bool *any)
{
	if (*any)
		putc('\n', stdout);
	*any = true;
}

static void
put_sections(struct inspect_file *f)
{
	const struct inspect_options *o = &inspect_options;
	bool measured = o->stats || o->histogram || o->hash;
	bool chosen =
	    o->tree || o->metadata || o->graph || measured || o->values.n;
	bool any = false;

	if (o->metadata) {
		put_gap(&any);
		inspect_metadata(f);
	}
	if (o->graph) {
		put_gap(&any);
		inspect_graph(f);
	}
	if (o->tree) {
		put_gap(&any);
		inspect_tree(f);
	}
	if (o->all_columns || !chosen) {
		put_gap(&any);
		inspect_list(f);
		if (f->n)
			putc('\n', stdout);
		inspect_put_totals(f);
	}
	if (measured) {
		put_gap(&any);
		inspect_measured(f);
	}
	if (o->values.n) {
		put_gap(&any);
		inspect_values(f);
	}
}

/* One file, as text (j NULL), with a title if there are several. */
static int
inspect(const char *path, struct tp_json *j, bool title)
{
	static bool any;
	static struct cli_seen seen;
	struct tp_open_options open = {.format = inspect_options.from,
	    .limits = cli_untrusted_limits(),
	    .warn = cli_warn};
	struct inspect_file f = {.path = path};
	struct tp_err err = TP_ERR_INIT;

	/* All shards of a set name the same model. */
	if (cli_seen_has(&seen, path))
		return CLI_OK;
	if (tp_open(path, &open, &f.r, &err)) {
		if (j)
			inspect_json_failed(j, path, &err);
		return cli_untrusted_report(path, &err);
	}
	if (cli_common.verbose)
		cli_message_about(path, "%s, %zu tensors in %zu storages",
		    tp_format_name(tp_reader_format(f.r)),
		    tp_reader_n_entries(f.r), tp_reader_n_storages(f.r));
	if (title) {
		put_gap(&any);
		fputs(cli_colour(CLI_BOLD), stdout);
		cli_put_text(stdout, tp_str(cli_path_text(path)));
		printf(":%s\n", cli_colour(CLI_PLAIN));
	}
	if (inspect_select(&f)) {
		if (j)
			inspect_json_file(j, &f);
		else
			put_sections(&f);
	}
	if (tp_reader_check_files(f.r, &err))
		f.status = cli_worst(f.status, cli_report(NULL, &err));
	inspect_select_release(&f);
	cli_seen_add(&seen, f.r);
	tp_close(f.r);
	return f.status;
}

static int
inspect_all(int argc, char **argv, int first)
{
	struct tp_json json;
	int rc = CLI_OK;

	if (!cli_common.json) {
		for (int i = first; i < argc; i++)
			rc = cli_worst(
			    rc, inspect(argv[i], NULL, argc - first > 1));
		return rc;
	}
	tp_json_init(&json, cli_json_write, stdout, TP_JSON_PRETTY);
	tp_json_object_begin(&json);
	cli_untrusted_put_json(&json);
	tp_json_key(&json, "files");
	tp_json_array_begin(&json);
	for (int i = first; i < argc; i++)
		rc = cli_worst(rc, inspect(argv[i], &json, false));
	tp_json_array_end(&json);
	cli_json_end(&json);
	return rc;
}

int
main(int argc, char **argv)
{
	int first = cli_parse(&app, argc, argv);
	struct sandbox_plan plan = {.paths = NULL};
	int rc;

	for (int i = first; i < argc; i++)
		sandbox_plan_add(&plan, SANDBOX_READ, argv[i]);
	rc = cli_untrusted_enter(CLI_TRUSTED, &plan);
	if (rc == CLI_OK)
		rc = inspect_all(argc, argv, first);

	cli_list_release(&inspect_options.values);
	cli_list_release(&inspect_options.filter.include);
	cli_list_release(&inspect_options.filter.exclude);
	return cli_finish(rc);
}
