/* SPDX-License-Identifier: Apache-2.0 */
/* tp-convert.c - one or more model files into one of another format */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tp/transfer.h"

#include "cli.h"
#include "convert/report.h"
#include "convert/rules.h"
#include "glob.h"
#include "progress.h"
#include "seen.h"
#include "untrusted.h"

/* Bytes of a tensor that may lie beside an ONNX model. */
#define DEFAULT_THRESHOLD 1024

static const char *opt_from, *opt_to, *opt_graph;
static struct rules rules;
static int opt_overflow, opt_constants, opt_external, opt_sync;
static struct cli_list opt_metadata;
static bool opt_no_metadata, opt_verify, opt_dry_run, opt_force;
static uint64_t opt_shard_size, opt_align;
static uint64_t opt_threshold = DEFAULT_THRESHOLD;
static int64_t opt_compress;
static unsigned opt_allow_loss;

/* --allow-loss KIND,KIND,… */
static const char *
parse_losses(const struct cli_option *option, const char *text)
{
	char word[32];

	(void)option;
	while (*text) {
		size_t n = strcspn(text, ",");
		unsigned kind = 0;

		if (n > 0 && n < sizeof(word)) {
			memcpy(word, text, n);
			word[n] = '\0';
			kind = tp_loss_find(word);
		}
		if (!kind)
			return "kinds are metadata, dtype, alias, name, "
			       "strides, quantization, sparse, all";
		opt_allow_loss |= kind;
		text += n + (text[n] == ',');
	}
	return NULL;
}

static const char *
parse_metadata(const struct cli_option *option, const char *text)
{
	(void)option;
	return strchr(text, '=') ? NULL : "no '=' between key and value";
}

static const char *const overflows[] = {"error", "saturate", "inf", NULL};
static const char *const constants[] = {"keep", "extract", NULL};
static const char *const externals[] = {"auto", "always", "never", NULL};
static const char *const syncs[] = {"auto", "always", "never", NULL};

/* clang-format off */
static const struct cli_option options[] = {
    {CLI_HEADING, .help = "Formats"},
    {CLI_STRING, 'f', "from", "FMT", &opt_from,
	.help = "the format of the inputs, else told by their content"},
    {CLI_STRING, 't', "to", "FMT", &opt_to,
	.help = "the format of the output, else told by its suffix"},

    {CLI_HEADING, .help = "Tensors"},
    CLI_FILTER_OPTIONS(rules.filter),
    {CLI_LIST, 'd', "dtype", "[GLOB=]TYPE", &rules.dtype,
	.help = "convert tensors whose name matches GLOB to TYPE; without GLOB those "
	"of the same kind, for example all floats (repeatable, first match "
	"wins)"},
    {CLI_CHOICE, 0, "overflow", "error|saturate|inf", &opt_overflow,
	.help = "what becomes of values that TYPE cannot hold (default error)",
	.choices = overflows},
    {CLI_LIST, 0, "rename", "s/RE/NEW/|OLD=NEW", &rules.rename,
	.help = "rename by regular expression or by name (repeatable, applied in "
	"order)"},
    {CLI_LIST, 0, "strip-prefix", "P", &rules.rename,
	.help = "remove P from the beginning of names"},
    {CLI_LIST, 0, "add-prefix", "P", &rules.rename,
	.help = "put P before all names"},
    {CLI_LIST, 0, "metadata", "K=V", &opt_metadata,
	.help = "set metadata K to V (repeatable)"},
    {CLI_FLAG, 0, "no-metadata", NULL, &opt_no_metadata,
	.help = "do not carry the inputs' metadata over"},
    {CLI_CALL, 0, "allow-loss", "KIND,...", .call = parse_losses, .help =
	"accept what the output cannot hold: metadata, dtype, alias, name, "
	"strides, quantization, sparse, all"},

    {CLI_HEADING, .help = "ONNX"},
    {CLI_STRING, 'g', "graph", "MODEL.onnx", &opt_graph,
	.help = "put the weights into the graph of MODEL.onnx"},
    {CLI_CHOICE, 0, "constants", "keep|extract", &opt_constants,
	.help = "whether Constant nodes count as weights (default extract)",
	.choices = constants},
    {CLI_CHOICE, 0, "external-data", "auto|always|never", &opt_external,
	.help = "store large tensors in a file beside the model (default auto: above "
	"2 GiB)", .choices = externals},
    {CLI_SIZE, 0, "external-threshold", "SIZE", &opt_threshold,
	.help = "tensors smaller than SIZE stay in the model (default 1024)"},

    {CLI_HEADING, .help = "Files from anyone"},
    CLI_UNTRUSTED_OPTIONS("no"),

    {CLI_HEADING, .help = "Output"},
    {CLI_SIZE, 0, "max-shard-size", "SIZE", &opt_shard_size,
	.help = "safetensors: write shards of at most SIZE and their index",
	.min = 1, .max = INT64_MAX},
    {CLI_SIZE, 0, "align", "N", &opt_align,
	.help = "begin tensor data at multiples of N bytes", .min = 1,
	.max = 65536},
    {CLI_INT, 'z', "compress", "LEVEL", &opt_compress,
	.help = "native: deflate tensor data (1 to 9, default 6)", .without = "6",
	.min = 1, .max = 9},
    {CLI_FLAG, 0, "verify", NULL, &opt_verify,
	.help = "read the output back and prove it equal"},
    {CLI_FLAG, 'n', "dry-run", NULL, &opt_dry_run,
	.help = "print the plan and write nothing"},
    {CLI_FLAG, 0, "force", NULL, &opt_force,
	.help = "replace an existing output"},
    {CLI_CHOICE, 0, "sync", "auto|always|never", &opt_sync,
	.help = "flush to the disk before renaming (default auto: when a file is "
	"replaced)", .choices = syncs},
    {.kind = CLI_END},
};
/* clang-format on */

static const char *
find_format(const char *name, const char *option)
{
	static char message[200];
	size_t n;

	if (!name || tp_format_find(name))
		return NULL;
	n = (size_t)snprintf(message, sizeof(message),
	    "--%s %.40s: the formats are", option, name);
	for (size_t i = 0; tp_format_at(i) && n < sizeof(message); i++)
		n += (size_t)snprintf(message + n, sizeof(message) - n, "%s %s",
		    i ? "," : "", tp_format_name(tp_format_at(i)));
	return message;
}

static const char *
check(void)
{
	const char *wrong = find_format(opt_from, "from");

	if (!wrong)
		wrong = find_format(opt_to, "to");
	if (!wrong)
		wrong = rules_parse(&rules);
	if (wrong)
		return wrong;
	if (opt_align & (opt_align - 1))
		return "--align: not a power of two";
	for (size_t i = 0; i < opt_metadata.n; i++)
		if (parse_metadata(NULL, opt_metadata.items[i].text))
			return "--metadata: no '=' between key and value";
	return NULL;
}

static const struct cli_app app = {
    .name = "tp-convert",
    .synopsis = "[options] INPUT... OUTPUT",
    .summary =
	"Convert model weights between formats. Several inputs become one "
	"output. What the output's format cannot hold is found before anything "
	"is written and refused unless --allow-loss accepts it.",
    .options = options,
    .min_args = 2,
    .check = check,
};

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

/* One conversion: what is open, and what is told about it. */
struct job {
	struct tp_reader **readers;
	size_t n_readers;
	struct tp_reader *graph;
	struct tp_transfer *transfer;
	struct tp_meta *meta;
	const char *path;
	uint64_t progress;
	struct tp_err err;
	const char *err_path; /* of the file that err is about */
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

static int
open_one(
    struct job *j, const char *path, const char *format, struct tp_reader **out)
{
	struct tp_open_options o = {
	    .format = format,
	    .limits = cli_untrusted_limits(),
	    .flags = opt_constants == 0 ? TP_OPEN_KEEP_CONSTANTS : 0,
	    .warn = cli_warn,
	};

	if (!tp_open(path, &o, out, &j->err))
		return CLI_OK;
	fail(j, path);
	cli_untrusted_hint(&j->err);
	return cli_exit_of(j->err.status);
}

/* Every input is tried, so that all bad ones are told at once. */
static int
open_inputs(struct job *j, char **paths, size_t n)
{
	struct cli_seen seen = {NULL, 0};
	int rc = CLI_OK;

	j->readers = calloc(n, sizeof(struct tp_reader *));
	if (!j->readers) {
		tp_fail(&j->err, TP_ENOMEM, TP_NO_OFFSET, "no memory");
		return fail(j, NULL);
	}
	for (size_t i = 0; i < n; i++) {
		struct tp_reader *r = NULL;

		if (cli_seen_has(&seen, paths[i]))
			continue;
		rc = cli_worst(rc, open_one(j, paths[i], opt_from, &r));
		if (r) {
			cli_seen_add(&seen, r);
			j->readers[j->n_readers++] = r;
		}
	}
	cli_seen_release(&seen);
	if (opt_graph)
		rc = cli_worst(rc, open_one(j, opt_graph, NULL, &j->graph));
	return rc;
}

static struct tp_transfer_options
transfer_options(struct job *j)
{
	static const enum tp_overflow policies[] = {
	    TP_OVERFLOW_ERROR, TP_OVERFLOW_SATURATE, TP_OVERFLOW_INF};

	return (struct tp_transfer_options){
	    .create = {.format = opt_to,
		.force = opt_force,
		.hold = opt_verify,
		.sync = (enum tp_sync)opt_sync,
		.align = opt_align,
		.compress = (int)opt_compress,
		.max_shard_size = opt_shard_size,
		.external = (enum tp_external)opt_external,
		/* 0 there is the default; here it is every size. */
		.external_threshold = opt_threshold ? opt_threshold : 1},
	    .choose = rules_choose,
	    .choose_ctx = &rules,
	    .overflow = policies[opt_overflow],
	    .allow_loss = opt_allow_loss,
	    .drop_meta = opt_no_metadata,
	    .set_meta = j->meta,
	    .n_set_meta = opt_metadata.n,
	    .graph = j->graph,
	    .max_memory = cli_common.max_memory,
	    .n_threads = (unsigned)cli_common.threads,
	    .progress = on_progress,
	    .progress_ctx = &j->progress,
	};
}

static int
make_plan(struct job *j)
{
	struct tp_transfer_options o;

	j->meta = calloc(opt_metadata.n + 1, sizeof(*j->meta));
	if (!j->meta) {
		tp_fail(&j->err, TP_ENOMEM, TP_NO_OFFSET, "no memory");
		return fail(j, NULL);
	}
	for (size_t i = 0; i < opt_metadata.n; i++) {
		const char *text = opt_metadata.items[i].text;
		const char *equals = strchr(text, '=');

		j->meta[i].key = (struct tp_str){text, (size_t)(equals - text)};
		j->meta[i].value = tp_str(equals + 1);
	}
	o = transfer_options(j);
	if (tp_transfer_plan(
		j->readers, j->n_readers, j->path, &o, &j->transfer, &j->err))
		return fail(j, NULL);
	if (rules_finish(&rules, &j->err))
		return fail(j, NULL);
	for (size_t i = 0; i < tp_transfer_n_notes(j->transfer); i++)
		cli_note("%s", tp_transfer_note(j->transfer, i));
	return CLI_OK;
}

/* Options that the output's format knows nothing about are a mistake. */
static int
check_options(struct job *j)
{
	const char *format = tp_format_name(tp_transfer_format(j->transfer));
	const struct {
		bool given;
		const char *option, *format;
	} rows[] = {
	    {opt_compress != 0, "compress", "native"},
	    {opt_shard_size != 0, "max-shard-size", "safetensors"},
	    {opt_external != 0, "external-data", "onnx"},
	    {opt_threshold != DEFAULT_THRESHOLD, "external-threshold", "onnx"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].given && strcmp(rows[i].format, format) != 0) {
			tp_fail(&j->err, TP_EARG, TP_NO_OFFSET,
			    "--%s is for %s outputs, this one is %s",
			    rows[i].option, rows[i].format, format);
			return fail(j, NULL);
		}
	return CLI_OK;
}

static int
refuse(struct job *j)
{
	size_t n = tp_transfer_n_losses(j->transfer);

	j->status = "refused";
	cli_message_about(j->path,
	    "%s cannot hold %zu thing%s; --allow-loss KIND,... accepts by kind",
	    tp_format_name(tp_transfer_format(j->transfer)), n,
	    n == 1 ? "" : "s");
	if (!opt_dry_run)
		report_losses(stderr, j->transfer);
	return cli_exit_of(j->err.status);
}

/* Whether the output could be made, as far as a plan can tell. */
static int
check_output(struct job *j)
{
	struct stat st;

	if (opt_force || !strcmp(j->path, "-") || stat(j->path, &st) ||
	    !S_ISREG(st.st_mode))
		return CLI_OK;
	tp_fail(&j->err, TP_EOUTPUT, TP_NO_OFFSET,
	    "exists already; --force replaces it");
	return fail(j, j->path);
}

static int
write_output(struct job *j)
{
	enum tp_status rc;

	cli_progress_begin("writing", tp_transfer_nbytes(j->transfer));
	rc = tp_transfer_run(j->transfer, &j->err);
	cli_progress_end();
	if (rc)
		return fail(j,
		    rc == TP_EOUTPUT || rc == TP_EUNSUPPORTED ? j->path : NULL);
	j->status = "written";
	if (!opt_verify)
		return CLI_OK;

	j->progress = 0;
	cli_progress_begin("verifying", tp_transfer_nbytes(j->transfer));
	rc = tp_transfer_verify(j->transfer, &j->err);
	cli_progress_end();
	if (rc)
		return fail(j, j->path);
	j->verified = true;
	return CLI_OK;
}

static int
convert(struct job *j, char **paths, size_t n_paths)
{
	int rc = open_inputs(j, paths, n_paths);

	if (!rc)
		rc = make_plan(j);
	if (!rc)
		rc = check_options(j);
	if (!rc && opt_dry_run) {
		j->status = "planned";
		if (tp_transfer_check(j->transfer, &j->err))
			return refuse(j);
		return check_output(j);
	}
	if (!rc && tp_transfer_check(j->transfer, &j->err))
		return refuse(j);
	return rc ? rc : write_output(j);
}

static void
report(const struct job *j)
{
	struct report r = {
	    .status = j->status,
	    .readers = j->readers,
	    .n_readers = j->n_readers,
	    .graph = j->graph,
	    .path = j->path,
	    .transfer = j->transfer,
	    .verified = j->verified,
	    .err = strcmp(j->status, "failed") ? NULL : &j->err,
	    .err_path = j->err_path,
	};
	bool to_stdout = strcmp(j->path, "-") != 0;

	if (cli_common.json)
		report_json(stdout, &r);
	else if (!cli_common.quiet && j->transfer &&
		 (opt_dry_run || !strcmp(j->status, "written")))
		report_text(to_stdout ? stdout : stderr, &r,
		    cli_common.verbose || opt_dry_run);
}

static void
release(struct job *j)
{
	tp_transfer_free(j->transfer);
	tp_close(j->graph);
	for (size_t i = 0; i < j->n_readers; i++)
		tp_close(j->readers[i]);
	free(j->readers);
	free(j->meta);
	rules_release(&rules);
	cli_list_release(&opt_metadata);
}

static int
enter_sandbox(const struct job *j, char **paths, size_t n_paths)
{
	struct sandbox_plan plan = {.paths = NULL};

	for (size_t i = 0; i < n_paths; i++)
		sandbox_plan_add(&plan, SANDBOX_READ, paths[i]);
	sandbox_plan_add(&plan, SANDBOX_READ, opt_graph);
	if (!opt_dry_run)
		sandbox_plan_add(&plan, SANDBOX_WRITE, j->path);
	return cli_untrusted_enter(CLI_TRUSTED, &plan);
}

int
main(int argc, char **argv)
{
	struct job j = {.err = TP_ERR_INIT, .status = "failed"};
	int first, rc;

	opt_constants = 1;
	first = cli_parse(&app, argc, argv);
	j.path = argv[argc - 1];
	if (!strcmp(j.path, "-") && (cli_common.json || opt_verify)) {
		cli_message("--json and --verify need an output that is a "
			    "file");
		return CLI_USAGE;
	}
	cli_catch_signals();
	rc = enter_sandbox(&j, argv + first, (size_t)(argc - 1 - first));
	if (rc == CLI_OK) {
		rc = convert(&j, argv + first, (size_t)(argc - 1 - first));
		report(&j);
	}
	release(&j);
	rc = cli_finish(rc);
	cli_end_by_signal();
	return rc;
}
