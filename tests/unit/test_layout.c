/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c, tensor.c: clones, orders in memory, versions, writes */
#include "support/cmocka_all.h"

#include <string.h>

#include "tp/layout.h"
#include "tp/view.h"

#include "support/tensors.h"

static float
at4(const struct tp_tensor *t, int64_t a, int64_t b, int64_t c, int64_t d)
{
	const int64_t *s = tp_tensor_strides(t);
	const float *base = tp_storage_data(tp_tensor_storage(t));

	return base[(int64_t)tp_tensor_first(t) + a * s[0] + b * s[1] +
		    c * s[2] + d * s[3]];
}

static void
channels_last_keeps_the_meaning_of_axes(void **state)
{
	static const int64_t sizes[] = {2, 3, 4, 5}, want[] = {60, 1, 15, 3};
	struct tp_tensor *t = make_counting(TP_DTYPE_F32, sizes, 4),
			 *last = NULL, *again = NULL;

	(void)state;
	assert_int_equal(tp_tensor_layout(t), TP_LAYOUT_CONTIGUOUS);
	assert_int_equal(
	    tp_tensor_clone(t, TP_LAYOUT_CHANNELS_LAST, &last, NULL), TP_OK);
	assert_memory_equal(tp_tensor_strides(last), want, sizeof(want));
	assert_int_equal(tp_tensor_layout(last), TP_LAYOUT_CHANNELS_LAST);
	assert_true(at4(last, 1, 2, 3, 4) == at4(t, 1, 2, 3, 4));
	assert_true(at4(last, 0, 1, 2, 3) == at4(t, 0, 1, 2, 3));

	/* A clone keeps it, and another one undoes it. */
	assert_int_equal(
	    tp_tensor_clone(last, TP_LAYOUT_PRESERVE, &again, NULL), TP_OK);
	assert_int_equal(tp_tensor_layout(again), TP_LAYOUT_CHANNELS_LAST);
	assert_memory_equal(
	    tp_tensor_data(again), tp_tensor_data(last), 120 * sizeof(float));
	tp_tensor_free(again);
	assert_int_equal(
	    tp_tensor_clone(last, TP_LAYOUT_CONTIGUOUS, &again, NULL), TP_OK);
	assert_memory_equal(
	    tp_tensor_data(again), tp_tensor_data(t), 120 * sizeof(float));
	tp_tensor_free(again);
	tp_tensor_free(last);
	assert_int_equal(
	    tp_tensor_clone(t, TP_LAYOUT_CHANNELS_LAST_3D, &last, NULL),
	    TP_EARG);
	tp_tensor_free(t);
}

static void
the_clone_of_a_transpose_is_a_transpose(void **state)
{
	static const int64_t sizes[] = {3, 4};
	struct tp_tensor *t = make_counting(TP_DTYPE_F32, sizes, 2), *v = NULL,
			 *c = NULL;

	(void)state;
	assert_int_equal(tp_tensor_transpose(t, 0, 1, &v, NULL), TP_OK);
	assert_int_equal(tp_tensor_layout(v), TP_LAYOUT_OTHER);
	assert_int_equal(
	    tp_tensor_clone(v, TP_LAYOUT_PRESERVE, &c, NULL), TP_OK);
	assert_memory_equal(
	    tp_tensor_strides(c), tp_tensor_strides(v), 2 * sizeof(int64_t));
	assert_memory_equal(
	    tp_tensor_data(c), tp_tensor_data(t), 12 * sizeof(float));
	assert_false(tp_tensor_is_view(c));
	assert_true(tp_tensor_is_view(v));
	tp_tensor_free(c);
	tp_tensor_free(v);

	/* One with gaps becomes row-major. */
	assert_int_equal(
	    tp_tensor_slice(t, 1, TP_OMIT, TP_OMIT, 2, &v, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_clone(v, TP_LAYOUT_PRESERVE, &c, NULL), TP_OK);
	assert_true(tp_tensor_is_row_major(c));
	assert_memory_equal(tp_tensor_data(c),
	    ((const float[]){0, 2, 4, 6, 8, 10}), 6 * sizeof(float));
	tp_tensor_free(c);
	tp_tensor_free(v);
	tp_tensor_free(t);
}

static void
one_version_for_all_aliases(void **state)
{
	static const int64_t sizes[] = {3, 4};
	struct tp_tensor *t = make_counting(TP_DTYPE_F32, sizes, 2),
			 *row = NULL, *part = NULL, *alias = NULL,
			 *clone = NULL, *one = NULL;

	(void)state;
	assert_int_equal(tp_tensor_select(t, 0, 1, &row, NULL), TP_OK);
	assert_int_equal(tp_tensor_narrow(row, 0, 1, 2, &part, NULL), TP_OK);
	assert_int_equal(tp_tensor_alias(t, &alias, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_clone(t, TP_LAYOUT_PRESERVE, &clone, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, NULL, 0, &one, NULL), TP_OK);
	*(float *)tp_tensor_data_mut(one) = 99;
	assert_int_equal(tp_tensor_version(t), 0);

	assert_int_equal(
	    tp_tensor_assign(part, one, TP_OVERFLOW_ERROR, NULL), TP_OK);
	assert_int_equal(tp_tensor_version(t), 1);
	assert_int_equal(tp_tensor_version(row), 1);
	assert_int_equal(tp_tensor_version(alias), 1);
	assert_int_equal(tp_tensor_version(clone), 0);
	assert_true(((const float *)tp_tensor_data(t))[5] == 99);
	assert_true(((const float *)tp_tensor_data(t))[6] == 99);
	assert_true(((const float *)tp_tensor_data(t))[7] == 7);
	assert_true(((const float *)tp_tensor_data(clone))[5] == 5);

	tp_tensor_set_inference(part, true);
	assert_int_equal(
	    tp_tensor_assign(part, one, TP_OVERFLOW_ERROR, NULL), TP_OK);
	assert_int_equal(tp_tensor_version(part), 0);
	assert_int_equal(tp_tensor_version(t), 1);
	tp_tensor_free(one);
	tp_tensor_free(clone);
	tp_tensor_free(alias);
	tp_tensor_free(part);
	tp_tensor_free(row);
	tp_tensor_free(t);
}

static void
assignment_converts_and_broadcasts(void **state)
{
	static const int64_t sizes[] = {2, 3}, three[] = {3};
	struct tp_tensor *t = NULL,
			 *from = make_counting(TP_DTYPE_F32, three, 1),
			 *turned = NULL;
	struct tp_err err = TP_ERR_INIT;
	const int8_t *data;

	(void)state;
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_I8, sizes, 2, &t, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_assign(t, from, TP_OVERFLOW_ERROR, NULL), TP_OK);
	data = tp_tensor_data(t);
	assert_memory_equal(data, ((const int8_t[]){0, 1, 2, 0, 1, 2}), 6);

	((float *)tp_tensor_data_mut(from))[1] = 200;
	assert_int_equal(
	    tp_tensor_assign(t, from, TP_OVERFLOW_ERROR, &err), TP_ERANGE);
	assert_int_equal(
	    tp_tensor_assign(t, from, TP_OVERFLOW_SATURATE, NULL), TP_OK);
	assert_int_equal(data[4], 127);

	/* Three values do not fill rows of two. */
	assert_int_equal(tp_tensor_transpose(t, 0, 1, &turned, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_assign(turned, from, TP_OVERFLOW_SATURATE, &err),
	    TP_EARG);
	tp_tensor_free(turned);
	tp_tensor_free(from);
	tp_tensor_free(t);
}

static void
what_cannot_be_written_says_so(void **state)
{
	static const int64_t two[] = {2};
	static float borrowed[2];
	struct tp_tensor *t = NULL, *from = make_counting(TP_DTYPE_F32, two, 1);
	struct tp_storage *s = NULL;
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	assert_int_equal(tp_storage_wrap(NULL, TP_STORAGE_BORROWED, borrowed,
			     sizeof(borrowed), false, NULL, NULL, &s, NULL),
	    TP_OK);
	assert_int_equal(
	    tp_tensor_new(s, TP_DTYPE_F32, two, NULL, 1, 0, &t, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_assign(t, from, TP_OVERFLOW_ERROR, &err), TP_EARG);
	assert_string_equal(
	    err.msg, "write to a read-only tensor; a clone can be written");
	assert_int_equal(tp_tensor_version(t), 0);
	tp_tensor_free(t);
	tp_tensor_free(from);
	tp_storage_unref(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(channels_last_keeps_the_meaning_of_axes),
	    cmocka_unit_test(the_clone_of_a_transpose_is_a_transpose),
	    cmocka_unit_test(one_version_for_all_aliases),
	    cmocka_unit_test(assignment_converts_and_broadcasts),
	    cmocka_unit_test(what_cannot_be_written_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
