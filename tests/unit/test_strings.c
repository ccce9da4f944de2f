/* SPDX-License-Identifier: Apache-2.0 */
/* strings.c: equal strings, equal numbers; limits; no memory */
#include "support/numbers.h"

#include "support/fail_alloc.h"

#include "tp/strings.h"

static void
expect_text(
    const struct tp_strings *pool, uint64_t number, const char *s, size_t len)
{
	struct tp_str text = tp_strings_at(pool, number);

	assert_int_equal(text.len, len);
	assert_memory_equal(text.s, s, len);
	/* A NUL follows. */
	assert_int_equal(text.s[len], 0);
}

static void
equal_strings_have_equal_numbers(void **state)
{
	struct tp_strings *pool = NULL;
	char text[] = "abc";
	uint64_t a, b, c;

	(void)state;
	RUN(tp_strings_new(NULL, 0, &pool, err));
	RUN(tp_strings_add(pool, tp_str(text), &a, err));
	RUN(tp_strings_add(pool, TP_STR("a\0b"), &b, err));
	/* What was given is copied. */
	text[0] = 'x';
	RUN(tp_strings_add(pool, TP_STR("abc"), &c, err));
	assert_int_equal(a, c);
	assert_int_not_equal(a, b);
	expect_text(pool, a, "abc", 3);
	expect_text(pool, b, "a\0b", 3);
	tp_strings_free(pool);
	tp_strings_free(NULL);
}

/* Zeroed memory is empty strings, and nonsense is no crash. */
static void
number_zero_is_the_empty_string(void **state)
{
	struct tp_strings *pool = NULL;
	uint64_t n = 7;

	(void)state;
	RUN(tp_strings_new(NULL, 0, &pool, err));
	expect_text(pool, 0, "", 0);
	expect_text(pool, 1, "", 0);
	expect_text(pool, UINT64_MAX, "", 0);
	RUN(tp_strings_add(pool, TP_STR(""), &n, err));
	assert_int_equal(n, 0);
	RUN(tp_strings_add(pool, (struct tp_str){NULL, 0}, &n, err));
	assert_int_equal(n, 0);
	tp_strings_free(pool);
	expect_text(NULL, 3, "", 0);
	RUN(tp_strings_add(NULL, TP_STR(""), &n, err));
	assert_int_equal(tp_strings_add(NULL, TP_STR("x"), &n, NULL), TP_EARG);
}

static void
bytes_are_counted_once_and_limited(void **state)
{
	struct tp_strings *pool = NULL;
	struct tp_err why = TP_ERR_INIT;
	uint64_t n, first;

	(void)state;
	RUN(tp_strings_new(NULL, 10, &pool, err));
	RUN(tp_strings_add(pool, TP_STR("12345"), &first, err));
	for (int i = 0; i < 100; i++) {
		RUN(tp_strings_add(pool, TP_STR("12345"), &n, err));
		assert_int_equal(n, first);
	}
	assert_int_equal(
	    tp_strings_add(pool, TP_STR("abcdef"), &n, &why), TP_ELIMIT);
	assert_string_equal(why.msg, "strings of more than 10 bytes");
	assert_int_equal(n, 0);
	RUN(tp_strings_add(pool, TP_STR("abcde"), &n, err));
	expect_text(pool, n, "abcde", 5);
	tp_strings_free(pool);
}

/* Enough for the table and the list to grow several times. */
static enum tp_status
add_many(const struct tp_alloc *alloc)
{
	struct tp_strings *pool = NULL;
	enum tp_status rc = tp_strings_new(alloc, 0, &pool, NULL);
	uint64_t numbers[300];
	char text[16];

	for (int i = 0; i < 300 && !rc; i++) {
		snprintf(text, sizeof(text), "s%d", i);
		rc = tp_strings_add(pool, tp_str(text), &numbers[i], NULL);
		/* The pool is as it was, or knows one more. */
		if (!rc && i > 0)
			assert_int_equal(numbers[i], numbers[i - 1] + 1);
	}
	for (int i = 0; i < 300 && !rc; i++) {
		snprintf(text, sizeof(text), "s%d", i);
		expect_text(pool, numbers[i], text, strlen(text));
	}
	tp_strings_free(pool);
	return rc;
}

static void
many_strings_with_and_without_memory(void **state)
{
	struct fail_alloc a = {.fail_at = 0};
	enum tp_status rc = TP_OK;

	(void)state;
	while (fail_alloc_next(&a, rc))
		rc = add_many(&a.alloc);
	assert_true(a.n_rounds > 300);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_strings_have_equal_numbers),
	    cmocka_unit_test(number_zero_is_the_empty_string),
	    cmocka_unit_test(bytes_are_counted_once_and_limited),
	    cmocka_unit_test(many_strings_with_and_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
