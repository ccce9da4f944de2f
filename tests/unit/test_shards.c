/* SPDX-License-Identifier: Apache-2.0 */
/* shards*.c: sets found, checked against their index, and written */
#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tp/format.h"

#include "support/fail_alloc.h"
#include "support/rewrite.h"
#include "support/safetensors_file.h"
#include "support/temp_dir.h"

#define INDEX "m.safetensors.index.json"
#define ONE "m-00001-of-00002.safetensors"
#define TWO "m-00002-of-00002.safetensors"

#define U8(name, n)                                          \
	"\"" name "\":{\"dtype\":\"U8\",\"shape\":[" #n "]," \
	"\"data_offsets\":[0," #n "]}"

static void
put_file(struct temp_dir *d, const char *name, const char *json, size_t n)
{
	write_safetensors(temp_path(d, name), tp_str(json), n);
}

static void
put_index(struct temp_dir *d, const char *text)
{
	write_file(temp_path(d, INDEX), text, strlen(text));
}

/* b of 3 bytes in the first shard, a of 5 in the second. */
static void
put_set(struct temp_dir *d)
{
	put_file(d, ONE, "{\"__metadata__\":{\"k\":\"v\"}," U8("b", 3) "}", 3);
	put_file(d, TWO, "{\"__metadata__\":{\"k\":\"v\"}," U8("a", 5) "}", 5);
	put_index(d, "{\"metadata\":{\"total_size\":8},\"weight_map\":"
		     "{\"a\":\"" TWO "\",\"b\":\"" ONE "\"}}");
}

struct warnings {
	size_t n;
	char last[256];
};

static void
count_warning(void *ctx, const char *path, const char *message)
{
	struct warnings *w = ctx;

	assert_non_null(path);
	w->n++;
	snprintf(w->last, sizeof(w->last), "%s", message);
}

static void
assert_is_set(const char *path)
{
	struct warnings warnings = {0};
	const struct tp_open_options options = {
	    .warn = count_warning, .warn_ctx = &warnings};
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	uint64_t nbytes = 0;

	if (tp_open(path, &options, &r, &err))
		fail_msg("%s: %s", path, err.msg);
	assert_int_equal(warnings.n, 0);
	assert_int_equal(tp_reader_n_entries(r), 2);
	assert_string_equal(tp_reader_entry(r, 0)->name.s, "b");
	assert_string_equal(tp_reader_entry(r, 1)->name.s, "a");
	assert_int_equal(tp_reader_n_meta(r), 1);
	for (size_t i = 0; i < 2; i++) {
		const struct tp_storage_info *s =
		    tp_reader_storage(r, tp_reader_entry(r, i)->storage);
		struct tp_stream *stream = NULL;
		uint8_t bytes[8];
		size_t n = i ? 5 : 3;

		assert_non_null(
		    strstr(tp_reader_file(r, s->file, &nbytes), i ? TWO : ONE));
		assert_int_equal(tp_stream_entry(r, i, &stream, NULL), TP_OK);
		assert_int_equal(tp_stream_left(stream), n);
		assert_int_equal(tp_stream_read(stream, bytes, n, NULL), TP_OK);
		assert_memory_equal(bytes, "\1\2\3\4\5", n);
		tp_stream_close(stream);
	}
	assert_non_null(tp_reader_file(r, 2, NULL));
	assert_null(tp_reader_file(r, 3, NULL));
	tp_close(r);
}

static void
a_set_is_found_from_everywhere(void **state)
{
	struct temp_dir *d = *state;
	char folder[512];

	put_set(d);
	assert_is_set(temp_path(d, INDEX));
	assert_is_set(temp_path(d, ONE));
	assert_is_set(temp_path(d, TWO));
	assert_is_set(d->path);
	snprintf(folder, sizeof(folder), "%s/", d->path);
	assert_is_set(folder);
	/* Other files in the folder do not matter beside an index. */
	put_file(d, "x.safetensors", "{}", 0);
	assert_is_set(d->path);
	/* A path without a slash. */
	assert_int_equal(chdir(d->path), 0);
	assert_is_set(TWO);
	assert_is_set(INDEX);
	assert_is_set(".");
	assert_int_equal(chdir("/"), 0);
}

static void
a_shard_without_index_stands_alone(void **state)
{
	struct temp_dir *d = *state;
	struct warnings warnings = {0};
	const struct tp_open_options options = {
	    .warn = count_warning, .warn_ctx = &warnings};
	struct tp_reader *r = NULL;

	put_set(d);
	unlink(temp_path(d, INDEX));
	assert_int_equal(tp_open(temp_path(d, TWO), &options, &r, NULL), TP_OK);
	assert_int_equal(tp_reader_n_entries(r), 1);
	assert_int_equal(warnings.n, 1);
	assert_string_equal(warnings.last,
	    "one of 2 shards, read alone: there is no index '" INDEX "'");
	tp_close(r);
}

static void
folders_without_one_answer(void **state)
{
	struct temp_dir *d = *state;
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	assert_int_equal(tp_open(d->path, NULL, &r, &err), TP_EFORMAT);
	assert_string_equal(err.msg, "the folder holds no safetensors file");
	assert_null(r);

	put_file(d, "w.safetensors", "{" U8("w", 1) "}", 1);
	put_file(d, ".safetensors", "{}", 0);
	write_file(temp_path(d, "config.json"), "{}", 2);
	assert_int_equal(tp_open(d->path, NULL, &r, &err), TP_OK);
	assert_string_equal(tp_reader_entry(r, 0)->name.s, "w");
	tp_close(r);
	r = NULL;

	put_file(d, "v.safetensors", "{}", 0);
	assert_int_equal(tp_open(d->path, NULL, &r, &err), TP_EFORMAT);
	assert_string_equal(err.msg,
	    "the folder holds 2 safetensors files and no index "
	    "('v.safetensors', 'w.safetensors'); name the one to open");

	put_set(d);
	write_file(temp_path(d, "n" INDEX), "{}", 2);
	assert_int_equal(tp_open(d->path, NULL, &r, &err), TP_EFORMAT);
	assert_string_equal(err.msg, "the folder holds 2 shard indexes ('" INDEX
				     "', 'n" INDEX "'); name the one to open");
	assert_null(r);
}

/* Each row replaces the index, or one file when that is given. */
static void
every_disagreement_is_found(void **state)
{
	static const struct {
		const char *index, *one, *message;
		enum tp_status status;
	} rows[] = {
	    {"{\"weight_map\":{\"a\":\"" TWO "\",\"b\":\"" ONE "\"}}", NULL,
		NULL, TP_OK},
	    {"{\"metadata\":null,\"weight_map\":{\"a\":\"" TWO "\",\"b\":\"" ONE
	     "\"},\"more\":[1]}",
		NULL, NULL, TP_OK},
	    {"{\"metadata\":{\"total_size\":8.0,\"x\":{}},\"weight_map\":"
	     "{\"a\":\"" TWO "\",\"b\":\"" ONE "\"}}",
		NULL, NULL, TP_OK},
	    {"{\"metadata\":{\"total_size\":9},\"weight_map\":"
	     "{\"a\":\"" TWO "\",\"b\":\"" ONE "\"}}",
		NULL, "total_size of the index is 9, the shards hold 8 bytes",
		TP_EFORMAT},
	    {"{\"metadata\":{\"total_size\":\"8\"},\"weight_map\":{}}", NULL,
		"total_size of the index is a string, expected a whole number",
		TP_EFORMAT},
	    {"{\"metadata\":{\"total_size\":8.5},\"weight_map\":{}}", NULL,
		"total_size of the index is 8.5, expected a whole number",
		TP_EFORMAT},
	    {"{\"weight_map\":{\"a\":\"" TWO "\",\"b\":\"" TWO "\"}}", NULL,
		"tensor 'b' is not in shard '" TWO "', where the index has it",
		TP_EFORMAT},
	    {"{\"weight_map\":{\"a\":\"" ONE "\",\"b\":\"" TWO "\"}}", NULL,
		"shard '" ONE "': tensor 'b' should lie in shard '" TWO "'",
		TP_EFORMAT},
	    {"{\"weight_map\":{\"a\":\"" TWO "\",\"b\":\"" ONE "\",\"c\":\"" ONE
	     "\"}}",
		NULL,
		"tensor 'c' is not in shard '" ONE "', where the index has it",
		TP_EFORMAT},
	    {"{\"weight_map\":{\"c\":\"" ONE "\",\"a\":\"" TWO "\"}}", NULL,
		"shard '" ONE "': tensor 'b' is not in the index", TP_EFORMAT},
	    {"{\"weight_map\":{\"a\":\"" TWO "\",\"b\":\"" ONE "\"}}",
		"{" U8("a", 3) "}",
		"shard '" ONE "': tensor 'a' should lie in shard '" TWO "'",
		TP_EFORMAT},
	    {"{\"weight_map\":{\"a\":\"" ONE "\",\"b\":\"" TWO "\"}}",
		"{" U8("a", 3) "}",
		"shard '" TWO "': tensor 'a' lies in shard '" ONE "' too",
		TP_EFORMAT},
	    {"{\"weight_map\":{\"a\":\"" TWO "\",\"a\":\"" ONE "\"}}", NULL,
		"the index lists tensor 'a' twice", TP_EFORMAT},
	    {"{\"weight_map\":{\"a\":\"" TWO "\",\"b\":\"" ONE "\"}}",
		"{\"__metadata__\":{\"k\":\"w\"}," U8("b", 3) "}",
		"shard '" TWO "': metadata 'k' is 'v', an earlier shard has "
		"'w'",
		TP_EFORMAT},
	    {"{\"weight_map\":{\"a\":\"" TWO "\",\"b\":\"" ONE "\"}}",
		"{\"__metadata__\":{\"k\":\"v\",\"k\":\"v\"}," U8("b", 3) "}",
		"shard '" ONE "': duplicate metadata key 'k'", TP_EFORMAT},
	    {"{\"weight_map\":{\"a\":\"" TWO "\",\"b\":\"gone\"}}", NULL,
		"shard 'gone': ", TP_EIO},
	    {"{\"weight_map\":{\"b\":\"./" ONE "\"}}", NULL,
		"tensor 'b': './" ONE
		"' is not the name of a file beside the index",
		TP_EFORMAT},
	    {"{\"weight_map\":{\"b\":\"..\"}}", NULL,
		"tensor 'b': '..' is not the name of a file beside the index",
		TP_EFORMAT},
	    {"{\"weight_map\":{\"b\":\"/etc/passwd\"}}", NULL,
		"tensor 'b': '/etc/passwd' is not the name of a file beside "
		"the index",
		TP_EFORMAT},
	    {"{\"weight_map\":{\"b\":\"\"}}", NULL,
		"tensor 'b': '' is not the name of a file beside the index",
		TP_EFORMAT},
	    {"{\"weight_map\":{\"b\":3}}", NULL,
		"the index has a number for tensor 'b', expected a file name",
		TP_EFORMAT},
	    {"{\"weight_map\":[]}", NULL,
		"weight_map of the index is an array, expected an object",
		TP_EFORMAT},
	    {"{\"weight_map\":{},\"weight_map\":{}}", NULL,
		"weight_map is given twice in the index", TP_EFORMAT},
	    {"{\"weight_map\":{}} x", NULL,
		"'x' in JSON where the end of the text is expected",
		TP_EFORMAT},
	};
	struct temp_dir *d = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tp_err err = TP_ERR_INIT;
		struct tp_reader *r = NULL;
		enum tp_status rc;

		put_set(d);
		put_index(d, rows[i].index);
		if (rows[i].one)
			put_file(d, ONE, rows[i].one, 3);
		rc = tp_open(temp_path(d, INDEX), NULL, &r, &err);
		if (rc != rows[i].status)
			fail_msg("row %zu: status %d, %s", i, (int)rc, err.msg);
		if (rc &&
		    strncmp(err.msg, rows[i].message, strlen(rows[i].message)))
			fail_msg("row %zu: %s", i, err.msg);
		tp_close(r);
	}
}

static void
a_shard_that_its_index_does_not_name(void **state)
{
	struct temp_dir *d = *state;
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	put_set(d);
	put_index(d, "{\"weight_map\":{\"a\":\"" TWO "\"}}");
	assert_int_equal(
	    tp_open(temp_path(d, ONE), NULL, &r, &err), TP_EFORMAT);
	assert_string_equal(err.msg,
	    "index '" INDEX "': it does not name the shard that was opened");
}

/* n tensors of sizes 1, 2, … in one file. */
static struct tp_reader *
open_many(struct temp_dir *d, const uint64_t *nbytes, size_t n)
{
	char json[16384];
	size_t len = 0, begin = 0;
	struct tp_reader *r = NULL;

	len += (size_t)snprintf(
	    json, sizeof(json), "{\"__metadata__\":{\"format\":\"pt\"}");
	for (size_t i = 0; i < n; i++) {
		len += (size_t)snprintf(json + len, sizeof(json) - len,
		    ",\"t%02zu\":{\"dtype\":\"U8\",\"shape\":[%zu],"
		    "\"data_offsets\":[%zu,%zu]}",
		    i, (size_t)nbytes[i], begin, begin + (size_t)nbytes[i]);
		begin += (size_t)nbytes[i];
	}
	json[len++] = '}';
	write_safetensors(
	    temp_path(d, "in"), (struct tp_str){json, len}, begin);
	assert_int_equal(tp_open(temp_path(d, "in"), NULL, &r, NULL), TP_OK);
	return r;
}

/* Tensors larger than the limit stand alone and come before the open shard. */
static void
tensors_spread_as_upstream_does(void **state)
{
	static const uint64_t nbytes[] = {4, 3, 20, 4, 5, 1, 10};
	static const char want[] =
	    "{\n"
	    "  \"metadata\": {\n"
	    "    \"total_size\": 47\n"
	    "  },\n"
	    "  \"weight_map\": {\n"
	    "    \"t00\": \"big-00002-of-00004.safetensors\",\n"
	    "    \"t01\": \"big-00002-of-00004.safetensors\",\n"
	    "    \"t02\": \"big-00001-of-00004.safetensors\",\n"
	    "    \"t03\": \"big-00003-of-00004.safetensors\",\n"
	    "    \"t04\": \"big-00003-of-00004.safetensors\",\n"
	    "    \"t05\": \"big-00003-of-00004.safetensors\",\n"
	    "    \"t06\": \"big-00004-of-00004.safetensors\"\n"
	    "  }\n"
	    "}\n";
	const struct tp_create_options options = {.max_shard_size = 10};
	struct temp_dir *d = *state;
	struct tp_reader *r = open_many(d, nbytes, COUNT_OF(nbytes));
	struct tp_reader *set = NULL;
	char *index;

	assert_int_equal(
	    rewrite(r, temp_path(d, "big.safetensors"), &options, NULL), TP_OK);
	assert_int_equal(temp_dir_count(d), 1 + 4 + 1);
	index = read_file(temp_path(d, "big.safetensors.index.json"), NULL);
	assert_string_equal(index, want);
	free(index);

	assert_int_equal(tp_open(temp_path(d, "big.safetensors.index.json"),
			     NULL, &set, NULL),
	    TP_OK);
	assert_int_equal(tp_reader_n_entries(set), COUNT_OF(nbytes));
	assert_int_equal(tp_reader_n_meta(set), 1);
	/* One file again, it is the one that the writer makes of the input. */
	assert_int_equal(
	    rewrite(set, temp_path(d, "a.safetensors"), NULL, NULL), TP_OK);
	assert_int_equal(
	    rewrite(r, temp_path(d, "b.safetensors"), NULL, NULL), TP_OK);
	tp_close(set);
	tp_close(r);
	{
		size_t n_a, n_b;
		char *a = read_file(temp_path(d, "a.safetensors"), &n_a);
		char *b = read_file(temp_path(d, "b.safetensors"), &n_b);

		assert_int_equal(n_a, n_b);
		assert_memory_equal(a, b, n_a);
		free(a);
		free(b);
	}
}

static void
twenty_shards(void **state)
{
	const struct tp_create_options options = {.max_shard_size = 10};
	struct temp_dir *d = *state;
	struct tp_reader *r, *set = NULL;
	uint64_t nbytes[40];
	const char *path;

	for (size_t i = 0; i < 40; i++)
		nbytes[i] = i % 2 ? 4 : 6;
	r = open_many(d, nbytes, 40);
	assert_int_equal(
	    rewrite(r, temp_path(d, "t.safetensors"), &options, NULL), TP_OK);
	tp_close(r);
	unlink(temp_path(d, "in"));
	assert_int_equal(temp_dir_count(d), 21);
	assert_int_equal(tp_open(d->path, NULL, &set, NULL), TP_OK);
	assert_int_equal(tp_reader_n_entries(set), 40);
	path = tp_reader_file(set, 20, NULL);
	assert_non_null(strstr(path, "t-00020-of-00020.safetensors"));
	tp_close(set);
	/* Each shard leads to the whole. */
	assert_int_equal(tp_open(temp_path(d, "t-00013-of-00020.safetensors"),
			     NULL, &set, NULL),
	    TP_OK);
	assert_int_equal(tp_reader_n_entries(set), 40);
	tp_close(set);
}

/* Files wait for their tensors without buffers: memory does not add up. */
static void
many_shards_need_no_memory(void **state)
{
	struct tp_create_options options = {.max_shard_size = 1};
	struct temp_dir *d = *state;
	struct tp_reader *r;
	uint64_t nbytes[100];
	struct fail_alloc a;

	for (size_t i = 0; i < 100; i++)
		nbytes[i] = 1;
	r = open_many(d, nbytes, 100);
	fail_alloc_init(&a, 0);
	options.alloc = &a.alloc;
	assert_int_equal(
	    rewrite(r, temp_path(d, "t.safetensors"), &options, NULL), TP_OK);
	tp_close(r);
	assert_int_equal(temp_dir_count(d), 1 + 101);
	assert_true(a.peak < (size_t)1 << 20);
}

static void
one_shard_is_a_plain_file(void **state)
{
	static const uint64_t nbytes[] = {4, 6};
	const struct tp_create_options options = {
	    .max_shard_size = 10, .force = true};
	struct temp_dir *d = *state;
	struct tp_reader *r = open_many(d, nbytes, 2), *set = NULL;
	struct tp_err err = TP_ERR_INIT;

	assert_int_equal(
	    rewrite(r, temp_path(d, "o.safetensors"), &options, NULL), TP_OK);
	assert_int_equal(temp_dir_count(d), 2);
	assert_int_equal(access(temp_path(d, "o.safetensors"), F_OK), 0);

	/* The index as the name of the output makes a set in any case. */
	assert_int_equal(
	    rewrite(r, temp_path(d, "o.safetensors.index.json"), NULL, NULL),
	    TP_OK);
	assert_int_equal(temp_dir_count(d), 4);
	assert_int_equal(tp_open(temp_path(d, "o-00001-of-00001.safetensors"),
			     NULL, &set, NULL),
	    TP_OK);
	assert_int_equal(tp_reader_n_entries(set), 2);
	assert_non_null(tp_reader_file(set, 1, NULL));
	tp_close(set);

	/* That index would now lead a reader of the folder astray. */
	assert_int_equal(
	    rewrite(r, temp_path(d, "o.safetensors"), &options, &err),
	    TP_EOUTPUT);
	assert_non_null(strstr(err.msg, "'o.safetensors.index.json'"));
	tp_close(r);
}

static void
outputs_that_cannot_be_sets(void **state)
{
	static const uint64_t nbytes[] = {8, 8};
	static const char *const names[] = {"-", ".safetensors",
	    "x-00001-of-00002.safetensors", "\xff.safetensors"};
	struct temp_dir *d = *state;
	struct tp_reader *r = open_many(d, nbytes, 2);

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const struct tp_create_options options = {
		    .max_shard_size = 10, .format = "safetensors"};
		struct tp_err err = TP_ERR_INIT;

		assert_int_equal(
		    rewrite(r, i ? temp_path(d, names[i]) : names[i], &options,
			&err),
		    TP_EOUTPUT);
		assert_true(err.msg[0]);
		assert_int_equal(temp_dir_count(d), 1);
	}
	/* A file of that name that is there already is left alone. */
	write_file(temp_path(d, "y-00002-of-00002.safetensors"), "old", 3);
	assert_int_equal(
	    rewrite(r, temp_path(d, "y.safetensors"),
		&(struct tp_create_options){.max_shard_size = 8}, NULL),
	    TP_EOUTPUT);
	assert_int_equal(temp_dir_count(d), 2);
	tp_close(r);
}

static void
every_allocation_may_fail(void **state)
{
	struct temp_dir *d = *state;
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	put_set(d);
	while (fail_alloc_next(&a, rc)) {
		struct tp_open_options options = {0};
		struct tp_reader *r = NULL;

		options.alloc = &a.alloc;
		rc = tp_open(a.fail_at % 2 ? d->path : temp_path(d, ONE),
		    &options, &r, NULL);
		tp_close(r);
	}
	assert_true(a.n_rounds >= 20);

	while (fail_alloc_next(&a, rc)) {
		struct tp_create_options options = {.max_shard_size = 5};
		struct tp_reader *r = NULL;

		assert_int_equal(
		    tp_open(temp_path(d, INDEX), NULL, &r, NULL), TP_OK);
		options.alloc = &a.alloc;
		rc = rewrite(r, temp_path(d, "o.safetensors"), &options, NULL);
		tp_close(r);
		assert_int_equal(temp_dir_count(d), rc ? 3 : 6);
	}
	assert_true(a.n_rounds >= 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEMP_DIR_TEST(a_set_is_found_from_everywhere),
	    TEMP_DIR_TEST(a_shard_without_index_stands_alone),
	    TEMP_DIR_TEST(folders_without_one_answer),
	    TEMP_DIR_TEST(every_disagreement_is_found),
	    TEMP_DIR_TEST(a_shard_that_its_index_does_not_name),
	    TEMP_DIR_TEST(tensors_spread_as_upstream_does),
	    TEMP_DIR_TEST(twenty_shards),
	    TEMP_DIR_TEST(many_shards_need_no_memory),
	    TEMP_DIR_TEST(one_shard_is_a_plain_file),
	    TEMP_DIR_TEST(outputs_that_cannot_be_sets),
	    TEMP_DIR_TEST(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
