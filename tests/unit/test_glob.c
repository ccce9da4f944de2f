/* SPDX-License-Identifier: Apache-2.0 */
/* glob.c: what a pattern takes, and that none of them takes forever */
#include "support/cmocka_all.h"

#include <string.h>

#include "glob.h"

static void
patterns_match_whole_names(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} rows[] = {
	    {"", "", true},
	    {"", "a", false},
	    {"a", "", false},
	    {"abc", "abc", true},
	    {"abc", "abcd", false},
	    {"abc", "ab", false},
	    {"*", "", true},
	    {"**", "", true},
	    {"*", "a/b.c", true},
	    {"*.weight", "layers.0/attn.weight", true},
	    {"*.weight", "layers.0.weights", false},
	    {"layers.*.weight", "layers..weight", true},
	    {"a*b*c", "aXbXbXc", true},
	    {"a*b*c", "aXbXbX", false},
	    {"*a", "aaa", true},
	    {"?", "", false},
	    {"?", "a", true},
	    {"?", "\xc3\xa9", true},
	    {"??", "\xc3\xa9", false},
	    {"?", "\xff", true},
	    {"?\xa9", "\xc3\xa9", false},
	    {"[abc]", "b", true},
	    {"[abc]", "d", false},
	    {"[a-c]x", "bx", true},
	    {"[!a-c]", "b", false},
	    {"[^a-c]", "d", true},
	    {"[]]", "]", true},
	    {"[!]]", "]", false},
	    {"[a-]", "-", true},
	    {"[\\]]", "]", true},
	    {"[a-\\z]", "y", true},
	    {"[[:digit:]]*", "7x", true},
	    {"[[:digit:]]*", "x7", false},
	    {"[![:alpha:]_]", "_", false},
	    {"[[:nonsense:]]", "n", false},
	    {"[\xce\xb1-\xcf\x89]", "\xce\xb2", true},
	    {"[ab", "[ab", true},
	    {"[ab", "a", false},
	    {"[", "[", true},
	    {"[]", "[]", true},
	    {"\\*", "*", true},
	    {"\\*", "a", false},
	    {"a\\", "a\\", true},
	    {"\\?", "?", true},
	    {"*[0-9]", "layer9", true},
	    {"*[0-9]", "layer9.w", false},
	    {"*\\[0]", "w[0]", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (cli_glob(tp_str(rows[i].pattern), tp_str(rows[i].name)) !=
		    rows[i].matches)
			fail_msg("'%s' on '%s' should be %d", rows[i].pattern,
			    rows[i].name, rows[i].matches);
}

static void
nul_is_a_character_like_any_other(void **state)
{
	(void)state;
	assert_true(cli_glob(TP_STR("a?b"), TP_STR("a\0b")));
	assert_true(cli_glob(TP_STR("a*"), TP_STR("a\0b")));
	assert_false(cli_glob(TP_STR("a"), TP_STR("a\0b")));
	assert_false(cli_glob(TP_STR(""), TP_STR("\0")));
}

/* Naive backtracking would need more steps than there are atoms. */
static void
many_stars_are_quick(void **state)
{
	static char pattern[2000], name[20000];

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(pattern); i += 2)
		memcpy(pattern + i, "*a", 2);
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = 'b';
	assert_false(cli_glob((struct tp_str){pattern, sizeof(pattern)},
	    (struct tp_str){name, sizeof(name)}));
}

static void
exclude_wins_over_include(void **state)
{
	struct cli_list_item in[] = {{NULL, "a*"}, {NULL, "b*"}};
	struct cli_list_item out[] = {{NULL, "*x"}};
	struct cli_filter none = {{0}, {0}}, both = {{in, 2}, {out, 1}};
	struct cli_filter only_out = {{0}, {out, 1}};

	(void)state;
	assert_true(cli_filter_takes(&none, TP_STR("any")));
	assert_true(cli_filter_takes(&both, TP_STR("a1")));
	assert_true(cli_filter_takes(&both, TP_STR("b1")));
	assert_false(cli_filter_takes(&both, TP_STR("c1")));
	assert_false(cli_filter_takes(&both, TP_STR("ax")));
	assert_true(cli_filter_takes(&only_out, TP_STR("c1")));
	assert_false(cli_filter_takes(&only_out, TP_STR("cx")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(patterns_match_whole_names),
	    cmocka_unit_test(nul_is_a_character_like_any_other),
	    cmocka_unit_test(many_stars_are_quick),
	    cmocka_unit_test(exclude_wins_over_include),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
