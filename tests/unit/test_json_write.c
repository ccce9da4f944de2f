/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.c: escapes, layout, numbers, failing writes */
#include "support/cmocka_all.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tp/json.h"

#include "support/random.h"

struct text {
	char s[8192];
	size_t len;
	size_t room; /* a write beyond it fails with 7 */
};

static int
append(void *ctx, const char *s, size_t n)
{
	struct text *t = ctx;

	if (n > t->room - t->len)
		return 7;
	memcpy(t->s + t->len, s, n);
	t->len += n;
	t->s[t->len] = '\0';
	return 0;
}

static void
begin(struct tp_json *j, struct text *t, enum tp_json_style style)
{
	t->len = 0;
	t->room = sizeof(t->s) - 1;
	tp_json_init(j, append, t, style);
}

static void
strings_are_escaped(void **state)
{
	static const struct {
		struct tp_str in;
		const char *out;
	} rows[] = {
	    {{"", 0}, "\"\""},
	    {{NULL, 0}, "\"\""},
	    {{"a/b'c", 5}, "\"a/b'c\""},
	    {{"\"\\", 2}, "\"\\\"\\\\\""},
	    {{"\b\f\n\r\t", 5}, "\"\\b\\f\\n\\r\\t\""},
	    {{"\0\x01\x0b\x1b\x1f\x7f", 6},
		"\"\\u0000\\u0001\\u000b\\u001b\\u001f\x7f\""},
	    {{"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80", 9},
		"\"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\""},
	    /* not UTF-8: alone, cut short, a surrogate */
	    {{"a\xff"
	      "b",
		 3},
		"\"a\xef\xbf\xbd"
		"b\""},
	    {{"\xe2\x82", 2}, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
	    {{"\xed\xa0\x80", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tp_json j;
		struct text t;

		begin(&j, &t, TP_JSON_COMPACT);
		tp_json_str(&j, rows[i].in);
		assert_int_equal(tp_json_finish(&j), 0);
		assert_string_equal(t.s, rows[i].out);
	}
}

static void
write_sample(struct tp_json *j)
{
	tp_json_object_begin(j);
	tp_json_key(j, "name");
	tp_json_text(j, "w");
	tp_json_key(j, "shape");
	tp_json_row_begin(j);
	tp_json_u64(j, 2);
	tp_json_object_begin(j);
	tp_json_key(j, "k");
	tp_json_null(j);
	tp_json_object_end(j);
	tp_json_array_begin(j);
	tp_json_array_end(j);
	tp_json_array_end(j);
	tp_json_key(j, "list");
	tp_json_array_begin(j);
	tp_json_bool(j, true);
	tp_json_bool(j, false);
	tp_json_array_end(j);
	tp_json_key(j, "none");
	tp_json_object_begin(j);
	tp_json_object_end(j);
	tp_json_object_end(j);
}

static void
both_styles(void **state)
{
	struct tp_json j;
	struct text t;

	(void)state;
	begin(&j, &t, TP_JSON_COMPACT);
	write_sample(&j);
	assert_int_equal(tp_json_finish(&j), 0);
	assert_string_equal(t.s,
	    "{\"name\":\"w\",\"shape\":[2,{\"k\":null},[]],"
	    "\"list\":[true,false],\"none\":{}}");
	begin(&j, &t, TP_JSON_PRETTY);
	write_sample(&j);
	assert_int_equal(tp_json_finish(&j), 0);
	assert_string_equal(t.s, "{\n"
				 "  \"name\": \"w\",\n"
				 "  \"shape\": [2, {\"k\": null}, []],\n"
				 "  \"list\": [\n"
				 "    true,\n"
				 "    false\n"
				 "  ],\n"
				 "  \"none\": {}\n"
				 "}\n");
}

/* Exact in both styles; on a terminal nothing hidden is printed as it is. */
static void
hidden_characters(void **state)
{
	struct tp_json j;
	struct text t;
	const struct tp_str s = TP_STR("#1##\x7f\xc2\x9b"
				       "1\xe2\x80\xae\xf3\xa0\x80\x81"
				       "\xc3\xa9\xff");

	(void)state;
	begin(&j, &t, TP_JSON_COMPACT);
	tp_json_str(&j, s);
	assert_int_equal(tp_json_finish(&j), 0);
	assert_string_equal(t.s, "\"#1##\x7f\xc2\x9b"
				 "1\xe2\x80\xae\xf3\xa0\x80\x81"
				 "\xc3\xa9\xef\xbf\xbd\"");
	begin(&j, &t, TP_JSON_PRETTY);
	tp_json_str(&j, s);
	assert_int_equal(tp_json_finish(&j), 0);
	assert_string_equal(t.s,
	    "\"#1\\u0023#"
	    "\\u007f\\u009b1\\u202e\\udb40\\udc01\xc3\xa9\xef\xbf\xbd\"\n");
}

static void
integers_are_exact(void **state)
{
	struct tp_json j;
	struct text t;

	(void)state;
	begin(&j, &t, TP_JSON_COMPACT);
	tp_json_array_begin(&j);
	tp_json_u64(&j, UINT64_MAX);
	tp_json_i64(&j, INT64_MIN);
	tp_json_i64(&j, -1);
	tp_json_u64(&j, 0);
	tp_json_array_end(&j);
	assert_int_equal(tp_json_finish(&j), 0);
	assert_string_equal(
	    t.s, "[18446744073709551615,-9223372036854775808,-1,0]");
}

static void
reals_are_shortest(void **state)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {
	    {0.0, "0.0"},
	    {-0.0, "-0.0"},
	    {1.0, "1.0"},
	    {0.1, "0.1"},
	    {1.0 / 3, "0.3333333333333333"},
	    {100000.0, "100000.0"},
	    {1e300, "1e+300"},
	    {5e-324, "5e-324"},
	    {DBL_MIN, "2.2250738585072014e-308"},
	    {DBL_MAX, "1.7976931348623157e+308"},
	    {9007199254740993.0, "9007199254740992.0"},
	    {-2.5, "-2.5"},
	    {(double)NAN, "\"NaN\""},
	    {(double)INFINITY, "\"Infinity\""},
	    {-(double)INFINITY, "\"-Infinity\""},
	};
	struct tp_json j;
	struct text t;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		begin(&j, &t, TP_JSON_COMPACT);
		tp_json_double(&j, rows[i].value);
		assert_int_equal(tp_json_finish(&j), 0);
		assert_string_equal(t.s, rows[i].text);
	}
	begin(&j, &t, TP_JSON_COMPACT);
	tp_json_array_begin(&j);
	tp_json_float(&j, 0.1f);
	tp_json_float(&j, 16777216.0f);
	tp_json_float(&j, 1e-45f);
	tp_json_float(&j, FLT_MAX);
	tp_json_float(&j, NAN);
	tp_json_array_end(&j);
	assert_int_equal(tp_json_finish(&j), 0);
	assert_string_equal(
	    t.s, "[0.1,16777216.0,1e-45,3.4028235e+38,\"NaN\"]");
}

static void
any_double_reads_back(void **state)
{
	uint64_t bits = 88172645463325252u;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct tp_json j;
		struct text t;
		double value;

		random_next(&bits);
		memcpy(&value, &bits, sizeof(value));
		if (isnan(value) || isinf(value))
			continue;
		begin(&j, &t, TP_JSON_COMPACT);
		tp_json_double(&j, value);
		assert_int_equal(tp_json_finish(&j), 0);
		assert_true(strtod(t.s, NULL) == value);
	}
}

static void
long_text_passes_the_buffer(void **state)
{
	struct tp_json j;
	struct text t;
	char name[4096];

	(void)state;
	memset(name, 'n', sizeof(name));
	begin(&j, &t, TP_JSON_COMPACT);
	tp_json_array_begin(&j);
	for (unsigned i = 0; i < 300; i++)
		tp_json_u64(&j, i);
	tp_json_str(&j, (struct tp_str){name, sizeof(name)});
	tp_json_text(&j, "end");
	tp_json_array_end(&j);
	assert_int_equal(tp_json_finish(&j), 0);
	/* 10 + 180 + 600 digits, 300 commas, the strings, the brackets */
	assert_int_equal(t.len, 790 + 300 + 4098 + 1 + 5 + 2);
	assert_memory_equal(t.s, "[0,1,2,3,", 9);
	assert_memory_equal(t.s + t.len - 9, "n\",\"end\"]", 9);
}

static void
a_failed_write_is_told_once(void **state)
{
	struct tp_json j;
	struct text t;

	(void)state;
	for (size_t room = 0; room < 2000; room += 100) {
		begin(&j, &t, TP_JSON_PRETTY);
		t.room = room;
		tp_json_array_begin(&j);
		for (unsigned i = 0; i < 1000; i++)
			write_sample(&j);
		tp_json_array_end(&j);
		assert_int_equal(tp_json_finish(&j), 7);
		assert_true(t.len <= room);
	}
}

static void
misuse_is_told(void **state)
{
	struct tp_json j;
	struct text t;

	(void)state;
	for (unsigned depth = 0; depth <= 2 * TP_JSON_DEPTH; depth++) {
		begin(&j, &t, TP_JSON_PRETTY);
		for (unsigned i = 0; i < depth; i++)
			tp_json_row_begin(&j);
		for (unsigned i = 0; i < depth; i++)
			tp_json_array_end(&j);
		assert_int_equal(tp_json_finish(&j),
		    depth <= TP_JSON_DEPTH ? 0 : TP_JSON_MISUSE);
	}
	begin(&j, &t, TP_JSON_COMPACT);
	tp_json_object_end(&j);
	assert_int_equal(tp_json_finish(&j), TP_JSON_MISUSE);
	begin(&j, &t, TP_JSON_COMPACT);
	tp_json_object_begin(&j);
	assert_int_equal(tp_json_finish(&j), TP_JSON_MISUSE);
	begin(&j, &t, TP_JSON_COMPACT);
	tp_json_object_begin(&j);
	tp_json_key(&j, "k");
	tp_json_object_end(&j);
	assert_int_equal(tp_json_finish(&j), TP_JSON_MISUSE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(strings_are_escaped),
	    cmocka_unit_test(both_styles),
	    cmocka_unit_test(hidden_characters),
	    cmocka_unit_test(integers_are_exact),
	    cmocka_unit_test(reals_are_shortest),
	    cmocka_unit_test(any_double_reads_back),
	    cmocka_unit_test(long_text_passes_the_buffer),
	    cmocka_unit_test(a_failed_write_is_told_once),
	    cmocka_unit_test(misuse_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
