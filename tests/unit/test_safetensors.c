/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors*.c: what is accepted, what is said, what is written */
#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tp/format.h"

#include "support/fail_alloc.h"
#include "support/rewrite.h"
#include "support/safetensors_file.h"
#include "support/temp_dir.h"

#define F32_2 "{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"

static struct tp_reader *
open_good(const char *path)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	if (tp_open(path, NULL, &r, &err))
		fail_msg("%s: %s", path, err.msg);
	return r;
}

static uint64_t
data_bytes(const struct tp_reader *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < tp_reader_n_entries(r); i++)
		sum += tp_reader_entry(r, i)->nbytes;
	return sum;
}

/* One line of verdicts.tsv: file, verdict, facts. */
static void
check_verdict(const char *name, const char *verdict, const char *facts)
{
	const struct tp_open_options options = {.format = "safetensors"};
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	enum tp_status rc;
	char path[512], found[64];

	snprintf(path, sizeof(path), TP_CORPUS "/safetensors/%s", name);
	rc = tp_open(path, &options, &r, &err);
	if (!strcmp(verdict, "reject")) {
		if (rc != TP_EFORMAT && rc != TP_ELIMIT)
			fail_msg("%s was not refused", name);
		assert_null(r);
		assert_true(err.msg[0]);
		return;
	}
	assert_string_equal(verdict, "ok");
	if (rc)
		fail_msg("%s: %s", name, err.msg);
	snprintf(found, sizeof(found), "%zu tensors, %zu data bytes",
	    tp_reader_n_entries(r), (size_t)data_bytes(r));
	assert_string_equal(found, facts);
	tp_close(r);

	/* Its content tells what it is, too. */
	r = open_good(path);
	assert_string_equal(tp_format_name(tp_reader_format(r)), "safetensors");
	tp_close(r);
}

static void
every_verdict_is_met(void **state)
{
	char *table = read_file(TP_CORPUS "/safetensors/verdicts.tsv", NULL);
	size_t n = 0;

	(void)state;
	for (char *line = strtok(table, "\n"); line;
	     line = strtok(NULL, "\n")) {
		char *verdict = strchr(line, '\t'), *facts;

		if (line[0] == '#')
			continue;
		assert_non_null(verdict);
		*verdict++ = '\0';
		facts = strchr(verdict, '\t');
		assert_non_null(facts);
		*facts++ = '\0';
		facts[strcspn(facts, "\t")] = '\0';
		check_verdict(line, verdict, facts);
		n++;
	}
	free(table);
	assert_int_equal(n, 76);
}

static void
refusals_tell_found_and_expected(void **state)
{
	const struct {
		struct tp_str json;
		size_t n_data;
		enum tp_status status;
		const char *message;
	} rows[] = {
	    {TP_STR("{\"w\":" F32_2 ",\"w\":{\"dtype\":\"F32\",\"shape\":[2],"
		    "\"data_offsets\":[8,16]}}"),
		16, TP_EFORMAT, "duplicate tensor name 'w'"},
	    {TP_STR("{\"w\":" F32_2 ",\"\\u0077\":" F32_2 "}"), 8, TP_EFORMAT,
		"duplicate tensor name 'w'"},
	    {TP_STR("[]"), 0, TP_EFORMAT, "'[' in JSON where '{' is expected"},
	    {TP_STR("{\"w\":3}"), 0, TP_EFORMAT,
		"tensor 'w' is a number, expected an object"},
	    {TP_STR("{\"w\":{}}"), 0, TP_EFORMAT, "tensor 'w' has no dtype"},
	    {TP_STR("{\"w\":{\"dtype\":\"F32\",\"shape\":[2]}}"), 0, TP_EFORMAT,
		"tensor 'w' has no data_offsets"},
	    {TP_STR("{\"w\":{\"dtype\":\"F128\"}}"), 0, TP_EFORMAT,
		"tensor 'w': safetensors has no dtype 'F128'"},
	    {TP_STR("{\"w\":{\"dtype\":\"F32\\u0000\"}}"), 0, TP_EFORMAT,
		"tensor 'w': safetensors has no dtype 'F32\\x00'"},
	    {TP_STR("{\"w\":{\"dtype\":7}}"), 0, TP_EFORMAT,
		"tensor 'w': dtype is a number, expected a string"},
	    {TP_STR("{\"w\":{\"shape\":7}}"), 0, TP_EFORMAT,
		"tensor 'w': shape is a number, expected an array"},
	    {TP_STR("{\"w\":{\"shape\":[1,2.0]}}"), 0, TP_EFORMAT,
		"tensor 'w': shape has 2.0, expected whole numbers below 2^64"},
	    {TP_STR("{\"w\":{\"shape\":[1],\"shape\":[1]}}"), 0, TP_EFORMAT,
		"tensor 'w': shape is given twice"},
	    {TP_STR("{\"w\":{\"shape\":[9223372036854775808]}}"), 0, TP_ELIMIT,
		"tensor 'w': axis 0 has the size 9223372036854775808, the "
		"limit is 9223372036854775807"},
	    {TP_STR("{\"w\":{\"data_offsets\":[0,\"8\"]}}"), 0, TP_EFORMAT,
		"tensor 'w': data_offsets has a string, expected whole "
		"numbers below 2^64"},
	    {TP_STR("{\"w\":{\"data_offsets\":[0,8,8]}}"), 0, TP_EFORMAT,
		"tensor 'w': data_offsets has 3 numbers, expected 2"},
	    {TP_STR("{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],"
		    "\"data_offsets\":[0,8]}}"),
		8, TP_EFORMAT,
		"tensor 'w': data_offsets give 8 bytes, F32 of shape [2, 3] "
		"needs 24"},
	    {TP_STR("{\"w\":" F32_2 "}"), 7, TP_EFORMAT,
		"tensor 'w' ends at 8, the data at 7"},
	    {TP_STR("{\"w\":" F32_2 "}"), 9, TP_EFORMAT,
		"the tensors end at 8, the data at 9"},
	    {TP_STR("{\"w\":{\"dtype\":\"F32\",\"shape\":[1],"
		    "\"data_offsets\":[4,8]}}"),
		8, TP_EFORMAT,
		"tensor 'w' begins at 4, expected 0: bytes of no tensor"},
	    {TP_STR("{\"v\":{\"dtype\":\"F32\",\"shape\":[1],"
		    "\"data_offsets\":[4,8]},\"w\":" F32_2 "}"),
		8, TP_EFORMAT,
		"tensor 'v' begins at 4, expected 8: tensors overlap"},
	    {TP_STR("{\"w\":{\"dtype\":\"F4\",\"shape\":[3],"
		    "\"data_offsets\":[0,2]}}"),
		2, TP_EFORMAT,
		"tensor 'w': 3 elements of F4 end inside a byte"},
	    {TP_STR("{\"__metadata__\":{\"a\":\"1\",\"a\":\"1\"}}"), 0,
		TP_EFORMAT, "duplicate metadata key 'a'"},
	    {TP_STR("{\"__metadata__\":null,\"__metadata__\":null}"), 0,
		TP_EFORMAT, "__metadata__ is given twice"},
	    {TP_STR("{\"__metadata__\":{\"a\":[]}}"), 0, TP_EFORMAT,
		"metadata 'a' is an array, expected a string"},
	    {TP_STR("{} \0"), 0, TP_EFORMAT,
		"byte 0x00 in JSON where the end of the text is expected"},
	};
	struct temp_dir *d = *state;
	const struct tp_open_options options = {.format = "safetensors"};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *path = temp_path(d, "bad");
		struct tp_err err = TP_ERR_INIT;
		struct tp_reader *r = NULL;

		write_safetensors(path, rows[i].json, rows[i].n_data);
		assert_int_equal(
		    tp_open(path, &options, &r, &err), rows[i].status);
		assert_string_equal(err.msg, rows[i].message);
		assert_null(r);
	}
}

static void
shape_limits(void **state)
{
	struct temp_dir *d = *state;
	const struct tp_open_options options = {.format = "safetensors"};
	char json[4096];

	for (size_t rank = 63; rank <= 2000; rank += rank < 66 ? 1 : 700) {
		const char *path = temp_path(d, "deep");
		struct tp_reader *r = NULL;
		size_t n = (size_t)snprintf(
		    json, sizeof(json), "{\"w\":{\"shape\":[1");

		for (size_t i = 1; i < rank && n < 4000; i++)
			n += (size_t)snprintf(json + n, 4, ",1");
		n += (size_t)snprintf(json + n, sizeof(json) - n,
		    "],\"dtype\":\"U8\",\"data_offsets\":[0,1]}}");
		write_safetensors(path, (struct tp_str){json, n}, 1);
		if (rank <= 64) {
			r = open_good(path);
			assert_int_equal(tp_reader_entry(r, 0)->rank, rank);
			tp_close(r);
		} else {
			assert_int_equal(
			    tp_open(path, &options, &r, NULL), TP_ELIMIT);
		}
	}
}

/* Names as JSON has them and as they are. */
static void
odd_names_and_metadata_survive(void **state)
{
	const struct {
		struct tp_str json, name;
	} rows[] = {
	    {TP_STR(""), TP_STR("")},
	    {TP_STR("a \\\"b\\\" 'c'"), TP_STR("a \"b\" 'c'")},
	    {TP_STR("../a/b\\\\c"), TP_STR("../a/b\\c")},
	    {TP_STR("\xf0\x9f\x98\x80 \xc3\xbc"),
		TP_STR("\xf0\x9f\x98\x80 \xc3\xbc")},
	    {TP_STR("nul\\u0000\\u0000end"), TP_STR("nul\0\0end")},
	    {TP_STR("\\u001b[31m\\n\\t\x7f"), TP_STR("\x1b[31m\n\t\x7f")},
	};
	struct temp_dir *d = *state;
	char json[16384];

	for (size_t i = 0; i <= COUNT_OF(rows); i++) {
		struct tp_str text, name;
		const struct tp_entry *e;
		struct tp_reader *r;
		char longest[4096], *first, *second;
		size_t n, n_first, n_second;

		/* The last round has a name of 4 KB. */
		memset(longest, 'n', sizeof(longest));
		text = (struct tp_str){longest, sizeof(longest)};
		name = text;
		if (i < COUNT_OF(rows)) {
			text = rows[i].json;
			name = rows[i].name;
		}
		n = (size_t)snprintf(json, sizeof(json),
		    "{\"__metadata__\":{\"z\":\"1\",\"%.*s\":\"%.*s\","
		    "\"a\":\"\"},\"%.*s\":" F32_2 "}",
		    (int)text.len, text.s, (int)text.len, text.s, (int)text.len,
		    text.s);
		while (n % 8)
			json[n++] = ' ';
		write_safetensors(
		    temp_path(d, "one"), (struct tp_str){json, n}, 8);
		r = open_good(temp_path(d, "one"));
		e = tp_reader_entry(r, 0);
		assert_int_equal(e->name.len, name.len);
		assert_memory_equal(e->name.s, name.s, name.len);
		assert_int_equal(tp_reader_find(r, name), 0);
		assert_int_equal(tp_reader_n_meta(r), 3);
		assert_string_equal(tp_reader_meta(r, 0)->key.s, "z");
		assert_int_equal(tp_reader_meta(r, 1)->key.len, name.len);
		assert_memory_equal(
		    tp_reader_meta(r, 1)->value.s, name.s, name.len);
		assert_string_equal(tp_reader_meta(r, 2)->key.s, "a");

		/* Written again it is the same file. */
		assert_int_equal(
		    rewrite(r, temp_path(d, "two.safetensors"),
			&(struct tp_create_options){.force = true}, NULL),
		    TP_OK);
		tp_close(r);
		first = read_file(temp_path(d, "one"), &n_first);
		second = read_file(temp_path(d, "two.safetensors"), &n_second);
		assert_int_equal(n_first, n_second);
		assert_memory_equal(first, second, n_first);
		free(first);
		free(second);
	}
}

/* Everything that the format has, in an order that it does not write. */
static const struct {
	enum tp_dtype dtype;
	const char *name;
	size_t nbytes; /* of 8 elements */
} all_dtypes[] = {
    {TP_DTYPE_F64, "F64", 64},
    {TP_DTYPE_BOOL, "BOOL", 8},
    {TP_DTYPE_F4E2M1, "F4", 4},
    {TP_DTYPE_F6E3M2, "F6_E3M2", 6},
    {TP_DTYPE_F6E2M3, "F6_E2M3", 6},
    {TP_DTYPE_I8, "I8", 8},
    {TP_DTYPE_U8, "U8", 8},
    {TP_DTYPE_F8E4M3FN, "F8_E4M3", 8},
    {TP_DTYPE_F8E5M2, "F8_E5M2", 8},
    {TP_DTYPE_F8E8M0, "F8_E8M0", 8},
    {TP_DTYPE_F8E5M2FNUZ, "F8_E5M2FNUZ", 8},
    {TP_DTYPE_F8E4M3FNUZ, "F8_E4M3FNUZ", 8},
    {TP_DTYPE_U16, "U16", 16},
    {TP_DTYPE_I16, "I16", 16},
    {TP_DTYPE_BF16, "BF16", 16},
    {TP_DTYPE_F16, "F16", 16},
    {TP_DTYPE_F32, "F32", 32},
    {TP_DTYPE_U32, "U32", 32},
    {TP_DTYPE_I32, "I32", 32},
    {TP_DTYPE_C64, "C64", 64},
    {TP_DTYPE_U64, "U64", 64},
    {TP_DTYPE_I64, "I64", 64},
};

static const char *const written_order[] = {"U64", "I64", "F64", "C64", "F32",
    "U32", "I32", "BF16", "F16", "U16", "I16", "F8_E5M2FNUZ", "F8_E4M3FNUZ",
    "F8_E8M0", "F8_E4M3", "F8_E5M2", "I8", "U8", "F6_E3M2", "F6_E2M3", "F4",
    "BOOL"};

static void
all_dtypes_are_read_and_written_in_order(void **state)
{
	struct temp_dir *d = *state;
	char json[8192], *file;
	size_t n = 1, begin = 0, size;
	struct tp_reader *r;

	json[0] = '{';
	for (size_t i = 0; i < COUNT_OF(all_dtypes); i++) {
		size_t end = begin + all_dtypes[i].nbytes;

		/* Two of each: b before a. */
		n += (size_t)snprintf(json + n, sizeof(json) - n,
		    "%s\"b.%zu\":{\"dtype\":\"%s\",\"shape\":[2,4],"
		    "\"data_offsets\":[%zu,%zu]},\"a.%zu\":{\"shape\":[0],"
		    "\"data_offsets\":[%zu,%zu],\"dtype\":\"%s\"}",
		    i ? "," : "", i, all_dtypes[i].name, begin, end, i, end,
		    end, all_dtypes[i].name);
		begin = end;
	}
	json[n++] = '}';
	write_safetensors(temp_path(d, "all"), (struct tp_str){json, n}, begin);
	r = open_good(temp_path(d, "all"));
	assert_int_equal(tp_reader_n_entries(r), 44);
	for (size_t i = 0; i < 22; i++) {
		const struct tp_entry *e = tp_reader_entry(r, 2 * i);

		assert_int_equal(e->dtype, all_dtypes[i].dtype);
		assert_int_equal(e->nbytes, all_dtypes[i].nbytes);
	}
	assert_int_equal(
	    rewrite(r, temp_path(d, "o.safetensors"), NULL, NULL), TP_OK);
	tp_close(r);

	r = open_good(temp_path(d, "o.safetensors"));
	file = read_file(temp_path(d, "o.safetensors"), &size);
	assert_int_equal(tp_le64(file) % 8, 0);
	for (size_t i = 0; i < 22; i++) {
		const struct tp_entry *a = tp_reader_entry(r, 2 * i);
		const struct tp_entry *b = tp_reader_entry(r, 2 * i + 1);
		size_t k = (size_t)atoi(b->name.s + 2);
		uint64_t at = tp_reader_storage(r, b->storage)->offset;
		uint8_t first = 1;

		assert_string_equal(all_dtypes[k].name, written_order[i]);
		assert_int_equal(a->dtype, b->dtype);
		assert_int_equal(a->name.s[0], 'a');
		assert_int_equal(b->name.s[0], 'b');
		/* Its bytes went with it. */
		for (size_t q = 0; q < k; q++)
			first = (uint8_t)(first + all_dtypes[q].nbytes);
		for (size_t q = 0; q < b->nbytes; q++)
			assert_int_equal(
			    (uint8_t)file[at + q], (uint8_t)(first + q));
	}
	free(file);
	tp_close(r);
}

static void
the_header_is_exact(void **state)
{
	static const int64_t shape[] = {2, 1};
	const struct tp_entry entries[] = {
	    {.name = TP_STR("b"),
		.dtype = TP_DTYPE_F32,
		.rank = 2,
		.shape = shape,
		.n_elems = 2,
		.nbytes = 8},
	    {.name = TP_STR("a\"/\n"),
		.dtype = TP_DTYPE_I64,
		.n_elems = 1,
		.nbytes = 8,
		.storage = 1},
	};
	static const uint64_t nbytes[] = {8, 8};
	const struct tp_meta meta[] = {
	    {TP_STR("z"), TP_STR("1")}, {TP_STR("a"), TP_STR("\x01")}};
	const struct tp_model m = {.entries = entries,
	    .n_entries = 2,
	    .storage_nbytes = nbytes,
	    .n_storages = 2,
	    .meta = meta,
	    .n_meta = 2};
	static const char want[] =
	    "{\"__metadata__\":{\"z\":\"1\",\"a\":\"\\u0001\"},"
	    "\"a\\\"/\\n\":{\"dtype\":\"I64\",\"shape\":[],"
	    "\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\","
	    "\"shape\":[2,1],\"data_offsets\":[8,16]}}";
	static const uint64_t aligns[] = {0, 1, 8, 64, 4096};
	struct temp_dir *d = *state;

	for (size_t i = 0; i < COUNT_OF(aligns); i++) {
		const struct tp_create_options options = {
		    .align = aligns[i], .force = true};
		size_t align = aligns[i] < 8 ? 8 : (size_t)aligns[i];
		size_t header = sizeof(want) - 1, size;
		const char *path = temp_path(d, "x.safetensors");
		struct tp_writer *w = NULL;
		const size_t *order;
		char *file;

		while ((8 + header) % align)
			header++;
		assert_int_equal(
		    tp_create(path, &m, &options, &w, NULL), TP_OK);
		order = tp_writer_order(w, &size);
		assert_int_equal(size, 2);
		for (size_t k = 0; k < 2; k++) {
			struct tp_stream *s = NULL;

			/* i64 `a` comes first */
			assert_int_equal(order[k], 1 - k);
			assert_int_equal(
			    tp_stream_memory(
				NULL, k ? "BBBBBBBB" : "AAAAAAAA", 8, &s, NULL),
			    TP_OK);
			assert_int_equal(
			    tp_writer_put(w, order[k], s, NULL), TP_OK);
			tp_stream_close(s);
		}
		assert_int_equal(tp_writer_commit(w, NULL), TP_OK);
		tp_writer_free(w);

		file = read_file(path, &size);
		assert_int_equal(size, 8 + header + 16);
		assert_int_equal(tp_le64(file), header);
		assert_memory_equal(file + 8, want, sizeof(want) - 1);
		for (size_t k = sizeof(want) - 1; k < header; k++)
			assert_int_equal(file[8 + k], ' ');
		assert_memory_equal(file + 8 + header, "AAAAAAAABBBBBBBB", 16);
		free(file);
	}
	assert_int_equal(tp_create(temp_path(d, "y.safetensors"), &m,
			     &(struct tp_create_options){.align = 48},
			     &(struct tp_writer *){NULL}, NULL),
	    TP_EARG);
}

static void
an_empty_model_is_a_file(void **state)
{
	struct temp_dir *d = *state;
	struct tp_reader *r =
	    open_good(TP_CORPUS "/safetensors/ok-empty.safetensors");
	size_t size;
	char *file;

	assert_int_equal(
	    rewrite(r, temp_path(d, "e.safetensors"), NULL, NULL), TP_OK);
	tp_close(r);
	file = read_file(temp_path(d, "e.safetensors"), &size);
	assert_int_equal(size, 16);
	assert_memory_equal(file, "\x08\0\0\0\0\0\0\0{}      ", 16);
	free(file);
}

static unsigned
losses_of(struct tp_entry e)
{
	const uint64_t nbytes = 16;
	const struct tp_model m = {.entries = &e,
	    .n_entries = 1,
	    .storage_nbytes = &nbytes,
	    .n_storages = 1};

	return tp_format_loses(
	    tp_format_find("safetensors"), NULL, &m, NULL, NULL);
}

static void
what_cannot_be_held_is_told(void **state)
{
	static const int64_t three[] = {3}, four[] = {4};

	(void)state;
	assert_int_equal(
	    losses_of((struct tp_entry){.name = TP_STR("__metadata__"),
		.dtype = TP_DTYPE_U8,
		.n_elems = 1}),
	    TP_LOSS_NAME);
	assert_int_equal(
	    losses_of((struct tp_entry){
		.name = TP_STR(""), .dtype = TP_DTYPE_U8, .n_elems = 1}),
	    0);
	for (int i = TP_DTYPE_NONE + 1; i < TP_DTYPE_COUNT; i++) {
		enum tp_dtype dtype = (enum tp_dtype)i;
		unsigned want = TP_LOSS_DTYPE, bits = tp_dtype_bits(dtype);

		for (size_t k = 0; k < COUNT_OF(all_dtypes); k++)
			if (all_dtypes[k].dtype == dtype)
				want = 0;
		assert_int_equal(losses_of((struct tp_entry){.dtype = dtype,
				     .rank = 1,
				     .shape = four,
				     .n_elems = 4}),
		    want);
		if (bits % 8)
			want = TP_LOSS_DTYPE;
		assert_int_equal(losses_of((struct tp_entry){.dtype = dtype,
				     .rank = 1,
				     .shape = three,
				     .n_elems = 3}),
		    want);
	}
}

/* A good file, cut anywhere, is refused; the cut is found, not guessed. */
static void
every_prefix_is_refused(void **state)
{
	static const char *const names[] = {"ok-one", "ok-two-order",
	    "meta-after", "ok-unicode", "unaligned-f64", "hdr-nul-name"};
	const struct tp_open_options options = {.format = "safetensors"};
	struct temp_dir *d = *state;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		char path[256], *file;
		size_t size;

		snprintf(path, sizeof(path),
		    TP_CORPUS "/safetensors/%s.safetensors", names[i]);
		file = read_file(path, &size);
		for (size_t n = 0; n < size; n++) {
			struct tp_reader *r = NULL;

			write_file(temp_path(d, "cut"), file, n);
			assert_int_equal(
			    tp_open(temp_path(d, "cut"), &options, &r, NULL),
			    TP_EFORMAT);
		}
		free(file);
	}
}

static void
every_allocation_may_fail(void **state)
{
	struct temp_dir *d = *state;
	static const char json[] =
	    "{\"__metadata__\":{\"k\\n\":\"v\\u0000\"},"
	    "\"b\\u0041\":{\"dtype\":\"F32\",\"shape\":[1],"
	    "\"data_offsets\":[4,8]},"
	    "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	write_safetensors(
	    temp_path(d, "in"), (struct tp_str){json, sizeof(json) - 1}, 8);
	while (fail_alloc_next(&a, rc)) {
		struct tp_open_options options = {0};
		struct tp_err err = TP_ERR_INIT;
		struct tp_reader *r = NULL;

		options.alloc = &a.alloc;
		rc = tp_open(temp_path(d, "in"), &options, &r, &err);
		assert_true(rc == TP_OK || err.msg[0]);
		tp_close(r);
	}
	assert_true(a.n_rounds >= 8);

	while (fail_alloc_next(&a, rc)) {
		struct tp_reader *r = open_good(temp_path(d, "in"));
		struct tp_create_options options = {0};

		options.alloc = &a.alloc;
		rc = rewrite(r, temp_path(d, "o.safetensors"), &options, NULL);
		tp_close(r);
		assert_int_equal(temp_dir_count(d), rc ? 1 : 2);
	}
	assert_true(a.n_rounds >= 5);
}

/* Opens path and returns the most bytes that were allocated at a time. */
static size_t
peak_of_open(const char *path, enum tp_status want)
{
	struct tp_open_options options = {.format = "safetensors"};
	struct tp_reader *r = NULL;
	struct fail_alloc a;

	fail_alloc_init(&a, 0);
	options.alloc = &a.alloc;
	assert_int_equal(tp_open(path, &options, &r, NULL), want);
	tp_close(r);
	assert_int_equal(a.n_live, 0);
	return a.peak;
}

static void
lengths_alone_allocate_nothing(void **state)
{
	static const uint64_t lengths[] = {
	    100000000, 100000001, 1 << 20, UINT64_MAX, UINT64_C(1) << 63, 91};
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "liar");
	uint8_t file[98] = {0};

	for (size_t i = 0; i < COUNT_OF(lengths); i++) {
		tp_put_le64(file, lengths[i]);
		write_file(path, file, sizeof(file));
		assert_true(peak_of_open(path, lengths[i] > 100000000
						   ? TP_ELIMIT
						   : TP_EFORMAT) < 16384);
	}
}

static void
a_header_of_60_mb_is_read(void **state)
{
	const size_t n_value = 60000000;
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "long");
	char *json = malloc(n_value + 100);
	struct tp_reader *r;
	size_t n;

	assert_non_null(json);
	n = (size_t)sprintf(json, "{\"__metadata__\":{\"k\":\"");
	memset(json + n, 'x', n_value);
	n += n_value;
	n += (size_t)sprintf(json + n, "\"},\"w\":" F32_2 "}");
	write_safetensors(path, (struct tp_str){json, n}, 8);
	free(json);
	r = open_good(path);
	assert_int_equal(tp_reader_meta(r, 0)->value.len, n_value);
	assert_int_equal(tp_reader_n_entries(r), 1);
	tp_close(r);
	/* The text, and the value that is kept. */
	assert_true(peak_of_open(path, TP_OK) < 2 * n_value + (1 << 20));
}

static void
many_tensors_fit_into_60_mib(void **state)
{
	const size_t n_tensors = 100000;
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "many");
	char *json = malloc(n_tensors * 120);
	size_t n = 0;

	assert_non_null(json);
	json[n++] = '{';
	for (size_t i = 0; i < n_tensors; i++)
		n += (size_t)sprintf(json + n,
		    "%s\"model.layers.%zu.block.%zu.attention.weight%zu\":"
		    "{\"dtype\":\"F32\",\"shape\":[1,1],"
		    "\"data_offsets\":[%zu,%zu]}",
		    i ? "," : "", i / 100, i % 100, i, 4 * i, 4 * i + 4);
	json[n++] = '}';
	write_safetensors(path, (struct tp_str){json, n}, 4 * n_tensors);
	free(json);
	assert_true(peak_of_open(path, TP_OK) < (size_t)60 << 20);
}

/* Names of 1 MiB: the 96th makes the header too long for readers. */
static void
a_header_that_nobody_reads_is_not_written(void **state)
{
	enum { N = 96, N_NAME = 1 << 20 };
	struct temp_dir *d = *state;
	struct tp_entry entries[N] = {0};
	uint64_t nbytes[N];
	struct tp_model m = {
	    .entries = entries, .storage_nbytes = nbytes, .n_storages = N};
	char *name = malloc(N_NAME + N);

	assert_non_null(name);
	memset(name, 'n', N_NAME + N);
	for (size_t i = 0; i < N; i++) {
		entries[i] = (struct tp_entry){
		    .name = {name, N_NAME + i},
		    .dtype = TP_DTYPE_U8,
		    .n_elems = 1,
		    .nbytes = 1,
		    .storage = i,
		};
		nbytes[i] = 1;
	}
	for (m.n_entries = N - 1; m.n_entries <= N; m.n_entries++) {
		struct tp_err err = TP_ERR_INIT;
		struct tp_writer *w = NULL;
		enum tp_status rc = tp_create(
		    temp_path(d, "n.safetensors"), &m, NULL, &w, &err);

		/* 95 MiB are below 100,000,000 bytes, 96 MiB above. */
		assert_int_equal(rc, m.n_entries < N ? TP_OK : TP_EUNSUPPORTED);
		tp_writer_free(w);
		assert_int_equal(temp_dir_count(d), 0);
	}
	free(name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_verdict_is_met),
	    TEMP_DIR_TEST(refusals_tell_found_and_expected),
	    TEMP_DIR_TEST(shape_limits),
	    TEMP_DIR_TEST(odd_names_and_metadata_survive),
	    TEMP_DIR_TEST(all_dtypes_are_read_and_written_in_order),
	    TEMP_DIR_TEST(the_header_is_exact),
	    TEMP_DIR_TEST(an_empty_model_is_a_file),
	    cmocka_unit_test(what_cannot_be_held_is_told),
	    TEMP_DIR_TEST(lengths_alone_allocate_nothing),
	    TEMP_DIR_TEST(a_header_of_60_mb_is_read),
	    TEMP_DIR_TEST(many_tensors_fit_into_60_mib),
	    TEMP_DIR_TEST(a_header_that_nobody_reads_is_not_written),
	    TEMP_DIR_TEST(every_prefix_is_refused),
	    TEMP_DIR_TEST(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
