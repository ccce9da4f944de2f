/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.c - tp-verify manifest: the weights of a model as one list of hashes
 *
 * A tensor's hash is that of its dtype, shape and little-endian bytes
 * (tensor_hash.h), so nothing of a format is in it: not how names are ordered,
 * what is shared, sharded or compressed, where the bytes lie. Names are those
 * that tp-inspect shows; ONNX tensors of inner graphs have that of their scope
 * in front. A sparse tensor counts as its dense form, a quantized one as its
 * stored integers (its scales are tensors of their own). Metadata and the graph
 * do not count.
 */
#include "manifest.h"

#include <stdlib.h>
#include <string.h>

#include "tp/alloc.h"
#include "tp/format.h"
#include "tp/json.h"
#include "tp/parallel.h"

#include "cli_json.h"
#include "glob.h"
#include "progress.h"
#include "report.h"
#include "sums.h"
#include "tensor_hash.h"
#include "text.h"
#include "untrusted.h"
#include "verdict.h"

static const char *opt_check, *opt_from;
static struct cli_filter filter;
static struct report_options reports;

static const struct cli_option options[] = {
    {CLI_STRING, 'c', "check", "SUMS", &opt_check,
	.help = "compare with the manifest in SUMS instead of printing one"},
    {CLI_HEADING, .help = "Which tensors"},
    CLI_FILTER_OPTIONS(filter),
    {CLI_STRING, 0, "from", "FMT", &opt_from,
	.help = "read as FMT (default: by content)"},
    {CLI_HEADING, .help = "Files from anyone"},
    CLI_UNTRUSTED_OPTIONS("no"),
    {CLI_HEADING, .help = "Reports (with --check)"},
    REPORT_OPTIONS(reports),
    {.kind = CLI_END},
};

static const char *
check_options(void)
{
	if (!opt_check && (reports.json || reports.junit))
		return "reports are those of --check";
	return cli_format_check("from", opt_from);
}

const struct cli_app manifest_app = {
    .name = "tp-verify manifest",
    .synopsis = "[options] FILE\n--check SUMS [options] [FILE...]",
    .summary =
	"Print the SHA-256 of each tensor (dtype, shape, bytes) with its "
	"name, and that of the whole model. The same weights give the same "
	"text in any format.",
    .options = options,
    .check = check_options,
};

/* The tensors of a model that were chosen, ordered by name. */
struct chosen {
	struct tp_reader *r;
	size_t *entries;
	struct sum *sums;
	struct tp_err **errors; /* NULL: could be read */
	size_t n, cap;
};

static const struct tp_entry *
entry_of(const struct chosen *c, size_t i)
{
	return tp_reader_entry(c->r, c->entries[i]);
}

/* Stands for an error that there is no memory to keep. */
static struct tp_err no_memory = {
    TP_ENOMEM, TP_NO_OFFSET, "out of memory for an error"};

static void
chosen_release(struct chosen *c)
{
	for (size_t i = 0; c->errors && i < c->n; i++)
		if (c->errors[i] && c->errors[i] != &no_memory)
			tp_mem_free(NULL, c->errors[i], 1, sizeof(no_memory));
	if (c->entries)
		tp_mem_free(NULL, c->entries, c->cap, sizeof(*c->entries));
	if (c->sums)
		tp_mem_free(NULL, c->sums, c->cap, sizeof(*c->sums));
	if (c->errors)
		tp_mem_free(NULL, c->errors, c->cap, sizeof(*c->errors));
	*c = (struct chosen){.r = c->r};
}

/* For qsort, which gives no context. */
static const struct tp_reader *sorted_reader;

static int
by_name(const void *a, const void *b)
{
	return tp_str_cmp(
	    tp_reader_entry(sorted_reader, *(const size_t *)a)->name,
	    tp_reader_entry(sorted_reader, *(const size_t *)b)->name);
}

/* A tp_part_fn */
static void
hash_one(void *ctx, size_t i)
{
	struct chosen *c = ctx;

	struct tp_err err = TP_ERR_INIT, *kept;

	c->sums[i].name = entry_of(c, i)->name;
	if (!tensor_hash(c->r, c->entries[i], c->sums[i].hash, &err))
		return;
	kept = tp_mem_array(NULL, 1, sizeof(*kept));
	if (kept)
		*kept = err;
	c->errors[i] = kept ? kept : &no_memory;
}

/* Choose and hash; false without memory. */
static bool
choose(struct chosen *c)
{
	size_t n = tp_reader_n_entries(c->r);
	uint64_t nbytes = 0;

	c->cap = n ? n : 1;
	c->entries = tp_mem_array(NULL, c->cap, sizeof(*c->entries));
	if (!c->entries)
		return false;
	for (size_t i = 0; i < n; i++)
		if (cli_filter_takes(&filter, tp_reader_entry(c->r, i)->name)) {
			c->entries[c->n++] = i;
			nbytes += tp_reader_entry(c->r, i)->nbytes;
		}
	sorted_reader = c->r;
	qsort(c->entries, c->n, sizeof(*c->entries), by_name);
	c->sums = tp_mem_array(NULL, c->cap, sizeof(*c->sums));
	c->errors = tp_mem_array(NULL, c->cap, sizeof(*c->errors));
	if (!c->sums || !c->errors)
		return false;
	cli_progress_begin("hashing", nbytes);
	tp_parallel((unsigned)cli_common.threads, c->n, hash_one, c);
	cli_progress_end();
	return true;
}

/*
 * ---- printing ----
 */

static void
put_json(const char *path, const struct chosen *c, const uint8_t *whole)
{
	char text[SHA256_TEXT_SIZE];
	struct tp_json j;

	cli_json_begin(&j, stdout, "tp-verify");
	cli_json_text(&j, "command", "manifest");
	cli_json_text(&j, "file", path);
	cli_json_text(&j, "sha256", sha256_text(whole, text));
	cli_untrusted_put_json(&j);
	tp_json_key(&j, "tensors");
	tp_json_array_begin(&j);
	for (size_t i = 0; i < c->n; i++) {
		const struct tp_entry *e = entry_of(c, i);

		tp_json_object_begin(&j);
		cli_json_str(&j, "name", e->name);
		cli_json_text(&j, "dtype", tp_dtype_name(e->dtype));
		cli_json_sizes(&j, "shape", e->shape, e->rank);
		cli_json_text(&j, "sha256", sha256_text(c->sums[i].hash, text));
		tp_json_object_end(&j);
	}
	tp_json_array_end(&j);
	cli_json_end(&j);
}

/* Part of a manifest is none: all hashes, or nothing. */
static int
print_manifest(const char *path, const struct chosen *c)
{
	uint8_t hash[SHA256_SIZE];
	struct sha256 whole;
	FILE *out = cli_common.json ? NULL : stdout;
	bool good = true;

	sha256_init(&whole);
	for (size_t i = 0; good && i < c->n; i++)
		good = sums_put(out, &whole, &c->sums[i]);
	sha256_end(&whole, hash);
	if (!good) {
		cli_message_about(path, "out of memory");
		return CLI_INPUT;
	}
	if (cli_common.json)
		put_json(path, c, hash);
	else
		sums_put_whole(stdout, hash, c->n);
	return CLI_OK;
}

/* A manifest that could not be made is told as other verdicts are. */
static int
fail(const char *path, const struct tp_err *err)
{
	struct verdict v;
	int rc;

	verdict_init(&v, "manifest", path, NULL);
	verdict_fail(&v, path, err);
	rc = report_all(&reports, &v, 1, verdict_exit(&v));
	verdict_release(&v);
	return rc;
}

/* All that is wrong; the first in err. */
static enum tp_status
report_errors(const char *path, const struct chosen *c, struct tp_err *err)
{
	err->status = TP_OK;
	for (size_t i = 0; i < c->n; i++) {
		if (!c->errors[i])
			continue;
		cli_report(path, c->errors[i]);
		if (!err->status)
			*err = *c->errors[i];
	}
	return err->status;
}

static enum tp_status
choose_all(const char *path, struct chosen *c, struct tp_err *err)
{
	if (!choose(c)) {
		tp_fail(err, TP_ENOMEM, TP_NO_OFFSET, "out of memory");
		cli_report(path, err);
	} else if (c->n == 0 && tp_reader_n_entries(c->r)) {
		tp_fail(
		    err, TP_ENOTFOUND, TP_NO_OFFSET, "no tensor was chosen");
		cli_report(path, err);
	} else if (!report_errors(path, c, err) &&
		   tp_reader_check_files(c->r, err)) {
		cli_report(path, err);
	}
	return err->status;
}

static int
make_manifest(const char *path)
{
	struct tp_open_options open = {.format = opt_from,
	    .limits = cli_untrusted_limits(),
	    .warn = cli_warn};
	struct tp_err err = TP_ERR_INIT;
	struct chosen c = {.r = NULL};
	int rc;

	if (tp_open(path, &open, &c.r, &err)) {
		cli_untrusted_report(path, &err);
		return fail(path, &err);
	}
	rc = choose_all(path, &c, &err) ? fail(path, &err)
					: print_manifest(path, &c);
	chosen_release(&c);
	tp_close(c.r);
	return rc;
}

/*
 * ---- checking ----
 */

static void
judge(struct verdict *v, const struct sums *s, const struct chosen *c, size_t i,
    bool *seen)
{
	const struct tp_entry *e = entry_of(c, i);
	struct verdict_item item = {.name = e->name,
	    .status = VERDICT_EQUAL,
	    .n_elems = e->n_elems,
	    .nbytes = e->nbytes,
	    .rank = e->rank,
	    .shape = e->shape};
	char reason[TP_ERR_MSG_SIZE + 80];
	size_t at;

	if (!tp_map_find(&s->by_name, e->name, &at)) {
		item.status = VERDICT_EXTRA;
		item.kind = "extra";
		item.reason = "not in the manifest";
	} else if (c->errors[i]) {
		seen[at] = true;
		item.status = VERDICT_NOT_COMPARED;
		item.kind = "unreadable";
		item.exit = cli_exit_of(c->errors[i]->status);
		snprintf(reason, sizeof(reason), "%s: %s",
		    tp_status_text(c->errors[i]->status), c->errors[i]->msg);
		item.reason = reason;
	} else {
		seen[at] = true;
		if (memcmp(s->items[at].hash, c->sums[i].hash, SHA256_SIZE)) {
			item.status = VERDICT_DIFFERENT;
			item.kind = "changed";
			item.reason = "dtype, shape or values are not those "
				      "of the manifest";
		}
	}
	verdict_add(v, &item);
}

static void
compare(struct verdict *v, const struct sums *s, const struct chosen *c)
{
	bool *seen = tp_mem_array(NULL, s->n ? s->n : 1, sizeof(*seen));

	if (!seen) {
		v->no_memory = true;
		return;
	}
	for (size_t i = 0; i < c->n; i++)
		judge(v, s, c, i, seen);
	for (size_t i = 0; i < s->n; i++)
		if (!seen[i] && cli_filter_takes(&filter, s->items[i].name))
			verdict_add(
			    v, &(struct verdict_item){.name = s->items[i].name,
				   .status = VERDICT_MISSING,
				   .kind = "missing",
				   .reason = "only in the manifest"});
	tp_mem_free(NULL, seen, s->n ? s->n : 1, sizeof(*seen));
}

static void
put_verdict(const struct verdict *v)
{
	char buf[REPORT_WHY_SIZE];
	const char *why = report_why(v, buf);

	for (size_t i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];

		if (item->status == VERDICT_EQUAL && !cli_common.verbose)
			continue;
		printf("%s: ", report_status_name(v, item->status));
		cli_put_name(stdout, item->name, CLI_NAME_COLUMNS);
		if (item->status == VERDICT_NOT_COMPARED && item->reason) {
			fputs(": ", stdout);
			cli_put_text(stdout, tp_str(item->reason));
		}
		putc('\n', stdout);
	}
	cli_put_text(stdout, tp_str(cli_path_text(v->paths[0])));
	printf(": %s: %zu compared, %zu equal, %zu changed, %zu missing, "
	       "%zu new, %zu not compared",
	    verdict_exit(v) == CLI_OK ? "passed" : "failed",
	    verdict_compared(v).tensors, v->totals[VERDICT_EQUAL].tensors,
	    v->totals[VERDICT_DIFFERENT].tensors,
	    v->totals[VERDICT_MISSING].tensors,
	    v->totals[VERDICT_EXTRA].tensors,
	    v->totals[VERDICT_NOT_COMPARED].tensors);
	if (why) {
		fputs(": ", stdout);
		cli_put_text(stdout, tp_str(why));
	}
	putc('\n', stdout);
}

static void
check_file(
    struct verdict *v, struct chosen *c, const char *path, const struct sums *s)
{
	struct tp_open_options open = {.format = opt_from,
	    .limits = cli_untrusted_limits(),
	    .warn = cli_warn};
	struct tp_err err = TP_ERR_INIT;

	verdict_init(v, "manifest", path, NULL);
	if (tp_open(path, &open, &c->r, &err)) {
		cli_untrusted_report(path, &err);
		verdict_fail(v, path, &err);
	} else if (choose(c)) {
		compare(v, s, c);
	} else {
		v->no_memory = true;
	}
	if (c->r && tp_reader_check_files(c->r, &err)) {
		cli_report(path, &err);
		verdict_fail(v, path, &err);
	}
	if (!cli_common.json)
		put_verdict(v);
}

static int
check_files(const struct sums *s, int n, char **paths)
{
	struct verdict *v = tp_mem_array(NULL, (size_t)n, sizeof(*v));
	struct chosen *c = tp_mem_array(NULL, (size_t)n, sizeof(*c));
	int rc = CLI_OK;

	if (!v || !c) {
		cli_message("out of memory");
		rc = CLI_INPUT;
	}
	for (int i = 0; v && c && i < n; i++) {
		check_file(&v[i], &c[i], paths[i], s);
		rc = cli_worst(rc, verdict_exit(&v[i]));
	}
	if (v && c)
		rc = report_all(&reports, v, (size_t)n, rc);
	for (int i = 0; v && c && i < n; i++) {
		verdict_release(&v[i]);
		chosen_release(&c[i]);
		tp_close(c[i].r);
	}
	if (v)
		tp_mem_free(NULL, v, (size_t)n, sizeof(*v));
	if (c)
		tp_mem_free(NULL, c, (size_t)n, sizeof(*c));
	return rc;
}

static int
enter_sandbox(int n_args, char **argv)
{
	struct sandbox_plan plan = {.paths = NULL};

	sandbox_plan_add(&plan, SANDBOX_READ_ONE, opt_check);
	for (int i = 0; i < n_args; i++)
		sandbox_plan_add(&plan, SANDBOX_READ, argv[i]);
	report_plan(&reports, &plan);
	return cli_untrusted_enter(CLI_TRUSTED, &plan);
}

static int
check_against_sums(int n_args, char **argv)
{
	char dash[] = "-", *standard_input[] = {dash};
	struct tp_err err = TP_ERR_INIT;
	struct sums s;
	int rc;

	if (sums_read(&s, opt_check, &err))
		return report_unreadable(&reports, "manifest", opt_check, &err);
	rc = n_args ? check_files(&s, n_args, argv)
		    : check_files(&s, 1, standard_input);
	sums_release(&s);
	return rc;
}

int
manifest_run(int n_args, char **argv)
{
	int rc = CLI_USAGE;

	if (!opt_check && n_args != 1)
		cli_message("a manifest is that of one FILE");
	else
		rc = enter_sandbox(n_args, argv);
	if (rc == CLI_OK)
		rc = opt_check ? check_against_sums(n_args, argv)
			       : make_manifest(argv[0]);
	cli_list_release(&filter.include);
	cli_list_release(&filter.exclude);
	return rc;
}
