/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_plan*.c: choices against all there are, files against the schema */
#include "support/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tp/endian.h"
#include "tp/quantize_plan.h"

#include "formats/plugin.h"
#include "formats/quantize_plan.h"

#include "support/fail_alloc.h"
#include "support/temp_dir.h"

#define N 5
#define ROWS 6
#define COLUMNS 40

static const char *const names[N] = {"even", "peaks", "small", "odd", "tied"};

/* Four matrices of different shares of outliers; "tied" is "odd". */
static struct tp_reader *
open_model(const char *path)
{
	static float x[N - 1][ROWS * COLUMNS];
	static const int64_t shape[] = {ROWS, COLUMNS};
	static const int64_t two_rows[] = {2, COLUMNS};
	struct tp_entry entries[N];
	uint64_t nbytes[N - 1];
	struct tp_model m = {.entries = entries,
	    .n_entries = N,
	    .storage_nbytes = nbytes,
	    .n_storages = N - 1};
	struct tp_create_options o = {.format = "native", .force = true};
	struct tp_writer *writer = NULL;
	struct tp_reader *r = NULL;
	uint32_t seed = 5;

	for (size_t i = 0; i < N; i++) {
		size_t at = i < N - 1 ? i : N - 2;
		int64_t rows = at == 2 ? 2 : ROWS;

		entries[i] = (struct tp_entry){.name = tp_str(names[i]),
		    .dtype = TP_DTYPE_F32,
		    .rank = 2,
		    .shape = at == 2 ? two_rows : shape,
		    .storage = at,
		    .n_elems = (uint64_t)rows * COLUMNS};
		entries[i].nbytes = entries[i].n_elems * 4;
		nbytes[at] = entries[i].nbytes;
	}
	assert_int_equal(tp_create(path, &m, &o, &writer, NULL), TP_OK);
	for (size_t i = 0; i < N - 1; i++) {
		struct tp_stream *s = NULL;

		for (size_t k = 0; k < ROWS * COLUMNS; k++) {
			seed = seed * 1664525 + 1013904223;
			x[i][k] = (float)(int32_t)seed * 0x1p-31f;
			if (i == 1 && k % 16 == 0)
				x[i][k] *= 30;
			if (i == 3 && k % COLUMNS == 7)
				x[i][k] *= 1e6f;
		}
		if (!tp_host_is_little())
			tp_swap_bytes(x[i], ROWS * COLUMNS, sizeof(float));
		assert_int_equal(
		    tp_stream_memory(NULL, x[i], (size_t)nbytes[i], &s, NULL),
		    TP_OK);
		assert_int_equal(tp_writer_put(writer, i, s, NULL), TP_OK);
		tp_stream_close(s);
	}
	assert_int_equal(tp_writer_commit(writer, NULL), TP_OK);
	tp_writer_free(writer);
	assert_int_equal(tp_open(path, NULL, &r, NULL), TP_OK);
	return r;
}

static const char *const schemes[] = {"f16", "bf16", "int8", "int4"};
#define N_SCHEMES (sizeof(schemes) / sizeof(schemes[0]))

/* A tp_recipe_fn; ctx is the number of a scheme. */
static enum tp_status
one_scheme(void *ctx, const struct tp_reader *r, size_t entry,
    struct tp_recipe *recipe, struct tp_err *err)
{
	const size_t *k = ctx;

	(void)r;
	(void)entry;
	(void)err;
	recipe->scheme = tp_scheme_find(schemes[*k]);
	recipe->symmetric = true;
	recipe->per = *k == 3 ? TP_PER_BLOCK : TP_PER_CHANNEL;
	recipe->axis = *k == 3 ? 1 : 0;
	recipe->block = 32;
	return TP_OK;
}

/* What each tensor would cost; the last column is the float. */
struct figures {
	uint64_t nbytes[N][N_SCHEMES + 1];
	double sqnr[N][N_SCHEMES + 1];
};

static enum tp_status
offer_all(const struct tp_alloc *alloc, struct tp_plan *plan,
    struct tp_reader *r, struct figures *f)
{
	enum tp_status rc = TP_OK;

	for (size_t k = 0; !rc && k < N_SCHEMES; k++) {
		struct tp_quantize_options o = {.alloc = alloc,
		    .recipe = one_scheme,
		    .ctx = &k,
		    .records = true,
		    .n_threads = 1};
		struct tp_reader *q = NULL;

		rc = tp_quantize_reader(r, &o, &q, NULL);
		if (!rc)
			rc = tp_plan_offer(plan, q, NULL);
		for (size_t i = 0; !rc && f && i < N; i++) {
			const struct tp_quantized_item *item =
			    tp_quantized_item(q, i);

			f->nbytes[i][k] = item->nbytes_after;
			f->sqnr[i][k] = tp_compare_sqnr(&item->errors);
			f->nbytes[i][N_SCHEMES] = item->nbytes_before;
			f->sqnr[i][N_SCHEMES] = INFINITY;
		}
		tp_close(q);
	}
	return rc;
}

/* Which column a tensor takes. */
static size_t
taken(const struct tp_plan *plan, size_t entry)
{
	const struct tp_recipe *p = tp_plan_recipe(plan, entry);
	size_t k = 0;

	while (k < N_SCHEMES &&
	       (!p->scheme || strcmp(p->scheme->name, schemes[k]) != 0))
		k++;
	return k;
}

struct outcome {
	uint64_t nbytes;
	double worst;
};

static struct outcome
outcome_of(const struct figures *f, const size_t columns[N])
{
	struct outcome o = {0, INFINITY};

	for (size_t i = 0; i < N; i++) {
		o.nbytes += f->nbytes[i][columns[i]];
		o.worst = fmin(o.worst, f->sqnr[i][columns[i]]);
	}
	return o;
}

static struct outcome
outcome_of_plan(const struct figures *f, const struct tp_plan *plan)
{
	size_t columns[N];

	for (size_t i = 0; i < N; i++)
		columns[i] = taken(plan, i);
	return outcome_of(f, columns);
}

/* The best worst case of all combinations within a size; NAN: there is none. */
static double
best_of_all(const struct figures *f, uint64_t nbytes)
{
	size_t columns[N] = {0}, i = 0;
	double best = NAN;

	while (i < N) {
		struct outcome o = outcome_of(f, columns);

		if (o.nbytes <= nbytes && !(o.worst <= best))
			best = o.worst;
		for (i = 0; i < N && ++columns[i] > N_SCHEMES; i++)
			columns[i] = 0;
	}
	return best;
}

static void
the_best_worst_case(void **state)
{
	struct tp_reader *r = open_model(temp_path(&test_dir, "m.tpt"));
	struct tp_err err = TP_ERR_INIT;
	struct tp_plan *plan = NULL;
	struct figures f;
	double last = 0;

	(void)state;
	assert_int_equal(tp_plan_new(NULL, r, &plan, NULL), TP_OK);
	assert_int_equal(offer_all(NULL, plan, r, &f), TP_OK);
	for (uint64_t size = 300; size <= 4200; size += 7) {
		double best = best_of_all(&f, size);
		struct outcome o;

		if (isnan(best)) {
			assert_int_equal(
			    tp_plan_fit(plan, size, &err), TP_EUNSUPPORTED);
			continue;
		}
		assert_int_equal(tp_plan_fit(plan, size, &err), TP_OK);
		o = outcome_of_plan(&f, plan);
		assert_true(o.nbytes <= size);
		assert_true(o.worst >= best && o.worst <= best);
		assert_true(o.worst >= last);
		last = o.worst;
		/* What shares its bytes shares its scheme. */
		assert_int_equal(taken(plan, 3), taken(plan, 4));
	}
	assert_true(isinf(last));
	tp_plan_free(plan);
	tp_close(r);
}

static void
the_smallest_that_reaches(void **state)
{
	struct tp_reader *r = open_model(temp_path(&test_dir, "m.tpt"));
	struct tp_plan *plan = NULL;
	struct figures f;

	(void)state;
	assert_int_equal(tp_plan_new(NULL, r, &plan, NULL), TP_OK);
	assert_int_equal(offer_all(NULL, plan, r, &f), TP_OK);
	for (double db = -10; db < 120; db += 0.7) {
		tp_plan_reach(plan, db);
		for (size_t i = 0; i < N; i++) {
			size_t k = taken(plan, i);

			assert_true(f.sqnr[i][k] >= db);
			for (size_t b = 0; b <= N_SCHEMES; b++)
				assert_true(f.sqnr[i][b] < db ||
					    f.nbytes[i][b] > f.nbytes[i][k] ||
					    (f.nbytes[i][b] == f.nbytes[i][k] &&
						f.sqnr[i][b] <= f.sqnr[i][k]));
		}
	}
	tp_plan_free(plan);
	tp_close(r);
}

/* A tp_json_write_fn. */
static int
append(void *ctx, const char *s, size_t n)
{
	char *text = ctx;

	strncat(text, s, n);
	return 0;
}

static void
write_plan(const struct tp_plan *plan, char *text)
{
	struct tp_json j;

	text[0] = 0;
	tp_json_init(&j, append, text, TP_JSON_COMPACT);
	tp_plan_write(plan, &j);
	assert_int_equal(tp_json_finish(&j), 0);
}

static void
a_file_says_the_same(void **state)
{
	struct tp_reader *r = open_model(temp_path(&test_dir, "m.tpt"));
	const char *path = temp_path(&test_dir, "plan.json");
	static char text[4096], again[4096];
	struct tp_plan *plan = NULL, *read = NULL;

	(void)state;
	assert_int_equal(tp_plan_new(NULL, r, &plan, NULL), TP_OK);
	assert_int_equal(offer_all(NULL, plan, r, NULL), TP_OK);
	for (double db = 10; db < 120; db += 20) {
		tp_plan_reach(plan, db);
		write_plan(plan, text);
		write_file(path, text, strlen(text));
		assert_int_equal(tp_plan_new(NULL, r, &read, NULL), TP_OK);
		assert_int_equal(tp_plan_read(read, path, NULL), TP_OK);
		write_plan(read, again);
		assert_string_equal(text, again);
		for (size_t i = 0; i < N; i++)
			assert_int_equal(taken(plan, i), taken(read, i));
		tp_plan_free(read);
	}
	tp_plan_free(plan);
	tp_close(r);
}

#define ROW(more)                                                        \
	"{\"version\":1,\"tensors\":{\"even\":{\"scheme\":\"keep\"},"    \
	"\"peaks\":{\"scheme\":\"f16\"},\"small\":{\"scheme\":\"bf16\"}" \
	",\"odd\":{\"scheme\":\"keep\"}" more "}}"
#define TIED(recipe) ROW(",\"tied\":" recipe)
#define CHANNEL                                               \
	"\"scheme\":\"int8\",\"per\":\"channel\",\"axis\":1," \
	"\"symmetric\":true,\"calibrate\":\"mse\""

static void
what_is_no_plan(void **state)
{
	static const struct {
		const char *text;
		enum tp_status rc;
		const char *says; /* NULL: it is one */
	} rows[] = {
	    {TIED("{" CHANNEL "}"), TP_OK, NULL},
	    {TIED("{\"scheme\":\"q8_0\",\"per\":\"block\",\"axis\":1,"
		  "\"block\":32,\"symmetric\":true,\"calibrate\":\"minmax\"}"),
		TP_OK, NULL},
	    {"", TP_EFORMAT, "expected"},
	    {"[]", TP_EFORMAT, "expected"},
	    {"{}", TP_EFORMAT, "\"version\" and \"tensors\""},
	    {"{\"version\":1}", TP_EFORMAT, "\"version\" and \"tensors\""},
	    {"{\"version\":1,\"version\":1}", TP_EFORMAT, "nothing else"},
	    {"{\"version\":1,\"more\":1}", TP_EFORMAT, "nothing else"},
	    {"{\"version\":1.0,\"tensors\":{}}", TP_EUNSUPPORTED, "1.0"},
	    {"{\"version\":\"1\",\"tensors\":{}}", TP_EUNSUPPORTED, "1"},
	    {"{\"version\":1,\"tensors\":[]}", TP_EFORMAT, "expected"},
	    {"{\"version\":1,\"tensors\":{}} x", TP_EFORMAT, "expected"},
	    {ROW(""), TP_ENOTFOUND, "'tied' of the model is not in the plan"},
	    {ROW(",\"other\":{\"scheme\":\"keep\"}"), TP_ENOTFOUND,
		"'other' is in the plan and not in the model"},
	    {ROW(",\"odd\":{\"scheme\":\"keep\"}"), TP_EFORMAT, "there twice"},
	    {TIED("1"), TP_EFORMAT, "an object is expected"},
	    {TIED("{}"), TP_EFORMAT, "\"scheme\" is missing"},
	    {TIED("{\"scheme\":8}"), TP_EFORMAT, "no such scheme"},
	    {TIED("{\"scheme\":\"int3\"}"), TP_EFORMAT, "no such scheme"},
	    {TIED("{\"scheme\":\"keep\",\"axis\":0}"), TP_EFORMAT,
		"no such keys"},
	    {TIED("{\"scheme\":\"f16\",\"scheme\":\"f16\"}"), TP_EFORMAT,
		"twice"},
	    {TIED("{\"scheme\":\"f16\",\"size\":1}"), TP_EFORMAT,
		"unknown key"},
	    {TIED("{" CHANNEL ",\"block\":1}"), TP_EFORMAT, "\"block\""},
	    {TIED("{" CHANNEL ",\"more\":[1,2,3,4,5,6,7,8,9,10,11]}"),
		TP_ELIMIT, "limit"},
	    {TIED("{\"scheme\":\"int8\",\"per\":\"row\"}"), TP_EFORMAT,
		"\"per\""},
	    {TIED("{\"scheme\":\"int8\",\"per\":\"channel\",\"axis\":2}"),
		TP_EFORMAT, "\"axis\""},
	    {TIED("{\"scheme\":\"int8\",\"per\":\"tensor\",\"axis\":0}"),
		TP_EFORMAT, "\"axis\""},
	    {TIED("{\"scheme\":\"int8\",\"per\":\"block\",\"axis\":0,"
		  "\"block\":0}"),
		TP_EFORMAT, "\"block\""},
	    {TIED("{\"scheme\":\"int8\",\"per\":\"tensor\",\"symmetric\":1}"),
		TP_EFORMAT, "\"symmetric\""},
	    {TIED("{\"scheme\":\"int8\",\"per\":\"tensor\","
		  "\"symmetric\":false,\"calibrate\":\"percentile\"}"),
		TP_EFORMAT, "\"calibrate\""},
	    {TIED("{\"scheme\":\"q8_0\",\"per\":\"block\",\"axis\":1,"
		  "\"block\":16,\"symmetric\":true,\"calibrate\":\"mse\"}"),
		TP_EFORMAT, "fixes"},
	};
	struct tp_reader *r = open_model(temp_path(&test_dir, "m.tpt"));
	struct tp_plan *plan = NULL;

	(void)state;
	assert_int_equal(tp_plan_new(NULL, r, &plan, NULL), TP_OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tp_err err = TP_ERR_INIT;
		enum tp_status rc = tpi_plan_parse(
		    plan, rows[i].text, strlen(rows[i].text), &err);

		if (rc != rows[i].rc ||
		    (rows[i].says && !strstr(err.msg, rows[i].says)))
			fail_msg(
			    "row %zu: status %d, message: %s", i, rc, err.msg);
	}
	assert_int_equal(
	    tp_plan_read(plan, temp_path(&test_dir, "none"), NULL), TP_EIO);
	tp_plan_free(plan);
	tp_close(r);
}

static void
memory_fails_anywhere(void **state)
{
	struct tp_reader *r = open_model(temp_path(&test_dir, "m.tpt"));
	const char *path = temp_path(&test_dir, "plan.json");
	const char *text = TIED("{" CHANNEL "}");
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	write_file(path, text, strlen(text));
	while (fail_alloc_next(&a, rc)) {
		struct tp_plan *plan = NULL;

		rc = tp_plan_new(&a.alloc, r, &plan, NULL);
		if (!rc)
			rc = offer_all(&a.alloc, plan, r, NULL);
		if (!rc)
			rc = tp_plan_fit(plan, 4000, NULL);
		if (!rc)
			rc = tp_plan_read(plan, path, NULL);
		tp_plan_free(plan);
	}
	tp_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_best_worst_case),
	    cmocka_unit_test(the_smallest_that_reaches),
	    cmocka_unit_test(a_file_says_the_same),
	    cmocka_unit_test(what_is_no_plan),
	    cmocka_unit_test(memory_fails_anywhere),
	};

	return cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
}
