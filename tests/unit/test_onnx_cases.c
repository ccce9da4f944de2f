/* SPDX-License-Identifier: Apache-2.0 */
/* The ONNX reader over tests/corpus/onnx-cases: all that the manifest says */
#include "support/cmocka_all.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "formats/plugin.h"
#include "support/fail_alloc.h"
#include "support/sha256.h"

/* A line of manifest.tsv. */
struct row {
	char *file, *expect, *note;
	cJSON *facts;
	char path[1024];
};

/* What is wrong with a row, collected so that one run shows all of them. */
static int n_wrong;
static const char *current;

#define CHECK(condition, ...)                    \
	do {                                     \
		if (!(condition)) {              \
			n_wrong++;               \
			printf("%s: ", current); \
			printf(__VA_ARGS__);     \
			printf("\n");            \
		}                                \
	} while (0)

static int
next_row(FILE *f, struct row *row)
{
	static char line[1 << 20];
	char *facts;

	do {
		if (!fgets(line, sizeof(line), f))
			return 0;
	} while (line[0] == '#');
	line[strcspn(line, "\n")] = 0;
	row->file = line;
	row->expect = strchr(row->file, '\t');
	assert_non_null(row->expect);
	*row->expect++ = 0;
	facts = strchr(row->expect, '\t');
	assert_non_null(facts);
	*facts++ = 0;
	row->note = strchr(facts, '\t');
	assert_non_null(row->note);
	*row->note++ = 0;
	row->facts = cJSON_Parse(facts);
	assert_non_null(row->facts);
	snprintf(row->path, sizeof(row->path), "%s/%s", ONNX_CASES, row->file);
	current = row->file;
	return 1;
}

static const char *
text(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsString(v) ? v->valuestring : NULL;
}

/* The digest of all a stream gives, in pieces of an odd size. */
static void
digest(struct tp_stream *s, char hex[65])
{
	uint8_t buf[37];
	struct sha256 h;
	size_t n;

	sha256_init(&h);
	while (tp_stream_left(s)) {
		n = tp_stream_left(s) < sizeof(buf) ? (size_t)tp_stream_left(s)
						    : sizeof(buf);
		if (tp_stream_read(s, buf, n, NULL)) {
			snprintf(hex, 65, "a read failed");
			return;
		}
		sha256_add(&h, buf, n);
	}
	sha256_hex(&h, hex);
}

static void
check_sparse(struct tp_reader *r, const struct tp_entry *e, const cJSON *facts)
{
	const cJSON *shape =
	    cJSON_GetObjectItemCaseSensitive(facts, "indices_shape");
	struct tp_stream *s = NULL;
	char hex[65] = "";

	CHECK(e->sparse != NULL, "%s is not sparse", e->local.s);
	if (!e->sparse)
		return;
	CHECK((double)e->sparse->n_values ==
		  cJSON_GetObjectItemCaseSensitive(facts, "nnz")->valuedouble,
	    "%" PRIu64 " values", e->sparse->n_values);
	CHECK(e->sparse->coordinates == (cJSON_GetArraySize(shape) == 2),
	    "coordinates");
	CHECK(tp_stream_storage(r, e->storage, &s, NULL) == TP_OK, "values");
	digest(s, hex);
	tp_stream_close(s);
	CHECK(!strcmp(hex, text(facts, "values_sha256")), "values: %s", hex);
	CHECK(tp_stream_storage(r, e->sparse->indices, &s, NULL) == TP_OK,
	    "indices");
	digest(s, hex);
	tp_stream_close(s);
	CHECK(!strcmp(hex, text(facts, "indices_sha256")), "indices: %s", hex);
}

static void
check_quant(struct tp_reader *r, const struct tp_entry *e, const cJSON *facts)
{
	const char *scale = text(facts, "scale");
	const char *zero = text(facts, "zero_point");
	const cJSON *axis = cJSON_GetObjectItemCaseSensitive(facts, "axis");
	const struct tp_quant_info *q = e->quant;
	int want;

	CHECK(q != NULL, "%s is not quantized", e->local.s);
	if (!q)
		return;
	CHECK(q->in_graph, "not in the graph");
	CHECK(!strcmp(r->entries[q->scale].local.s, scale), "scale");
	CHECK((q->zero_point == TP_NONE) == !zero, "zero point");
	if (zero && q->zero_point != TP_NONE)
		CHECK(!strcmp(r->entries[q->zero_point].local.s, zero),
		    "zero point");
	if (!cJSON_IsNumber(axis)) {
		CHECK(q->per == TP_PER_TENSOR, "per %d", q->per);
		return;
	}
	want =
	    axis->valueint < 0 ? axis->valueint + (int)e->rank : axis->valueint;
	CHECK(q->per == TP_PER_CHANNEL && (int)q->axis == want,
	    "per %d, axis %u", q->per, q->axis);
}

static void
check_entry(struct tp_reader *r, size_t i, const cJSON *fact)
{
	const struct tp_entry *e = &r->entries[i];
	const cJSON *shape = cJSON_GetObjectItemCaseSensitive(fact, "shape");
	const cJSON *sparse = cJSON_GetObjectItemCaseSensitive(fact, "sparse");
	const cJSON *quant = cJSON_GetObjectItemCaseSensitive(fact, "dequant");
	const char *local = text(fact, "name"), *scope = text(fact, "scope");
	struct tp_stream *s = NULL;
	char hex[65] = "";

	CHECK(e->local.len == strlen(local) && !strcmp(e->local.s, local),
	    "entry %zu is '%s', expected '%s'", i, e->local.s, local);
	CHECK(!strcmp(e->scope.s, scope), "%s: scope '%s', expected '%s'",
	    local, e->scope.s, scope);
	if (!*scope)
		CHECK(!strcmp(e->name.s, local), "name %s", e->name.s);
	CHECK(!strcmp(tp_dtype_name(e->dtype), text(fact, "dtype")),
	    "%s: dtype %s", local, tp_dtype_name(e->dtype));
	CHECK(!strcmp(tp_origin_name(e->origin), text(fact, "from")),
	    "%s: from %s", local, tp_origin_name(e->origin));
	CHECK((int)e->rank == cJSON_GetArraySize(shape), "%s: rank %u", local,
	    e->rank);
	for (unsigned d = 0; d < e->rank; d++)
		CHECK((double)e->shape[d] ==
			  cJSON_GetArrayItem(shape, (int)d)->valuedouble,
		    "%s: size %" PRId64 " at axis %u", local, e->shape[d], d);
	CHECK(tp_stream_entry(r, i, &s, NULL) == TP_OK, "%s: stream", local);
	if (s)
		digest(s, hex);
	tp_stream_close(s);
	CHECK(!strcmp(hex, text(fact, "sha256")), "%s: bytes %s", local, hex);
	if (sparse)
		check_sparse(r, e, sparse);
	else
		CHECK(!e->sparse, "%s is sparse", local);
	if (quant)
		check_quant(r, e, quant);
	else
		CHECK(!e->quant, "%s is quantized", local);
}

static void
check_ok(const struct row *row)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_attachment graph;
	struct tp_reader *r = NULL;
	int n = cJSON_GetArraySize(row->facts);

	CHECK(tp_open(row->path, NULL, &r, &err) == TP_OK, "%s", err.msg);
	if (!r)
		return;
	CHECK(!strcmp(tp_format_name(tp_reader_format(r)), "onnx"), "format");
	CHECK((int)tp_reader_n_entries(r) == n, "%zu entries, expected %d",
	    tp_reader_n_entries(r), n);
	for (int i = 0; i < n && (size_t)i < tp_reader_n_entries(r); i++)
		check_entry(r, (size_t)i, cJSON_GetArrayItem(row->facts, i));
	CHECK(tp_reader_n_attachments(r) == 1, "attachments");
	CHECK(tp_reader_attachment(r, 0, &graph, &err) == TP_OK, "graph: %s",
	    err.msg);
	tp_close(r);
}

/* Refused, and with words about it: the tensor, the value that is wrong. */
static void
check_error(const struct row *row)
{
	const char *tensor = text(row->facts, "tensor");
	const cJSON *found =
	    cJSON_GetObjectItemCaseSensitive(row->facts, "found");
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	char word[64];
	enum tp_status rc;

	rc = tp_open(row->path, NULL, &r, &err);
	CHECK(rc != TP_OK, "accepted, though: %s", text(row->facts, "wrong"));
	CHECK(!rc || !r, "a reader in spite of the failure");
	tp_close(rc ? NULL : r);
	if (!rc)
		return;
	CHECK(rc == TP_EFORMAT || rc == TP_EIO, "status %d: %s", rc, err.msg);
	snprintf(word, sizeof(word), "'%s'", tensor ? tensor : "");
	if (tensor && !strstr(err.msg, word)) {
		snprintf(word, sizeof(word), ":%s'", tensor);
		CHECK(strstr(err.msg, word), "no tensor '%s' in: %s", tensor,
		    err.msg);
	}
	if (tensor && cJSON_IsNumber(found)) {
		snprintf(word, sizeof(word), "%.0f", found->valuedouble);
		CHECK(strstr(err.msg, word), "no %s in: %s", word, err.msg);
	}
}

static void
test_manifest(void **state)
{
	FILE *f = fopen(ONNX_CASES "/manifest.tsv", "r");
	struct row row;
	int n = 0;

	(void)state;
	assert_non_null(f);
	while (next_row(f, &row)) {
		if (!strcmp(row.expect, "ok"))
			check_ok(&row);
		else
			check_error(&row);
		cJSON_Delete(row.facts);
		n++;
	}
	fclose(f);
	assert_int_equal(n, 173);
	assert_int_equal(n_wrong, 0);
}

/* Open and read everything with an allocator that fails at some point. */
static enum tp_status
open_and_read(const char *path, const struct tp_alloc *alloc, unsigned flags)
{
	const struct tp_open_options options = {.alloc = alloc, .flags = flags};
	struct tp_attachment graph;
	struct tp_reader *r = NULL;
	struct tp_stream *s;
	enum tp_status rc;
	uint8_t byte;

	rc = tp_open(path, &options, &r, NULL);
	if (rc) {
		assert_null(r);
		return rc;
	}
	for (size_t i = 0; !rc && i < tp_reader_n_entries(r); i++) {
		rc = tp_stream_entry(r, i, &s, NULL);
		while (!rc && tp_stream_left(s))
			rc = tp_stream_read(s, &byte, 1, NULL);
		tp_stream_close(s);
	}
	if (!rc)
		rc = tp_reader_attachment(r, 0, &graph, NULL);
	tp_close(r);
	return rc;
}

static void
test_no_memory(void **state)
{
	static const char *const files[] = {"dtype-string-typed.onnx",
	    "constant-value-strings.onnx", "constant-of-shape.onnx",
	    "sparse-coordinate-indices.onnx",
	    "scope-flattened-names-collide.onnx", "ext-shared-bytes/model.onnx",
	    "ext-in-function/model.onnx", "quant-constants.onnx",
	    "wire-graph-in-two-pieces.onnx"};
	char path[1024];
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	for (size_t k = 0; k < COUNT_OF(files); k++) {
		snprintf(path, sizeof(path), "%s/%s", ONNX_CASES, files[k]);
		for (unsigned flags = 0; flags <= TP_OPEN_KEEP_CONSTANTS;
		     flags += TP_OPEN_KEEP_CONSTANTS)
			while (fail_alloc_next(&a, rc))
				rc = open_and_read(path, &a.alloc, flags);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_manifest),
	    cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
