/* SPDX-License-Identifier: Apache-2.0 */
/* tools/inspect/slice.c: what NumPy gives for the same indices */
#include "support/cmocka_all.h"

#include <string.h>

#include "tools/inspect/slice.h"

/* A row-major [4, 5, 6]. */
static struct slice
cube(void)
{
	return (struct slice){3, {4, 5, 6}, {30, 6, 1}, 0};
}

static void
indices_as_numpy_has_them(void **state)
{
	static const struct {
		const char *text;
		unsigned rank;
		int64_t first, sizes[3], strides[3];
	} rows[] = {
	    {"", 3, 0, {4, 5, 6}, {30, 6, 1}},
	    {"...", 3, 0, {4, 5, 6}, {30, 6, 1}},
	    {"1", 2, 30, {5, 6}, {6, 1}},
	    {"-1", 2, 90, {5, 6}, {6, 1}},
	    {"1, 2, 3", 0, 45, {0}, {0}},
	    {"1,2,3,", 0, 45, {0}, {0}},
	    {"0:2, ::3", 3, 0, {2, 2, 6}, {30, 18, 1}},
	    {" 0 : 2 ,: : 3 ", 3, 0, {2, 2, 6}, {30, 18, 1}},
	    {"..., 0", 2, 0, {4, 5}, {30, 6}},
	    {"2, ..., -1", 1, 65, {5}, {6}},
	    {"1, ..., 2, 3", 0, 45, {0}, {0}},
	    {"::-1", 3, 90, {4, 5, 6}, {-30, 6, 1}},
	    {"3:0:-2", 3, 90, {2, 5, 6}, {-60, 6, 1}},
	    {":, 1:100", 3, 6, {4, 4, 6}, {30, 6, 1}},
	    {":, -2:", 3, 18, {4, 2, 6}, {30, 6, 1}},
	    {"3:1", 3, 0, {0, 5, 6}, {30, 6, 1}},
	    {"::9223372036854775807", 3, 0, {1, 5, 6}, {30, 6, 1}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct slice s = cube();

		if (slice_apply(&s, tp_str(rows[i].text), NULL))
			fail_msg("[%s] should be good", rows[i].text);
		assert_int_equal(s.rank, rows[i].rank);
		assert_int_equal(s.first, rows[i].first);
		for (unsigned d = 0; d < s.rank; d++) {
			assert_int_equal(s.sizes[d], rows[i].sizes[d]);
			assert_int_equal(s.strides[d], rows[i].strides[d]);
		}
	}
}

static void
nonsense_is_refused(void **state)
{
	static const char *const bad[] = {"4", "-5", "0,0,0,0", "0,0,6", "a",
	    "1 2", "::0", "1:2:3:4", "..., ...", ",", "1,,2", "-", "--1", "1.5",
	    "99999999999999999999", ": 99999999999999999999"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct slice s = cube(), before = s;
		struct tp_err err = TP_ERR_INIT;

		if (slice_apply(&s, tp_str(bad[i]), &err) != TP_EARG)
			fail_msg("[%s] should be refused", bad[i]);
		assert_true(err.msg[0] != '\0');
		assert_memory_equal(&s, &before, sizeof(s));
	}
}

static void
a_scalar_has_no_axes(void **state)
{
	struct slice s = {.rank = 0, .first = 7};

	(void)state;
	assert_int_equal(slice_apply(&s, TP_STR(""), NULL), TP_OK);
	assert_int_equal(slice_apply(&s, TP_STR("..."), NULL), TP_OK);
	assert_int_equal(s.first, 7);
	assert_int_equal(slice_apply(&s, TP_STR("0"), NULL), TP_EARG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(indices_as_numpy_has_them),
	    cmocka_unit_test(nonsense_is_refused),
	    cmocka_unit_test(a_scalar_has_no_axes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
