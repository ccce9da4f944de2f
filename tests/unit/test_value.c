/* SPDX-License-Identifier: Apache-2.0 */
/* value.c: who owns what, lists that are shared, what a value is */
#include "support/numbers.h"

#include "support/fail_alloc.h"

#include "tp/value.h"

static const struct tp_type floats = {
    TP_VALUE_SEQUENCE, TP_VALUE_TENSOR, TP_DTYPE_F32};

static struct tp_value
number(const struct tp_alloc *alloc, double x)
{
	return tp_value_of(tensor_of(alloc, TP_DTYPE_F32, NULL, 0, &x));
}

static void
a_value_is_what_it_holds(void **state)
{
	struct tp_value none = tp_value_of(NULL), v = number(NULL, 3);
	struct tp_value strings = number(NULL, 3);

	(void)state;
	strings.kind = TP_VALUE_STRINGS;
	assert_int_equal(none.kind, TP_VALUE_NONE);
	assert_false(tp_value_has_tensor(&none));
	assert_int_equal(tp_value_type(&none).kind, TP_VALUE_NONE);
	assert_true(tp_value_has_tensor(&v));
	assert_int_equal(tp_value_type(&v).kind, TP_VALUE_TENSOR);
	assert_int_equal(tp_value_type(&v).dtype, TP_DTYPE_F32);
	assert_true(tp_value_has_tensor(&strings));
	assert_int_equal(tp_value_type(&strings).kind, TP_VALUE_TENSOR);
	assert_int_equal(tp_value_type(&strings).dtype, TP_DTYPE_STRING);
	tp_value_release(&v);
	tp_value_release(&strings);
	tp_value_release(&none);
	assert_int_equal(v.kind, TP_VALUE_NONE);
	assert_null(v.tensor);
}

static void
kinds_have_names(void **state)
{
	(void)state;
	assert_string_equal(tp_value_kind_name(TP_VALUE_NONE), "absent");
	assert_string_equal(
	    tp_value_kind_name(TP_VALUE_STRINGS), "tensor of strings");
	assert_string_equal(tp_value_kind_name((enum tp_value_kind)99), "?");
}

/* A copy shares elements, and lives on its own. */
static void
copies_share(void **state)
{
	struct tp_value v = number(NULL, 3), copy, list, other;

	(void)state;
	RUN(tp_value_copy(&v, &copy, err));
	set_number(v.tensor, 0, 4);
	tp_value_release(&v);
	assert_true(number_at(copy.tensor, 0) == 4);

	RUN(tp_list_new(NULL, floats, &copy, 1, &list, err));
	assert_int_equal(copy.kind, TP_VALUE_NONE);
	RUN(tp_value_copy(&list, &other, err));
	assert_ptr_equal(other.list, list.list);
	tp_value_release(&list);
	assert_int_equal(tp_list_count(other.list), 1);
	assert_true(number_at(tp_list_at(other.list, 0)->tensor, 0) == 4);
	tp_value_release(&other);
}

static void
lists_know_what_they_are_of(void **state)
{
	struct tp_type type = floats;
	struct tp_value empty, nested, items[2];

	(void)state;
	RUN(tp_list_new(NULL, floats, NULL, 0, &empty, err));
	assert_int_equal(empty.kind, TP_VALUE_SEQUENCE);
	assert_int_equal(tp_list_count(empty.list), 0);
	assert_int_equal(tp_value_type(&empty).element, TP_VALUE_TENSOR);
	assert_int_equal(tp_value_type(&empty).dtype, TP_DTYPE_F32);

	/* An optional of a sequence, which is shared. */
	type.kind = TP_VALUE_OPTIONAL;
	type.element = TP_VALUE_SEQUENCE;
	RUN(tp_value_copy(&empty, &items[0], err));
	RUN(tp_list_new(NULL, type, items, 1, &nested, err));
	assert_int_equal(nested.kind, TP_VALUE_OPTIONAL);
	assert_ptr_equal(tp_list_at(nested.list, 0)->list, empty.list);
	tp_value_release(&empty);
	tp_value_release(&nested);
}

/* A loop that wraps its state again and again comes to an end. */
static void
lists_do_not_nest_without_end(void **state)
{
	struct tp_type type = {TP_VALUE_OPTIONAL, TP_VALUE_OPTIONAL, 0};
	struct tp_value v = number(NULL, 1), list;
	struct tp_err why = TP_ERR_INIT;
	enum tp_status rc;
	int depth = 0;

	(void)state;
	while ((rc = tp_list_new(NULL, type, &v, 1, &list, &why)) == TP_OK) {
		v = list;
		depth++;
	}
	assert_int_equal(rc, TP_ELIMIT);
	assert_int_equal(depth, 8);
	assert_string_equal(why.msg, "lists more than 8 deep");
	assert_int_equal(v.kind, TP_VALUE_NONE);
	assert_int_equal(list.kind, TP_VALUE_NONE);
}

/* Items move into the list, or go if there is none. */
static enum tp_status
make_list(const struct tp_alloc *alloc)
{
	struct tp_value items[3], list, copy = tp_value_of(NULL);
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < 3; i++)
		items[i] = number(NULL, (double)i);
	rc = tp_list_new(alloc, floats, items, 3, &list, NULL);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(items[i].kind, TP_VALUE_NONE);
	if (rc)
		assert_int_equal(list.kind, TP_VALUE_NONE);
	else
		rc = tp_value_copy(tp_list_at(list.list, 2), &copy, NULL);
	tp_value_release(&list);
	if (!rc)
		assert_true(number_at(copy.tensor, 0) == 2);
	tp_value_release(&copy);
	return rc;
}

static void
no_memory_leaves_nothing_behind(void **state)
{
	struct fail_alloc a = {.fail_at = 0};
	enum tp_status rc = TP_OK;

	(void)state;
	while (fail_alloc_next(&a, rc))
		rc = make_list(&a.alloc);
	assert_true(a.n_rounds > 2);
}

/* A copy of a tensor that cannot be made is NONE. */
static void
copies_fail_cleanly(void **state)
{
	struct fail_alloc a;
	struct tp_value v, copy;

	(void)state;
	fail_alloc_init(&a, 0);
	v = number(&a.alloc, 1);
	a.fail_at = a.n_calls + 1;
	assert_int_equal(tp_value_copy(&v, &copy, NULL), TP_ENOMEM);
	assert_int_equal(copy.kind, TP_VALUE_NONE);
	assert_null(copy.tensor);
	tp_value_release(&v);
	assert_int_equal(a.n_live, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_value_is_what_it_holds),
	    cmocka_unit_test(kinds_have_names),
	    cmocka_unit_test(copies_share),
	    cmocka_unit_test(lists_know_what_they_are_of),
	    cmocka_unit_test(lists_do_not_nest_without_end),
	    cmocka_unit_test(no_memory_leaves_nothing_behind),
	    cmocka_unit_test(copies_fail_cleanly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
