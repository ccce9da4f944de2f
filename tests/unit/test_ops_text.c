/* SPDX-License-Identifier: Apache-2.0 */
/* ops/text.c, string_normalizer.c, ngrams.c, regex.c: operators on strings */
#include "support/op_calls.h"

#include "support/fail_alloc.h"

#define TEXTS(...) LIST(const char *const, __VA_ARGS__)
#define NO_TEXTS NULL, 0

static struct tp_value
strings_of(struct tp_strings *pool, const int64_t *sizes, size_t rank,
    const char *const *texts, size_t n)
{
	struct tp_value v = {TP_VALUE_STRINGS, NULL, NULL};
	uint64_t *numbers;

	RUN(tp_tensor_empty(
	    NULL, TP_DTYPE_U64, sizes, (unsigned)rank, &v.tensor, err));
	assert_int_equal(tp_tensor_numel(v.tensor), n);
	numbers = tp_tensor_data_mut(v.tensor);
	for (size_t i = 0; i < n; i++)
		RUN(tp_strings_add(pool, tp_str(texts[i]), &numbers[i], err));
	return v;
}

static void
check_strings(struct tp_strings *pool, struct tp_value v, const int64_t *sizes,
    size_t rank, const char *const *texts, size_t n)
{
	assert_int_equal(v.kind, TP_VALUE_STRINGS);
	assert_int_equal(tp_tensor_rank(v.tensor), rank);
	for (size_t d = 0; d < rank; d++)
		assert_int_equal(tp_tensor_sizes(v.tensor)[d], sizes[d]);
	assert_int_equal(tp_tensor_numel(v.tensor), n);
	for (size_t i = 0; i < n; i++) {
		const uint64_t *numbers = tp_tensor_data(v.tensor);

		assert_string_equal(
		    tp_strings_at(pool, numbers[i]).s, texts[i]);
	}
	tp_value_release(&v);
}

static enum tp_status
try_text(struct tp_strings *pool, const struct tp_alloc *alloc,
    const char *onnx, const struct tp_attr *attrs, size_t n_attrs,
    struct tp_value *in, size_t n_in, struct tp_value *out, size_t n_out,
    struct tp_err *err)
{
	const struct tp_op_opts opts = {
	    .n_threads = 1, .strings = pool, .alloc = alloc};
	enum tp_status rc = tp_op_run(op_named(onnx, 20), attrs, n_attrs, in,
	    n_in, out, n_out, &opts, err);

	for (size_t k = 0; k < n_in; k++)
		tp_value_release(&in[k]);
	return rc;
}

static struct tp_strings *
new_pool(void **state)
{
	struct tp_strings *pool = NULL;

	(void)state;
	RUN(tp_strings_new(NULL, 0, &pool, err));
	return pool;
}

static void
texts_are_joined_pair_by_pair(void **state)
{
	struct tp_strings *pool = new_pool(state);
	struct tp_value in[2], out;

	in[0] = strings_of(pool, DIMS(2, 1), TEXTS("a", "\xc3\xa9"));
	in[1] = strings_of(pool, DIMS(3), TEXTS("x", "", "yz"));
	RUN(try_text(pool, NULL, "StringConcat", NULL, 0, in, 2, &out, 1, err));
	check_strings(pool, out, DIMS(2, 3),
	    TEXTS("ax", "a", "ayz", "\xc3\xa9x", "\xc3\xa9", "\xc3\xa9yz"));
	tp_strings_free(pool);
}

struct split {
	const char *text, *delimiter; /* NULL: at white space */
	int64_t most;		      /* splits; -1: any number */
	const char *parts[4];
	size_t n;
};

/* As Python's str.split. */
static void
texts_are_split(void **state)
{
	static const struct split splits[] = {
	    {"a,b,,c", ",", -1, {"a", "b", "", "c"}, 4},
	    {"a,b,,c", ",", 2, {"a", "b", ",c"}, 3},
	    {"a--b-c", "--", -1, {"a", "b-c"}, 2},
	    {"abab", "ab", -1, {"", "", ""}, 3},
	    {"", ",", -1, {""}, 1},
	    {"", NULL, -1, {NULL}, 0},
	    {"  a \t b\xe3\x80\x80"
	     "c\n",
		NULL, -1, {"a", "b", "c"}, 3},
	    {" a  b c ", "", 1, {"a", "b c "}, 2},
	    {" a  ", NULL, 0, {"a  "}, 1},
	    {"a\xff b", NULL, -1, {"a\xff", "b"}, 2},
	};

	for (size_t k = 0; k < COUNT_OF(splits); k++) {
		const struct split *s = &splits[k];
		struct tp_strings *pool = new_pool(state);
		struct tp_attr attrs[2] = {{.n = 0}};
		struct tp_value in, out[2];
		size_t n = 0;

		in = strings_of(pool, SCALAR, TEXTS(s->text));
		if (s->delimiter)
			attrs[n++] = (struct tp_attr){TP_STR("delimiter"),
			    TP_ATTR_STRING, .s = tp_str(s->delimiter)};
		if (s->most >= 0)
			attrs[n++] = (struct tp_attr){
			    TP_STR("maxsplit"), TP_ATTR_INT, .i = s->most};
		RUN(try_text(
		    pool, NULL, "StringSplit", attrs, n, &in, 1, out, 2, err));
		check_strings(
		    pool, out[0], DIMS((int64_t)s->n), s->parts, s->n);
		check_tensor(out[1].tensor, TP_DTYPE_I64, SCALAR,
		    NUMBERS((double)s->n), 0);
		tp_strings_free(pool);
	}
}

static void
short_splits_are_filled_up(void **state)
{
	struct tp_strings *pool = new_pool(state);
	struct tp_value in, out[2];

	in = strings_of(pool, DIMS(3), TEXTS("a b", "", "c"));
	RUN(try_text(pool, NULL, "StringSplit", NULL, 0, &in, 1, out, 2, err));
	check_strings(
	    pool, out[0], DIMS(3, 2), TEXTS("a", "b", "", "", "c", ""));
	check_tensor(out[1].tensor, TP_DTYPE_I64, DIMS(3), NUMBERS(2, 0, 1), 0);
	tp_strings_free(pool);
}

#define WORDS TEXTS("Monday", "TUESDAY", "m\xc3\xa4rz", "monday")

static void
stopwords_go_and_letters_change(void **state)
{
	struct tp_strings *pool = new_pool(state);
	struct tp_value in, out;

	in = strings_of(pool, DIMS(4), WORDS);
	RUN(try_text(pool, NULL, "StringNormalizer",
	    ATTRS(ATTR_STRING("case_change_action", "UPPER"),
		ATTR_INT("is_case_sensitive", 1),
		ATTR_STRINGS("stopwords", TP_STR("monday"))),
	    &in, 1, &out, 1, err));
	check_strings(
	    pool, out, DIMS(3), TEXTS("MONDAY", "TUESDAY", "M\xc3\x84RZ"));
	in = strings_of(pool, DIMS(1, 4), WORDS);
	RUN(try_text(pool, NULL, "StringNormalizer",
	    ATTRS(ATTR_STRING("case_change_action", "NONE"),
		ATTR_STRINGS(
		    "stopwords", TP_STR("MONDAY"), TP_STR("M\xc3\x84rz"))),
	    &in, 1, &out, 1, err));
	check_strings(pool, out, DIMS(1, 1), TEXTS("TUESDAY"));
	/* Nothing left is one empty string. */
	in = strings_of(pool, DIMS(1, 1), TEXTS("a"));
	RUN(try_text(pool, NULL, "StringNormalizer",
	    ATTRS(ATTR_STRINGS("stopwords", TP_STR("A"))), &in, 1, &out, 1,
	    err));
	check_strings(pool, out, DIMS(1, 1), TEXTS(""));
	tp_strings_free(pool);
}

static void
letters_of_every_script_have_a_case(void **state)
{
	/* Latin with a stroke, Greek, Cyrillic, Georgian, Deseret; a letter
	 * whose capital is longer in bytes; a sharp s, which has none. */
	static const char small[] =
	    "\xc5\x82\xcf\x89\xd0\xb6\xe1\x83\x90\xf0\x90\x90\xa8\xc9\x90"
	    "\xc3\x9f";
	static const char capital[] =
	    "\xc5\x81\xce\xa9\xd0\x96\xe1\xb2\x90\xf0\x90\x90\x80\xe2\xb1\xaf"
	    "\xc3\x9f";
	struct tp_strings *pool = new_pool(state);
	struct tp_value in, out;

	in = strings_of(pool, DIMS(1), TEXTS(small));
	RUN(try_text(pool, NULL, "StringNormalizer",
	    ATTRS(ATTR_STRING("case_change_action", "UPPER")), &in, 1, &out, 1,
	    err));
	check_strings(pool, out, DIMS(1), TEXTS(capital));
	in = strings_of(pool, DIMS(1), TEXTS(capital));
	RUN(try_text(pool, NULL, "StringNormalizer",
	    ATTRS(ATTR_STRING("case_change_action", "LOWER")), &in, 1, &out, 1,
	    err));
	check_strings(pool, out, DIMS(1), TEXTS(small));
	tp_strings_free(pool);
}

#define NGRAMS(mode, skips, ...)                                               \
	ATTRS(ATTR_STRING("mode", mode), ATTR_INT("min_gram_length", 1),       \
	    ATTR_INT("max_gram_length", 2), ATTR_INT("max_skip_count", skips), \
	    ATTR_INTS("ngram_counts", 0, 2),                                   \
	    ATTR_INTS("ngram_indexes", 3, 0, 1, 2), __VA_ARGS__)
#define INT_POOL ATTR_INTS("pool_int64s", 2, 3, 5, 4, 2, 2)
#define WEIGHTS ATTR_FLOATS("weights", 0.5, 2, 3, 4)

static void
ngrams_are_counted_and_weighed(void **state)
{
	(void)state;
	/* 2 three times, 3 once; 5 4 once; 2 2 once beside, once by a skip. */
	check_tensor(op_result("TfIdfVectorizer", 9, NGRAMS("TF", 0, INT_POOL),
			 INPUTS(I64(DIMS(7), 2, 2, 3, 2, 5, 4, 9))),
	    TP_DTYPE_F32, DIMS(4), NUMBERS(1, 1, 1, 3), 0);
	check_tensor(op_result("TfIdfVectorizer", 9, NGRAMS("TF", 1, INT_POOL),
			 INPUTS(I64(DIMS(7), 2, 2, 3, 2, 5, 4, 9))),
	    TP_DTYPE_F32, DIMS(4), NUMBERS(1, 1, 2, 3), 0);
	check_tensor(
	    op_result("TfIdfVectorizer", 9, NGRAMS("IDF", 1, INT_POOL, WEIGHTS),
		INPUTS(I32(DIMS(7), 2, 2, 3, 2, 5, 4, 9))),
	    TP_DTYPE_F32, DIMS(4), NUMBERS(2, 3, 4, 0.5), 0);
	check_tensor(op_result("TfIdfVectorizer", 9,
			 NGRAMS("TFIDF", 1, INT_POOL, WEIGHTS),
			 INPUTS(I32(DIMS(2, 3), 2, 7, 2, 5, 4, 3))),
	    TP_DTYPE_F32, DIMS(2, 4), NUMBERS(0, 0, 4, 1, 2, 3, 0, 0), 0);
	check_tensor(op_result("TfIdfVectorizer", 9, NGRAMS("TF", 9, INT_POOL),
			 INPUTS(EMPTY(TP_DTYPE_I32, DIMS(2, 0)))),
	    TP_DTYPE_F32, DIMS(2, 4), NUMBERS(0, 0, 0, 0, 0, 0, 0, 0), 0);
}

static void
ngrams_may_be_words(void **state)
{
	struct tp_strings *pool = new_pool(state);
	struct tp_value in, out;

	in = strings_of(pool, DIMS(4), TEXTS("a", "b", "a", "c"));
	RUN(try_text(pool, NULL, "TfIdfVectorizer",
	    NGRAMS("TF", 0,
		ATTR_STRINGS("pool_strings", TP_STR("a"), TP_STR("x"),
		    TP_STR("a"), TP_STR("b"), TP_STR("a"), TP_STR("c"))),
	    &in, 1, &out, 1, err));
	check_tensor(out.tensor, TP_DTYPE_F32, DIMS(4), NUMBERS(0, 1, 1, 2), 0);
	tp_strings_free(pool);
}

static void
broken_pools_are_refused(void **state)
{
	(void)state;
	op_refuses(TP_EARG,
	    "TfIdfVectorizer: a pool of no kind for an input of integers",
	    "TfIdfVectorizer", 9, NGRAMS("TF", 0, WEIGHTS),
	    INPUTS(I32(DIMS(1), 1)));
	op_refuses(TP_EARG,
	    "TfIdfVectorizer: 2-grams from 2 to 5 of a pool of 5",
	    "TfIdfVectorizer", 9,
	    NGRAMS("TF", 0, ATTR_INTS("pool_int64s", 1, 2, 3, 4, 5)),
	    INPUTS(I32(DIMS(1), 1)));
	op_refuses(TP_EARG,
	    "TfIdfVectorizer: the pool has more than 4 n-grams, which have an "
	    "index",
	    "TfIdfVectorizer", 9,
	    NGRAMS("TF", 0, ATTR_INTS("pool_int64s", 1, 2, 3, 4, 5, 6, 7, 8)),
	    INPUTS(I32(DIMS(1), 1)));
	op_refuses(TP_EARG, "TfIdfVectorizer: mode 'X'", "TfIdfVectorizer", 9,
	    NGRAMS("X", 0, INT_POOL), INPUTS(I32(DIMS(1), 1)));
	op_refuses(TP_EUNSUPPORTED,
	    "StringConcat of dtype u64; it is implemented for string",
	    "StringConcat", 20, NO_ATTRS,
	    INPUTS(TENSOR(TP_DTYPE_U64, DIMS(1), 1),
		TENSOR(TP_DTYPE_U64, DIMS(1), 1)));
}

struct pattern {
	const char *pattern, *text;
	int matches; /* -1: not a pattern of RE2 */
};

static const struct pattern patterns[] = {
    {"a+b?", "aab", 1},
    {"a+b?", "aabc", 0},
    {"a|ab", "ab", 1},
    {"", "", 1},
    {"", "x", 0},
    {"a.c", "a\nc", 0},
    {"(?s)a.c", "a\nc", 1},
    {"a$", "a\n", 0},
    {"\\w+\\b", "word", 1},
    {"\\w", "\xc3\xa9", 0},
    {".", "\xc3\xa9", 1},
    {"(?i)ABC", "abc", 1},
    {"(?P<x>a)b", "ab", 1},
    {"a{2,3}", "aa", 1},
    {"a{,3}", "a{,3}", 1},
    {"a{x", "a{x", 1},
    {"[]a]+", "]a]", 1},
    {"[^]a]", "b", 1},
    {"[[:alpha:]]+", "ab", 1},
    {"\\pL\\p{Greek}", "a\xce\xb1", 1},
    {"\\Qa+(?=\\E+", "a+(?==", 1},
    {"\\s", "\v", 0},
    {"[\\s]", "\v", 0},
    {"\\S", "\v", 1},
    {"[\\S]", "\v", 1},
    {"\\v", "\v", 1},
    {"\\v", "\n", 0},
    {"\\x41\\x{42}\\101", "ABA", 1},
    {"\\.\\+\\-", ".+-", 1},
    {"\\++", "++", 1},
    {"a", "\xff", 0},
    {"(?=a)a", "a", -1},
    {"(?<!a)b", "b", -1},
    {"(?>a)", "a", -1},
    {"(a)\\1", "aa", -1},
    {"a++", "a", -1},
    {"a{2}+", "aa", -1},
    {"\\\\++", "\\", -1},
    {"\\K", "", -1},
    {"\\R", "\n", -1},
    {"(*FAIL)", "", -1},
    {"(?|a)", "a", -1},
    {"(?R)", "a", -1},
    {"(", "", -1},
    {"[a", "a", -1},
    {"a\\", "a", -1},
    {"a**", "a", -1},
};

static void
patterns_match_from_end_to_end(void **state)
{
	for (size_t k = 0; k < COUNT_OF(patterns); k++) {
		const struct pattern *p = &patterns[k];
		struct tp_strings *pool = new_pool(state);
		const struct tp_attr attr = {
		    TP_STR("pattern"), TP_ATTR_STRING, .s = tp_str(p->pattern)};
		struct tp_err err = TP_ERR_INIT;
		struct tp_value in, out;
		enum tp_status rc;

		in = strings_of(pool, DIMS(1), TEXTS(p->text));
		rc = try_text(pool, NULL, "RegexFullMatch", &attr, 1, &in, 1,
		    &out, 1, &err);
		if (rc == TP_EUNSUPPORTED) {
			tp_strings_free(pool);
			skip();
		}
		if (rc != (p->matches < 0 ? TP_EARG : TP_OK) ||
		    (!rc && number_at(out.tensor, 0) != p->matches)) {
			print_error("'%s' on '%s': status %d: %s\n", p->pattern,
			    p->text, rc, err.msg);
			fail();
		}
		tp_value_release(&out);
		tp_strings_free(pool);
	}
}

/* Steps are counted: a pattern that explodes fails, and soon. */
static void
patterns_that_explode_are_stopped(void **state)
{
	const struct tp_attr attr = ATTR_STRING("pattern", "(a|aa)+b");
	struct tp_strings *pool = new_pool(state);
	struct tp_err err = TP_ERR_INIT;
	struct tp_value in, out;
	enum tp_status rc;
	char text[200];

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = 0;
	in = strings_of(pool, DIMS(1), TEXTS(text));
	rc = try_text(
	    pool, NULL, "RegexFullMatch", &attr, 1, &in, 1, &out, 1, &err);
	/* PCRE2 may see that there is no b at all. */
	if (rc == TP_OK)
		assert_true(number_at(out.tensor, 0) == 0);
	else if (rc != TP_EUNSUPPORTED)
		assert_int_equal(rc, TP_ELIMIT);
	tp_value_release(&out);
	tp_strings_free(pool);
}

static enum tp_status
work(const struct tp_alloc *alloc, int which)
{
	const struct tp_attr attrs[] = {ATTR_STRING("pattern", "a(b|c)*\\s?"),
	    ATTR_STRINGS("stopwords", TP_STR("A"))};
	static const char *const names[] = {"RegexFullMatch",
	    "StringNormalizer", "StringConcat", "StringSplit"};
	struct tp_strings *pool = NULL;
	struct tp_value in[2], out;
	enum tp_status rc;

	RUN(tp_strings_new(NULL, 0, &pool, err));
	in[0] = strings_of(pool, DIMS(2), TEXTS("ab", "a b"));
	in[1] = strings_of(pool, DIMS(2), TEXTS("x", "y"));
	rc = try_text(pool, alloc, names[which], &attrs[which == 1], which < 2,
	    in, which == 2 ? 2 : 1, &out, 1, NULL);
	if (which != 2)
		tp_value_release(&in[1]);
	if (rc)
		assert_int_equal(out.kind, TP_VALUE_NONE);
	tp_value_release(&out);
	tp_strings_free(pool);
	return rc;
}

static enum tp_status
count(const struct tp_alloc *alloc)
{
	struct tp_tensor *x = I64(DIMS(3), 2, 2, 3);
	struct tp_value out;
	enum tp_status rc = op_try("TfIdfVectorizer", 9,
	    NGRAMS("TF", 0, INT_POOL), &x, 1, &out, 1, alloc, NULL);

	tp_value_release(&out);
	tp_tensor_free(x);
	return rc;
}

static void
no_memory_is_a_clean_error(void **state)
{
	(void)state;
	for (int which = 0; which < 5; which++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;

		while (fail_alloc_next(&a, rc))
			rc = which == 4 ? count(&a.alloc)
					: work(&a.alloc, which);
		assert_true(a.n_rounds > 2);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(texts_are_joined_pair_by_pair),
	    cmocka_unit_test(texts_are_split),
	    cmocka_unit_test(short_splits_are_filled_up),
	    cmocka_unit_test(stopwords_go_and_letters_change),
	    cmocka_unit_test(letters_of_every_script_have_a_case),
	    cmocka_unit_test(ngrams_are_counted_and_weighed),
	    cmocka_unit_test(ngrams_may_be_words),
	    cmocka_unit_test(broken_pools_are_refused),
	    cmocka_unit_test(patterns_match_from_end_to_end),
	    cmocka_unit_test(patterns_that_explode_are_stopped),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
