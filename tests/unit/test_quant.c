/* SPDX-License-Identifier: Apache-2.0 */
/* quant.c, quantizer.c: parameters go with their elements; numbers are right */
#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "tp/copy.h"
#include "tp/layout.h"
#include "tp/quant.h"
#include "tp/view.h"

#include "support/tensors.h"

static void
assert_floats(const struct tp_tensor *t, const float *want, size_t n)
{
	const float *got = tp_tensor_data(t);

	assert_int_equal(tp_tensor_numel(t), n);
	for (size_t i = 0; i < n; i++)
		assert_true(got[i] == want[i]);
}

static const int64_t grid[] = {2, 3}, two[] = {2}, three[] = {3};
static const float channel_scales[] = {0.5f, 2.0f};
static const int8_t channel_zeros[] = {1, -1};
static const int8_t stored[] = {1, 2, 3, 4, 5, 6};

/* Axis 0 has the scales 0.5 and 2 and the zero points 1 and -1. */
static struct tp_tensor *
by_channel(void)
{
	struct tp_tensor *t = make_tensor(TP_DTYPE_I8, grid, 2, stored, 6);
	struct tp_tensor *s =
	    make_tensor(TP_DTYPE_F32, two, 1, channel_scales, 8);
	struct tp_tensor *z =
	    make_tensor(TP_DTYPE_I8, two, 1, channel_zeros, 2);
	const struct tp_quant_params p = {.scheme = TP_QUANT_ASYMMETRIC,
	    .per = TP_PER_CHANNEL,
	    .axis = 0,
	    .scale = s,
	    .zero_point = z};

	assert_int_equal(tp_tensor_set_quantizer(t, &p, NULL), TP_OK);
	tp_tensor_free(s);
	tp_tensor_free(z);
	return t;
}

static void
assert_dequantized(const struct tp_tensor *t, const float *want, size_t n)
{
	struct tp_tensor *real = NULL;

	assert_int_equal(tp_dequantize(t, TP_DTYPE_F32, &real, NULL), TP_OK);
	assert_floats(real, want, n);
	tp_tensor_free(real);
}

static void
channels_have_their_own_scale(void **state)
{
	struct tp_tensor *t = by_channel(), *ints = NULL;

	(void)state;
	assert_dequantized(t, (const float[]){0, 0.5f, 1, 10, 12, 14}, 6);
	assert_int_equal(tp_int_repr(t, &ints, NULL), TP_OK);
	assert_false(tp_tensor_is_quantized(ints));
	assert_ptr_equal(tp_tensor_data(ints), tp_tensor_data(t));
	tp_tensor_free(ints);
	tp_tensor_free(t);
}

static void
views_keep_the_scale_of_each_element(void **state)
{
	struct tp_tensor *t = by_channel(), *v = NULL, *w = NULL;
	struct tp_quant_params p;
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	assert_int_equal(tp_tensor_transpose(t, 0, 1, &v, NULL), TP_OK);
	assert_dequantized(v, (const float[]){0, 10, 0.5f, 12, 1, 14}, 6);
	assert_int_equal(tp_tensor_quant_params(v, &p, NULL), TP_OK);
	assert_int_equal(p.per, TP_PER_CHANNEL);
	assert_int_equal(p.axis, 1);

	/* A slice of a view of a flip … and then one channel alone. */
	assert_int_equal(tp_tensor_flip(v, 1, &w, NULL), TP_OK);
	assert_dequantized(w, (const float[]){10, 0, 12, 0.5f, 14, 1}, 6);
	tp_tensor_free(v);
	assert_int_equal(tp_tensor_select(w, 1, 0, &v, NULL), TP_OK);
	assert_dequantized(v, (const float[]){10, 12, 14}, 3);
	assert_int_equal(tp_tensor_quant_params(v, &p, NULL), TP_OK);
	assert_int_equal(p.per, TP_PER_TENSOR);
	tp_tensor_free(v);
	tp_tensor_free(w);

	assert_int_equal(tp_tensor_slice(t, 0, 1, TP_OMIT, 1, &v, NULL), TP_OK);
	assert_dequantized(v, (const float[]){10, 12, 14}, 3);
	tp_tensor_free(v);

	/* Splitting the other axis is possible, mixing the channels is not. */
	assert_int_equal(
	    tp_tensor_reshape(t, (const int64_t[]){2, 1, 3}, 3, &v, NULL),
	    TP_OK);
	assert_dequantized(v, (const float[]){0, 0.5f, 1, 10, 12, 14}, 6);
	tp_tensor_free(v);
	assert_int_equal(
	    tp_tensor_reshape(t, (const int64_t[]){6}, 1, &v, &err),
	    TP_EUNSUPPORTED);
	assert_null(v);
	assert_non_null(strstr(err.msg, "scales do not follow"));
	assert_int_equal(
	    tp_tensor_as_strided(t, two, (const int64_t[]){1}, 1, 0, &v, &err),
	    TP_EUNSUPPORTED);
	tp_tensor_free(t);
}

/* Moved elements keep their scales, too. */
static void
copies_keep_the_scale_of_each_element(void **state)
{
	struct tp_tensor *t = by_channel(), *v = NULL, *c = NULL;

	(void)state;
	assert_int_equal(tp_tensor_transpose(t, 0, 1, &v, NULL), TP_OK);
	tp_tensor_free(t);
	assert_int_equal(tp_tensor_contiguous(v, &c, NULL), TP_OK);
	assert_true(tp_tensor_is_row_major(c));
	assert_dequantized(c, (const float[]){0, 10, 0.5f, 12, 1, 14}, 6);
	tp_tensor_free(c);
	assert_int_equal(
	    tp_tensor_clone(v, TP_LAYOUT_PRESERVE, &c, NULL), TP_OK);
	assert_false(tp_tensor_is_row_major(c));
	tp_tensor_free(v);
	assert_dequantized(c, (const float[]){0, 10, 0.5f, 12, 1, 14}, 6);
	tp_tensor_free(c);
}

static void
wrong_parameters_are_refused(void **state)
{
	struct tp_tensor *t = make_tensor(TP_DTYPE_I8, grid, 2, stored, 6);
	struct tp_tensor *s2 =
	    make_tensor(TP_DTYPE_F32, two, 1, channel_scales, 8);
	struct tp_tensor *z =
	    make_tensor(TP_DTYPE_I8, two, 1, channel_zeros, 2);
	const struct tp_quant_params bad[] = {
	    {TP_QUANT_SYMMETRIC, TP_PER_TENSOR, 0, 0, s2, NULL},
	    {TP_QUANT_SYMMETRIC, TP_PER_CHANNEL, 1, 0, s2, NULL},
	    {TP_QUANT_SYMMETRIC, TP_PER_CHANNEL, 2, 0, s2, NULL},
	    {TP_QUANT_SYMMETRIC, TP_PER_CHANNEL, 0, 0, s2, z},
	    {TP_QUANT_SYMMETRIC, TP_PER_CHANNEL, 0, 0, z, NULL},
	    {TP_QUANT_ASYMMETRIC, TP_PER_CHANNEL, 0, 0, s2, s2},
	    {TP_QUANT_SYMMETRIC, TP_PER_BLOCK, 1, 0, s2, NULL},
	    {TP_QUANT_SYMMETRIC, TP_PER_BLOCK, 1, 2, s2, NULL},
	};
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(
		    tp_tensor_set_quantizer(t, &bad[i], &err), TP_EARG);
		assert_false(tp_tensor_is_quantized(t));
	}
	assert_string_equal(
	    err.msg, "a scale of shape [2]; [2, 2] is expected");
	tp_tensor_free(t);
	tp_tensor_free(s2);
	tp_tensor_free(z);
}

static void
quantizing_rounds_to_even_and_saturates(void **state)
{
	static const int64_t eight[] = {8}, none[1];
	static const float x[] = {0, 1, 3, 5, -1, -3, 1000, -1000};
	/* With scale 2: 0, 0.5, 1.5, 2.5, -0.5, -1.5 and far outside. */
	static const int8_t want[] = {0, 0, 2, 2, 0, -2, 127, -128};
	static const uint8_t want_u8[] = {128, 128, 130, 130, 128, 126, 255, 0};
	/* 4 bits, the first element in the low ones: 0 0 2 2 0 -2 7 -8. */
	static const uint8_t want_i4[] = {0x00, 0x22, 0xe0, 0x87};
	const float scale = 2;
	const uint8_t zero = 128;
	struct tp_tensor *real =
	    make_tensor(TP_DTYPE_F32, eight, 1, x, sizeof(x));
	struct tp_tensor *s = make_tensor(TP_DTYPE_F32, none, 0, &scale, 4);
	struct tp_tensor *z = make_tensor(TP_DTYPE_U8, none, 0, &zero, 1);
	struct tp_quant_params p = {
	    TP_QUANT_SYMMETRIC, TP_PER_TENSOR, 0, 0, s, NULL};
	struct tp_cast_stats stats = {0};
	struct tp_tensor *q = NULL, *back = NULL;

	(void)state;
	assert_int_equal(
	    tp_quantize(real, &p, TP_DTYPE_I8, &q, &stats, NULL), TP_OK);
	assert_memory_equal(tp_tensor_data(q), want, sizeof(want));
	assert_int_equal(stats.n_overflow, 2);
	assert_int_equal(stats.first_overflow, 6);
	assert_dequantized(q, (const float[]){0, 0, 4, 4, 0, -4, 254, -256}, 8);
	tp_tensor_free(q);

	memset(&stats, 0, sizeof(stats));
	assert_int_equal(
	    tp_quantize(real, &p, TP_DTYPE_I4, &q, &stats, NULL), TP_OK);
	assert_memory_equal(tp_tensor_data(q), want_i4, sizeof(want_i4));
	assert_int_equal(stats.n_overflow, 2);
	assert_dequantized(q, (const float[]){0, 0, 4, 4, 0, -4, 14, -16}, 8);

	p.scheme = TP_QUANT_ASYMMETRIC;
	p.zero_point = z;
	assert_int_equal(tp_requantize(q, &p, TP_DTYPE_U8, &back, NULL), TP_OK);
	assert_dequantized(
	    back, (const float[]){0, 0, 4, 4, 0, -4, 14, -16}, 8);
	tp_tensor_free(back);
	tp_tensor_free(q);
	assert_int_equal(
	    tp_quantize(real, &p, TP_DTYPE_U8, &q, NULL, NULL), TP_OK);
	assert_memory_equal(tp_tensor_data(q), want_u8, sizeof(want_u8));
	tp_tensor_free(q);

	((float *)tp_tensor_data_mut(real))[2] = NAN;
	assert_int_equal(
	    tp_quantize(real, &p, TP_DTYPE_U8, &q, NULL, NULL), TP_ERANGE);
	assert_null(q);
	tp_tensor_free(real);
	tp_tensor_free(s);
	tp_tensor_free(z);
}

/* Five elements in blocks of two: scales 1, 10 and, for the last one, 100. */
static void
blocks_may_end_short(void **state)
{
	static const int64_t sizes[] = {2, 5}, blocks[] = {2, 3};
	static const int8_t ints[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1};
	static const float scales[] = {1, 10, 100, 2, 20, 200};
	static const float want[] = {1, 2, 30, 40, 500, 12, 14, 160, 180, 200};
	struct tp_tensor *t =
	    make_tensor(TP_DTYPE_I8, sizes, 2, ints, sizeof(ints));
	struct tp_tensor *s =
	    make_tensor(TP_DTYPE_F32, blocks, 2, scales, sizeof(scales));
	const struct tp_quant_params p = {
	    TP_QUANT_SYMMETRIC, TP_PER_BLOCK, 1, 2, s, NULL};
	struct tp_tensor *real = NULL, *q = NULL, *v = NULL;
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	assert_int_equal(tp_tensor_set_quantizer(t, &p, NULL), TP_OK);
	assert_int_equal(tp_dequantize(t, TP_DTYPE_F32, &real, NULL), TP_OK);
	assert_floats(real, want, 10);
	assert_int_equal(
	    tp_quantize(real, &p, TP_DTYPE_I8, &q, NULL, NULL), TP_OK);
	assert_memory_equal(tp_tensor_data(q), ints, sizeof(ints));
	assert_int_equal(
	    tp_tensor_transpose(q, 0, 1, &v, &err), TP_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "quantized in blocks"));
	assert_int_equal(tp_tensor_alias(q, &v, NULL), TP_OK);
	assert_dequantized(v, want, 10);
	tp_tensor_free(v);
	tp_tensor_free(q);
	tp_tensor_free(real);
	tp_tensor_free(s);
	tp_tensor_free(t);
}

static void
a_device_without_strides_gets_copies(void **state)
{
	/* Made of borrowed bytes, since a storage of it is what is tested. */
	struct tp_tensor *t = make_tensor(TP_DTYPE_I8, three, 1, stored, 3),
			 *v = NULL;

	(void)state;
	assert_int_equal(tp_tensor_as_strided(
			     t, grid, (const int64_t[]){0, 1}, 2, 0, &v, NULL),
	    TP_OK);
	assert_ptr_equal(tp_tensor_storage(v), tp_tensor_storage(t));
	tp_tensor_free(v);
	tp_tensor_free(t);

	assert_int_equal(
	    tp_tensor_empty_on((struct tp_device){TP_DEVICE_HOST_LINEAR, 0},
		TP_DTYPE_I8, three, 1, &t, NULL),
	    TP_OK);
	memcpy(tp_tensor_data_mut(t), stored, 3);
	assert_int_equal(tp_tensor_as_strided(
			     t, grid, (const int64_t[]){0, 1}, 2, 0, &v, NULL),
	    TP_OK);
	assert_ptr_not_equal(tp_tensor_storage(v), tp_tensor_storage(t));
	assert_int_equal(tp_tensor_device(v).type, TP_DEVICE_HOST_LINEAR);
	assert_true(tp_tensor_is_row_major(v));
	assert_memory_equal(
	    tp_tensor_data(v), ((const int8_t[]){1, 2, 3, 1, 2, 3}), 6);
	tp_tensor_free(v);
	tp_tensor_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(channels_have_their_own_scale),
	    cmocka_unit_test(views_keep_the_scale_of_each_element),
	    cmocka_unit_test(copies_keep_the_scale_of_each_element),
	    cmocka_unit_test(wrong_parameters_are_refused),
	    cmocka_unit_test(quantizing_rounds_to_even_and_saturates),
	    cmocka_unit_test(blocks_may_end_short),
	    cmocka_unit_test(a_device_without_strides_gets_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
