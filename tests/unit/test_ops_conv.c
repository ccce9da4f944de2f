/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/conv.c, ops/image.c: convolutions of whole numbers, which are exact,
 * against the definition: Conv gathers, ConvTranspose scatters
 */
#include "support/exact.h"
#include "support/fail_alloc.h"
#include "support/op_calls.h"

#define MAX_AXES 3

struct conv_case {
	unsigned rank;		    /* spatial axes */
	int64_t n, groups, in, out; /* images; channels of a group */
	int64_t input[MAX_AXES], kernel[MAX_AXES], stride[MAX_AXES];
	int64_t dilation[MAX_AXES], pads[2 * MAX_AXES];
};

static const struct conv_case cases[] = {
    {1, 2, 1, 3, 4, {9}, {3}, {1}, {1}, {1, 1}},
    {1, 1, 2, 2, 3, {10}, {4}, {3}, {2}, {0, 5}},
    /* More outputs than a tile has columns, more depth than a block. */
    {1, 1, 1, 40, 2, {700}, {7}, {1}, {3}, {9, 9}},
    {2, 2, 1, 3, 5, {6, 7}, {3, 2}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {2, 1, 3, 2, 2, {7, 5}, {3, 3}, {2, 2}, {1, 2}, {1, 2, 0, 1}},
    {2, 1, 1, 4, 33, {5, 6}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {2, 2, 1, 4, 3, {5, 6}, {1, 1}, {2, 3}, {1, 1}, {0, 0, 0, 0}},
    {2, 1, 1, 2, 2, {2, 30}, {2, 5}, {1, 4}, {1, 1}, {1, 3, 2, 0}},
    /* One channel in a group. */
    {2, 2, 6, 1, 1, {9, 40}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 1, 5, 1, 1, {8, 45}, {3, 5}, {2, 2}, {1, 1}, {1, 2, 1, 2}},
    {2, 1, 4, 1, 2, {6, 21}, {2, 3}, {1, 3}, {2, 4}, {0, 0, 3, 5}},
    {1, 1, 3, 1, 1, {50}, {4}, {1}, {2}, {3, 0}},
    {3, 1, 2, 1, 1, {3, 4, 19}, {2, 2, 3}, {1, 2, 1}, {1, 1, 2},
	{0, 1, 1, 1, 0, 2}},
    {3, 1, 2, 2, 2, {4, 3, 5}, {2, 3, 2}, {2, 1, 1}, {1, 1, 2},
	{1, 1, 0, 0, 1, 1}},
};

static void
fill_whole(struct tp_tensor *t, uint64_t seed)
{
	for (uint64_t i = 0; i < tp_tensor_numel(t); i++)
		set_number(
		    t, i, (double)(int64_t)(next_random(&seed) % 15) - 7);
}

static int64_t
product_of(const int64_t *sizes, unsigned rank)
{
	int64_t n = 1;

	for (unsigned d = 0; d < rank; d++)
		n *= sizes[d];
	return n;
}

/* Number i of a row-major list as an index. */
static void
index_of(int64_t i, const int64_t *sizes, unsigned rank, int64_t *index)
{
	for (unsigned d = rank; d-- > 0;) {
		index[d] = i % sizes[d];
		i /= sizes[d];
	}
}

/* Where small position s and tap t meet on the large side; -1: in padding. */
static int64_t
meeting(const struct conv_case *k, const int64_t *small, const int64_t *large,
    int64_t s, int64_t t)
{
	int64_t p[MAX_AXES], tap[MAX_AXES], at = 0;

	index_of(s, small, k->rank, p);
	index_of(t, k->kernel, k->rank, tap);
	for (unsigned d = 0; d < k->rank; d++) {
		int64_t q =
		    p[d] * k->stride[d] + tap[d] * k->dilation[d] - k->pads[d];

		if (q < 0 || q >= large[d])
			return -1;
		at = at * large[d] + q;
	}
	return at;
}

/* One channel to another. Small is the side of y in Conv, of x transposed. */
static void
convolve_plane(const struct conv_case *k, bool transposed, const int64_t *small,
    const int64_t *large, const double *x, const double *w, double *y)
{
	int64_t n_small = product_of(small, k->rank);
	int64_t n_taps = product_of(k->kernel, k->rank);

	for (int64_t s = 0; s < n_small; s++)
		for (int64_t t = 0; t < n_taps; t++) {
			int64_t l = meeting(k, small, large, s, t);

			if (l >= 0 && transposed)
				y[l] += x[s] * w[t];
			else if (l >= 0)
				y[s] += x[l] * w[t];
		}
}

static double *
numbers_of(const struct tp_tensor *t)
{
	size_t n = (size_t)tp_tensor_numel(t);
	double *list = calloc(n + 1, sizeof(*list));

	assert_non_null(list);
	for (size_t i = 0; i < n; i++)
		list[i] = number_at(t, i);
	return list;
}

static void
convolve(const struct conv_case *k, bool transposed,
    struct tp_tensor *const *in, const int64_t *output, double *y)
{
	const int64_t *small = transposed ? k->input : output;
	const int64_t *large = transposed ? output : k->input;
	int64_t n_x = product_of(k->input, k->rank);
	int64_t n_y = product_of(output, k->rank);
	int64_t n_taps = product_of(k->kernel, k->rank);
	double *x = numbers_of(in[0]), *w = numbers_of(in[1]);
	double *bias = numbers_of(in[2]);

	for (int64_t plane = 0; plane < k->n * k->groups * k->out; plane++) {
		int64_t o = plane % (k->groups * k->out);
		int64_t image = plane / (k->groups * k->out);
		int64_t group = o / k->out;

		for (int64_t at = 0; at < n_y; at++)
			y[plane * n_y + at] = bias[o];
		for (int64_t i = 0; i < k->in; i++) {
			int64_t from = group * k->in + i;
			int64_t weight = transposed ? from * k->out + o % k->out
						    : o * k->in + i;

			convolve_plane(k, transposed, small, large,
			    x + (image * k->groups * k->in + from) * n_x,
			    w + weight * n_taps, y + plane * n_y);
		}
	}
	free(x);
	free(w);
	free(bias);
}

static void
check_conv(const struct conv_case *k, bool transposed, enum tp_dtype dtype,
    enum placement how)
{
	const struct tp_attr attrs[] = {{.name = TP_STR("strides"),
					    .kind = TP_ATTR_INTS,
					    .ints = k->stride,
					    .n = k->rank},
	    {.name = TP_STR("dilations"),
		.kind = TP_ATTR_INTS,
		.ints = k->dilation,
		.n = k->rank},
	    {.name = TP_STR("pads"),
		.kind = TP_ATTR_INTS,
		.ints = k->pads,
		.n = 2 * k->rank},
	    ATTR_INT("group", k->groups)};
	int64_t x_sizes[5] = {k->n, k->groups * k->in};
	int64_t w_sizes[5] = {k->groups * k->out, k->in};
	const int64_t n_bias = k->groups * k->out;
	int64_t output[MAX_AXES], n_out;
	struct tp_tensor *in[3];
	struct tp_value out;
	double *want;

	if (transposed) {
		w_sizes[0] = k->groups * k->in;
		w_sizes[1] = k->out;
	}
	for (unsigned d = 0; d < k->rank; d++) {
		int64_t span = (k->kernel[d] - 1) * k->dilation[d] + 1;
		int64_t pads = k->pads[d] + k->pads[k->rank + d];

		x_sizes[2 + d] = k->input[d];
		w_sizes[2 + d] = k->kernel[d];
		output[d] =
		    transposed ? (k->input[d] - 1) * k->stride[d] + span - pads
			       : (k->input[d] + pads - span) / k->stride[d] + 1;
	}
	in[0] = placed_tensor(dtype, x_sizes, 2 + k->rank, how);
	in[1] = placed_tensor(dtype, w_sizes, 2 + k->rank, how);
	in[2] = placed_tensor(dtype, &n_bias, 1, how);
	for (unsigned i = 0; i < 3; i++)
		fill_whole(in[i], 7 + i);
	RUN(op_try(transposed ? "ConvTranspose" : "Conv", 11, attrs, 4, in, 3,
	    &out, 1, NULL, err));
	for (unsigned d = 0; d < k->rank; d++)
		assert_int_equal(tp_tensor_sizes(out.tensor)[2 + d], output[d]);
	n_out = k->n * n_bias * product_of(output, k->rank);
	assert_int_equal(tp_tensor_numel(out.tensor), n_out);
	want = calloc((size_t)n_out, sizeof(*want));
	assert_non_null(want);
	convolve(k, transposed, in, output, want);
	for (int64_t i = 0; i < n_out; i++)
		assert_true(number_at(out.tensor, (uint64_t)i) == want[i]);
	free(want);
	tp_value_release(&out);
	for (unsigned i = 0; i < 3; i++)
		tp_tensor_free(in[i]);
}

static void
convolutions_are_what_their_definition_says(void **state)
{
	(void)state;
	for (size_t k = 0; k < COUNT_OF(cases); k++)
		for (int how = 0; how < N_PLACEMENTS; how++) {
			check_conv(&cases[k], false, TP_DTYPE_F32,
			    (enum placement)how);
			check_conv(&cases[k], false, TP_DTYPE_F64,
			    (enum placement)how);
			check_conv(
			    &cases[k], true, TP_DTYPE_F32, (enum placement)how);
			check_conv(
			    &cases[k], true, TP_DTYPE_F64, (enum placement)how);
		}
}

/* Sums that f16 and bf16 round: 1 + 2^-9 is halfway between two bf16. */
static void
narrow_floats_are_rounded_once(void **state)
{
	(void)state;
	check_tensor(
	    op_result("Conv", 22, NO_ATTRS,
		INPUTS(TENSOR(TP_DTYPE_BF16, DIMS(1, 1, 3), 1, 0x1p-9, 0x1p-30),
		    TENSOR(TP_DTYPE_BF16, DIMS(1, 1, 3), 1, 1, 1))),
	    TP_DTYPE_BF16, DIMS(1, 1, 1), NUMBERS(1), 0);
	check_tensor(
	    op_result("Conv", 22, NO_ATTRS,
		INPUTS(TENSOR(TP_DTYPE_BF16, DIMS(1, 1, 3), 1, 0x1p-8, 0x1p-30),
		    TENSOR(TP_DTYPE_BF16, DIMS(1, 1, 3), 1, 1, 1))),
	    TP_DTYPE_BF16, DIMS(1, 1, 1), NUMBERS(1 + 0x1p-7), 0);
	check_tensor(
	    op_result("Conv", 1, NO_ATTRS,
		INPUTS(TENSOR(TP_DTYPE_F16, DIMS(1, 1, 3), 1, 0x1p-11, 0x1p-24),
		    TENSOR(TP_DTYPE_F16, DIMS(1, 1, 3), 1, 1, 1))),
	    TP_DTYPE_F16, DIMS(1, 1, 1), NUMBERS(1 + 0x1p-10), 0);
}

/* A convolution of everything by everything is one sum. */
static void
sums_are_rounded_once(void **state)
{
	static const int64_t x_sizes[] = {1, 5, 9, 11};
	static const int64_t w_sizes[] = {7, 5, 9, 11};
	struct tp_tensor *in[2] = {
	    placed_tensor(TP_DTYPE_F32, x_sizes, 4, PACKED),
	    placed_tensor(TP_DTYPE_F32, w_sizes, 4, PACKED)};
	struct tp_value out;

	(void)state;
	fill_wild(in[0], 11);
	fill_wild(in[1], 12);
	RUN(op_try("Conv", 11, NO_ATTRS, in, 2, &out, 1, NULL, err));
	assert_int_equal(tp_tensor_numel(out.tensor), 7);
	for (uint64_t o = 0; o < 7; o++) {
		struct exact_sum sum = {.n = 0};

		for (uint64_t k = 0; k < 495; k++)
			exact_add(&sum, number_at(in[0], k) *
					    number_at(in[1], o * 495 + k));
		check_exact_f32(&sum, number_at(out.tensor, o));
	}
	tp_value_release(&out);
	tp_tensor_free(in[0]);
	tp_tensor_free(in[1]);
}

/* Found with gcc and clang, without optimisation and with all of it. */
static void
every_machine_finds_the_same_bits(void **state)
{
	static const struct {
		const char *onnx;
		enum tp_dtype dtype;
		int64_t group;
		uint64_t hash;
	} known[] = {
	    {"Conv", TP_DTYPE_F32, 1, UINT64_C(0xea045d4d5d4bcb43)},
	    {"Conv", TP_DTYPE_F64, 2, UINT64_C(0x755e58d56f9f93f6)},
	    {"Conv", TP_DTYPE_F32, 12, UINT64_C(0x0ceb701d813dfed3)},
	    {"Conv", TP_DTYPE_F64, 12, UINT64_C(0x3fdabfef3373cc79)},
	    {"ConvTranspose", TP_DTYPE_F32, 1, UINT64_C(0xc5e99e713e5ee07c)},
	    {"ConvTranspose", TP_DTYPE_BF16, 3, UINT64_C(0xb25f6dbad4a23c33)},
	};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(known); k++) {
		const int64_t x_sizes[] = {2, 12, 20, 23};
		const int64_t w_sizes[] = {12, 12 / known[k].group, 3, 5};
		const struct tp_attr attrs[] = {
		    ATTR_INT("group", known[k].group),
		    ATTR_INTS("strides", 1, 2), ATTR_INTS("pads", 1, 2, 0, 1)};
		struct tp_tensor *in[2] = {
		    placed_tensor(known[k].dtype, x_sizes, 4, PACKED),
		    placed_tensor(known[k].dtype, w_sizes, 4, PACKED)};

		fill_wild(in[0], 51);
		fill_wild(in[1], 52);
		for (unsigned threads = 1; threads <= 2; threads++) {
			const struct tp_op_opts opts = {.n_threads = threads};
			const struct tp_value values[] = {
			    tp_value_of(in[0]), tp_value_of(in[1])};
			struct tp_value out;

			RUN(tp_op_run(op_named(known[k].onnx, 11), attrs, 3,
			    values, 2, &out, 1, &opts, err));
			assert_int_equal(
			    hash_numbers(out.tensor), known[k].hash);
			tp_value_release(&out);
		}
		tp_tensor_free(in[0]);
		tp_tensor_free(in[1]);
	}
}

#define ROW_OF(n, ...) F32(DIMS(1, 1, n), __VA_ARGS__)

static void
transposed_outputs_may_be_asked_for(void **state)
{
	(void)state;
	/* 5 of 2 * 2 + 3 = 7: one is cut at each end; or 2 at the beginning. */
	check_tensor(
	    op_result("ConvTranspose", 11,
		ATTRS(ATTR_INTS("strides", 2), ATTR_INTS("output_shape", 5)),
		INPUTS(ROW_OF(3, 1, 2, 3), ROW_OF(3, 1, 10, 100))),
	    TP_DTYPE_F32, DIMS(1, 1, 5), NUMBERS(10, 102, 20, 203, 30), 0);
	/* 4 of 7: the larger half of 3 in front, or behind. */
	check_tensor(
	    op_result("ConvTranspose", 11,
		ATTRS(ATTR_INTS("strides", 2), ATTR_INTS("output_shape", 4)),
		INPUTS(ROW_OF(3, 1, 2, 3), ROW_OF(3, 1, 10, 100))),
	    TP_DTYPE_F32, DIMS(1, 1, 4), NUMBERS(102, 20, 203, 30), 0);
	check_tensor(op_result("ConvTranspose", 11,
			 ATTRS(ATTR_INTS("strides", 2),
			     ATTR_STRING("auto_pad", "SAME_UPPER"),
			     ATTR_INTS("output_shape", 4)),
			 INPUTS(ROW_OF(3, 1, 2, 3), ROW_OF(3, 1, 10, 100))),
	    TP_DTYPE_F32, DIMS(1, 1, 4), NUMBERS(10, 102, 20, 203), 0);
	/* SAME: as many outputs as strides give. */
	check_tensor(op_result("ConvTranspose", 1,
			 ATTRS(ATTR_INTS("strides", 2),
			     ATTR_STRING("auto_pad", "SAME_LOWER")),
			 INPUTS(ROW_OF(3, 1, 2, 3), ROW_OF(3, 1, 10, 100))),
	    TP_DTYPE_F32, DIMS(1, 1, 6), NUMBERS(10, 102, 20, 203, 30, 300), 0);
	/* More than there is: zeros behind; output_padding likewise. */
	check_tensor(
	    op_result("ConvTranspose", 22,
		ATTRS(ATTR_INTS("output_shape", 1, 1, 5)),
		INPUTS(ROW_OF(2, 1, 2), ROW_OF(2, 1, 10), F32(DIMS(1), 0.5))),
	    TP_DTYPE_F32, DIMS(1, 1, 5), NUMBERS(1.5, 12.5, 20.5, 0.5, 0.5), 0);
	check_tensor(op_result("ConvTranspose", 11,
			 ATTRS(ATTR_INTS("output_padding", 1)),
			 INPUTS(ROW_OF(2, 1, 2), ROW_OF(2, 1, 10))),
	    TP_DTYPE_F32, DIMS(1, 1, 4), NUMBERS(1, 12, 20, 0), 0);
}

static void
nothing_is_convolved_to_nothing(void **state)
{
	(void)state;
	check_tensor(
	    op_result("Conv", 11, NO_ATTRS,
		INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 1, 3)), ROW_OF(2, 1, 2))),
	    TP_DTYPE_F32, DIMS(0, 1, 2), NO_NUMBERS, 0);
	/* No channels: the bias alone. */
	check_tensor(
	    op_result("Conv", 11, NO_ATTRS,
		INPUTS(EMPTY(TP_DTYPE_F32, DIMS(1, 0, 3)),
		    EMPTY(TP_DTYPE_F32, DIMS(1, 0, 2)), F32(DIMS(1), 4))),
	    TP_DTYPE_F32, DIMS(1, 1, 2), NUMBERS(4, 4), 0);
	check_tensor(
	    op_result("ConvTranspose", 11, NO_ATTRS,
		INPUTS(EMPTY(TP_DTYPE_F32, DIMS(1, 0, 3)),
		    EMPTY(TP_DTYPE_F32, DIMS(0, 1, 2)), F32(DIMS(1), 4))),
	    TP_DTYPE_F32, DIMS(1, 1, 4), NUMBERS(4, 4, 4, 4), 0);
}

#define FAR INT64_MAX
#define LARGE (INT64_C(1) << 40)

static void
what_does_not_fit_is_refused(void **state)
{
	(void)state;
	op_refuses(TP_EARG,
	    "Conv: weights of shape [1, 2, 2] do not fit 1 channels in 1 "
	    "groups",
	    "Conv", 11, NO_ATTRS,
	    INPUTS(ROW_OF(2, 1, 2), F32(DIMS(1, 2, 2), 1, 2, 3, 4)));
	op_refuses(TP_EARG,
	    "Conv: weights of shape [1, 1, 2] do not fit 1 channels in 0 "
	    "groups",
	    "Conv", 11, ATTRS(ATTR_INT("group", 0)),
	    INPUTS(ROW_OF(2, 1, 2), ROW_OF(2, 1, 2)));
	op_refuses(TP_EARG,
	    "Conv: inputs of shapes [2] and [1, 1, 2], expected [N, C, D1, …] "
	    "and weights of the same rank",
	    "Conv", 11, NO_ATTRS, INPUTS(F32(DIMS(2), 1, 2), ROW_OF(2, 1, 2)));
	op_refuses(TP_EARG, "Conv: input 2 has shape [2], expected [1]", "Conv",
	    11, NO_ATTRS,
	    INPUTS(ROW_OF(2, 1, 2), ROW_OF(2, 1, 2), F32(DIMS(2), 1, 2)));
	op_refuses(TP_EARG, "Conv: input 1 has dtype f64, input 0 has f32",
	    "Conv", 11, NO_ATTRS,
	    INPUTS(ROW_OF(2, 1, 2), F64(DIMS(1, 1, 2), 1, 2)));
	op_refuses(TP_EARG,
	    "Conv: kernel_shape has 3 for axis 0, the weights have 2", "Conv",
	    11, ATTRS(ATTR_INTS("kernel_shape", 3)),
	    INPUTS(ROW_OF(2, 1, 2), ROW_OF(2, 1, 2)));
	op_refuses(TP_EARG,
	    "Conv: a kernel of 2 with stride 1, dilation 9223372036854775807 "
	    "does not fit an input of 2 with pads 0 and 0",
	    "Conv", 11, ATTRS(ATTR_INTS("dilations", FAR)),
	    INPUTS(ROW_OF(2, 1, 2), ROW_OF(2, 1, 2)));
	op_refuses(TP_ELIMIT, "ConvTranspose: an output beyond all sizes",
	    "ConvTranspose", 11, ATTRS(ATTR_INTS("strides", FAR)),
	    INPUTS(ROW_OF(3, 1, 2, 3), ROW_OF(2, 1, 2)));
	op_refuses(TP_ELIMIT, "ConvTranspose: an output beyond all sizes",
	    "ConvTranspose", 11, ATTRS(ATTR_INTS("output_padding", FAR)),
	    INPUTS(ROW_OF(2, 1, 2), ROW_OF(2, 1, 2)));
	op_refuses(TP_EARG, "ConvTranspose: pads 8 are more than the output, 3",
	    "ConvTranspose", 11, ATTRS(ATTR_INTS("pads", 4, 4)),
	    INPUTS(ROW_OF(2, 1, 2), ROW_OF(2, 1, 2)));
	if (HAS_LONG_AXES)
		op_refuses(TP_ELIMIT,
		    "Conv: an image or a kernel beyond all sizes", "Conv", 11,
		    NO_ATTRS,
		    INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 1, LARGE, LARGE)),
			F32(DIMS(1, 1, 1, 1), 1)));
	op_refuses(TP_EARG, "ConvTranspose: output_shape has -1",
	    "ConvTranspose", 11, ATTRS(ATTR_INTS("output_shape", -1)),
	    INPUTS(ROW_OF(2, 1, 2), ROW_OF(2, 1, 2)));
	op_refuses(TP_EARG,
	    "ConvTranspose: output_shape has 2 numbers, expected 1",
	    "ConvTranspose", 11, ATTRS(ATTR_INTS("output_shape", 1, 1)),
	    INPUTS(ROW_OF(2, 1, 2), ROW_OF(2, 1, 2)));
}

static enum tp_status
conv_with(const struct tp_alloc *alloc, const char *onnx)
{
	static const int64_t x_sizes[] = {1, 2, 4, 4}, w_sizes[] = {2, 2, 3, 3};
	struct tp_tensor *x = placed_tensor(TP_DTYPE_F32, x_sizes, 4, STRIDED);
	struct tp_tensor *w = placed_tensor(TP_DTYPE_F32, w_sizes, 4, STRIDED);
	struct tp_tensor *in[] = {x, w};
	struct tp_value out;
	enum tp_status rc =
	    op_try(onnx, 11, NO_ATTRS, in, 2, &out, 1, alloc, NULL);

	tp_value_release(&out);
	tp_tensor_free(x);
	tp_tensor_free(w);
	return rc;
}

static void
no_memory_is_a_clean_error(void **state)
{
	static const char *const names[] = {"Conv", "ConvTranspose"};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(names); k++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;

		while (fail_alloc_next(&a, rc))
			rc = conv_with(&a.alloc, names[k]);
		assert_true(a.n_rounds > 2);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(convolutions_are_what_their_definition_says),
	    cmocka_unit_test(narrow_floats_are_rounded_once),
	    cmocka_unit_test(sums_are_rounded_once),
	    cmocka_unit_test(every_machine_finds_the_same_bits),
	    cmocka_unit_test(transposed_outputs_may_be_asked_for),
	    cmocka_unit_test(nothing_is_convolved_to_nothing),
	    cmocka_unit_test(what_does_not_fit_is_refused),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
