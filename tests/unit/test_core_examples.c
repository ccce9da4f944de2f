/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user of libtensor may count on, by example: a row and its tensor, axes
 * that only change their order, a file that is closed before its tensor.
 */
#include "support/cmocka_all.h"

#include <string.h>

#include "tp/access.h"
#include "tp/endian.h"
#include "tp/format.h"
#include "tp/layout.h"
#include "tp/print.h"
#include "tp/view.h"

#include "support/temp_dir.h"

static void
assert_shape(const struct tp_tensor *t, unsigned rank, const int64_t *sizes)
{
	assert_int_equal(tp_tensor_rank(t), rank);
	assert_memory_equal(tp_tensor_sizes(t), sizes, rank * sizeof(*sizes));
}

static void
a_row_is_a_window_and_a_clone_is_not(void **state)
{
	const struct tp_print_options as_tensor = {.name = "tensor"};
	const int64_t sizes[] = {2, 3};
	struct tp_tensor *a = NULL, *v = NULL, *c = NULL;
	struct tp_err err = TP_ERR_INIT;
	char text[200];
	float *x;

	(void)state;
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, sizes, 2, &a, &err), TP_OK);
	x = TP_TENSOR_DATA_MUT(a, float, &err);
	for (int i = 0; i < 6; i++)
		x[i] = (float)(i + 1);
	assert_int_equal(tp_tensor_select(a, 0, 0, &v, &err), TP_OK);
	assert_int_equal(
	    tp_tensor_clone(a, TP_LAYOUT_PRESERVE, &c, &err), TP_OK);
	assert_ptr_equal(tp_tensor_data(v), tp_tensor_data(a));
	assert_ptr_not_equal(tp_tensor_data(c), tp_tensor_data(a));
	assert_true(tp_tensor_is_view(v));
	assert_false(tp_tensor_is_view(c));
	assert_int_equal(tp_tensor_version(a), 1);
	assert_int_equal(tp_tensor_version(c), 0);

	*TP_TENSOR_AT_MUT(v, float, &err, 0) = 99;
	*TP_TENSOR_AT_MUT(c, float, &err, 0, 0) = -1;
	assert_int_equal(tp_tensor_version(a), 2);
	assert_int_equal(tp_tensor_version(c), 1);
	(void)tp_tensor_text(a, &as_tensor, text, sizeof(text));
	assert_string_equal(text, "tensor([[99.,  2.,  3.],\n"
				  "        [ 4.,  5.,  6.]])");
	tp_tensor_free(a);
	tp_tensor_free(v);
	tp_tensor_free(c);
}

static void
axes_change_their_order_and_no_byte_moves(void **state)
{
	const int64_t nchw[] = {2, 3, 4, 5}, row_major[] = {60, 20, 5, 1},
		      nhwc[] = {2, 4, 5, 3}, nhwc_strides[] = {60, 5, 1, 20},
		      wide[] = {4, 2, 10}, cut[] = {2, 2, 5};
	const int axes[] = {0, 2, 3, 1};
	struct tp_tensor *t = NULL, *v = NULL, *w = NULL;

	(void)state;
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, nchw, 4, &t, NULL), TP_OK);
	assert_memory_equal(tp_tensor_strides(t), row_major, sizeof(row_major));
	assert_int_equal(tp_tensor_permute(t, axes, 4, &v, NULL), TP_OK);
	assert_shape(v, 4, nhwc);
	assert_memory_equal(
	    tp_tensor_strides(v), nhwc_strides, sizeof(nhwc_strides));
	assert_ptr_equal(tp_tensor_data(v), tp_tensor_data(t));
	tp_tensor_free(v);
	tp_tensor_free(t);

	/* [1:3, :, 0:10:2] */
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, wide, 3, &t, NULL), TP_OK);
	assert_int_equal(tp_tensor_slice(t, 0, 1, 3, 1, &v, NULL), TP_OK);
	assert_int_equal(tp_tensor_slice(v, 2, 0, 10, 2, &w, NULL), TP_OK);
	assert_shape(w, 3, cut);
	tp_tensor_free(w);
	tp_tensor_free(v);
	tp_tensor_free(t);
}

/* What goes wrong in a caller's hands: an error each, and no tensor. */
static void
bad_use_is_an_error_and_no_crash(void **state)
{
	const int64_t sizes[] = {2, 3}, negative[] = {2, -3}, wide[] = {4, 3},
		      huge[] = {INT64_C(1) << 62, 4},
		      large[] = {INT64_MAX, 1, 1}, steps[] = {3, 1},
		      deep[65] = {0};
	struct tp_tensor *t = NULL, *v = NULL, *x = NULL;
	struct tp_err err = TP_ERR_INIT;

	(void)state;
#define REFUSED(call, expected)                         \
	do {                                            \
		v = t;                                  \
		err.msg[0] = '\0';                      \
		assert_int_equal(call, expected);       \
		assert_null(v);                         \
		assert_int_equal(err.status, expected); \
		assert_int_not_equal(err.msg[0], 0);    \
	} while (0)
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, sizes, 2, &t, &err), TP_OK);
	/* outside of the storage */
	REFUSED(
	    tp_tensor_as_strided(t, wide, steps, 2, TP_SAME_FIRST, &v, &err),
	    TP_EARG);
	REFUSED(tp_tensor_as_strided(t, sizes, steps, 2, 1, &v, &err), TP_EARG);
	/* negative sizes */
	REFUSED(tp_tensor_as_strided(
		    t, negative, steps, 2, TP_SAME_FIRST, &v, &err),
	    TP_EARG);
	REFUSED(tp_tensor_narrow(t, 0, 0, -1, &v, &err), TP_EARG);
	REFUSED(tp_tensor_expand(t, negative, 2, &v, &err), TP_EARG);
	REFUSED(tp_tensor_reshape(t, negative, 2, &v, &err), TP_EARG);
	REFUSED(tp_tensor_unfold(t, 0, -1, 1, &v, &err), TP_EARG);
	REFUSED(tp_tensor_empty(NULL, TP_DTYPE_F32, negative, 2, &v, &err),
	    TP_EARG);
	/* axes that are not there */
	REFUSED(tp_tensor_select(t, 2, 0, &v, &err), TP_EARG);
	REFUSED(tp_tensor_flip(t, -3, &v, &err), TP_EARG);
	REFUSED(tp_tensor_transpose(t, 0, INT32_MAX, &v, &err), TP_EARG);
	REFUSED(tp_tensor_squeeze(t, INT32_MIN, &v, &err), TP_EARG);
	/* sizes that overflow */
	REFUSED(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, huge, 2, &v, &err), TP_ELIMIT);
	REFUSED(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, large, 3, &v, &err), TP_ELIMIT);
	REFUSED(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, deep, 65, &v, &err), TP_ELIMIT);
	/* the wrong type */
	assert_null(TP_TENSOR_DATA(t, double, &err));
	assert_null(TP_TENSOR_AT_MUT(t, int32_t, &err, 0, 0));
	/* one element that is seen as many */
	assert_int_equal(tp_tensor_narrow(t, 0, 0, 1, &v, &err), TP_OK);
	assert_int_equal(tp_tensor_expand(v, wide, 2, &x, &err), TP_OK);
	assert_int_equal(
	    tp_tensor_fill(x, 1, TP_OVERFLOW_ERROR, &err), TP_EARG);
	assert_int_equal(
	    tp_tensor_assign(x, t, TP_OVERFLOW_ERROR, &err), TP_EARG);
	assert_null(TP_TENSOR_AT_MUT(x, float, &err, 0, 0));
	assert_int_equal(tp_tensor_version(t), 0);
#undef REFUSED
	tp_tensor_free(x);
	tp_tensor_free(v);
	tp_tensor_free(t);
}

static void
a_tensor_outlives_its_file(void **state)
{
	/* The header is 64 bytes with its length, so the numbers are aligned */
	static const char json[] =
	    "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
	struct tp_tensor *t = NULL, *c = NULL;
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	struct temp_dir d;
	uint8_t file[8 + 56 + 8];

	(void)state;
	assert_true(sizeof(json) - 1 <= 56);
	memset(file, ' ', sizeof(file));
	memset(file, 0, 8);
	file[0] = 56;
	memcpy(file + 8, json, sizeof(json) - 1);
	memcpy(file + 64, "\0\0\x80\x3f\0\0\0\x40", 8); /* 1, 2 */
	temp_dir_make(&d);
	write_file(temp_path(&d, "m.safetensors"), file, sizeof(file));
	assert_int_equal(
	    tp_open(temp_path(&d, "m.safetensors"), NULL, &r, &err), TP_OK);
	assert_int_equal(tp_reader_tensor(r, 0, &t, &err), TP_OK);
	tp_close(r);
	temp_dir_remove(&d);

	if (tp_host_is_little())
		assert_int_equal(
		    tp_storage_kind(tp_tensor_storage(t)), TP_STORAGE_MAPPED);
	assert_true(*TP_TENSOR_AT(t, float, &err, 0) == 1);
	assert_true(*TP_TENSOR_AT(t, float, &err, 1) == 2);
	/* Elsewhere the bytes had to be swapped, and are a copy. */
	if (tp_host_is_little()) {
		assert_int_equal(
		    tp_tensor_fill(t, 3, TP_OVERFLOW_ERROR, &err), TP_EARG);
		assert_string_equal(err.msg,
		    "write to a read-only tensor; a clone can be written");
	}
	assert_int_equal(
	    tp_tensor_clone(t, TP_LAYOUT_PRESERVE, &c, &err), TP_OK);
	assert_int_equal(tp_tensor_fill(c, 3, TP_OVERFLOW_ERROR, &err), TP_OK);
	assert_true(*TP_TENSOR_AT(c, float, &err, 1) == 3);
	assert_true(*TP_TENSOR_AT(t, float, &err, 1) == 2);
	tp_tensor_free(t);
	tp_tensor_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_row_is_a_window_and_a_clone_is_not),
	    cmocka_unit_test(axes_change_their_order_and_no_byte_moves),
	    cmocka_unit_test(bad_use_is_an_error_and_no_crash),
	    cmocka_unit_test(a_tensor_outlives_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
