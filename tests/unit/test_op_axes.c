/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_op_axes.c - on every dtype: reductions, products, normalizations and
 * movements, along every axis that they take
 */
#include "support/op_sweep.h"

/* [3, n, 2] over each set of axes, with and without keeping them. */
static double
reduce_ref(
    const char *name, const struct tp_tensor *x, unsigned mask, uint64_t output)
{
	const int64_t *sizes = tp_tensor_sizes(x);
	double sum = 0, largest = -INFINITY, least = INFINITY, count = 0;
	double product = 1, norm = 0, square = 0, powers = 0;

	for (uint64_t i = 0; i < tp_tensor_numel(x); i++) {
		uint64_t index[3] = {i / (uint64_t)(sizes[1] * sizes[2]),
		    i / (uint64_t)sizes[2] % (uint64_t)sizes[1],
		    i % (uint64_t)sizes[2]};
		double v = number_at(x, i);
		uint64_t at = 0;

		for (unsigned d = 0; d < 3; d++)
			if (!(mask >> d & 1))
				at = at * (uint64_t)sizes[d] + index[d];
		if (at != output)
			continue;
		sum += v;
		largest = fmax(largest, v);
		least = fmin(least, v);
		product *= v;
		norm += fabs(v);
		square += v * v;
		powers += exp(v);
		count++;
	}
	return !strcmp(name, "max")		     ? largest
	       : !strcmp(name, "mean")		     ? sum / count
	       : !strcmp(name, "reduce_min")	     ? least
	       : !strcmp(name, "reduce_prod")	     ? product
	       : !strcmp(name, "reduce_l1")	     ? norm
	       : !strcmp(name, "reduce_l2")	     ? sqrt(square)
	       : !strcmp(name, "reduce_sum_square")  ? square
	       : !strcmp(name, "reduce_log_sum")     ? log(sum)
	       : !strcmp(name, "reduce_log_sum_exp") ? log(powers)
						     : sum;
}

static double
lowest(enum tp_dtype dtype)
{
	return is_float(dtype) ? -INFINITY
	       : tp_dtype_kind(dtype) == TP_KIND_UINT
		   ? 0
		   : -ldexp(1, (int)tp_dtype_bits(dtype) - 1);
}

static double
highest(enum tp_dtype dtype)
{
	unsigned sign = tp_dtype_kind(dtype) == TP_KIND_INT;

	return is_float(dtype)
		   ? INFINITY
		   : ldexp(1, (int)(tp_dtype_bits(dtype) - sign)) - 1;
}

static void
check_reduce(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	const int64_t sizes[] = {3, n, 2};
	struct tp_tensor *x = placed_tensor(dtype, sizes, 3, how), *y;
	bool by_input = tp_op_info(op).max_in == 2;

	fill(x, 21, e->low, e->high);
	for (unsigned mask = 0; mask < 8; mask++) {
		int64_t axes[3], n_axes = 0, keep = mask & 1;
		double list[3];
		struct tp_attr attrs[2] = {{.name = TP_STR("keepdims"),
					       .kind = TP_ATTR_INT,
					       .i = keep},
		    {.name = TP_STR("axes"),
			.kind = TP_ATTR_INTS,
			.ints = axes}};
		struct tp_tensor *in[2] = {x, NULL};
		unsigned gone = mask ? mask : 7; /* none is all */

		for (int d = 0; d < 3; d++)
			if (mask >> d & 1) {
				/* One of them from the end. */
				axes[n_axes] = d == 1 ? -2 : d;
				list[n_axes] = (double)axes[n_axes];
				n_axes++;
			}
		attrs[1].n = (size_t)n_axes;
		if (by_input && mask)
			in[1] = tensor_of(NULL, TP_DTYPE_I64, &n_axes, 1, list);
		y = run(op, attrs, by_input ? 1 : 2, in, in[1] ? 2 : 1);
		assert_int_equal(
		    tp_tensor_rank(y), keep ? 3 : 3 - (mask ? n_axes : 3));
		for (uint64_t i = 0; i < tp_tensor_numel(y); i++) {
			double want = reduce_ref(e->name, x, gone, i);

			if (want == -INFINITY)
				want = lowest(dtype);
			if (isnan(want) && !is_float(dtype))
				want = 0;
			want = want == INFINITY ? highest(dtype)
						: as_dtype(dtype, want);
			check_number(e->name, dtype, number_at(y, i), want);
		}
		tp_tensor_free(in[1]);
		tp_tensor_free(y);
	}
	tp_tensor_free(x);
}

static void
check_matmul(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	const int64_t a_sizes[] = {2, 1, 5, n}, b_sizes[] = {3, n, 17};
	struct tp_tensor *in[2] = {placed_tensor(dtype, a_sizes, 4, how),
	    placed_tensor(dtype, b_sizes, 3, how)};
	struct tp_tensor *y;

	fill(in[0], 31, -9, 9);
	fill(in[1], 33, -9, 9);
	y = run(op, NULL, 0, in, 2);
	assert_int_equal(tp_tensor_rank(y), 4);
	for (uint64_t i = 0; i < tp_tensor_numel(y); i++) {
		uint64_t p = i / (3 * 5 * 17), q = i / (5 * 17) % 3;
		uint64_t row = i / 17 % 5, column = i % 17;
		uint64_t k_size = (uint64_t)n;
		double sum = 0;

		for (uint64_t k = 0; k < k_size; k++)
			sum += number_at(in[0], (p * 5 + row) * k_size + k) *
			       number_at(in[1], (q * k_size + k) * 17 + column);
		check_number(
		    e->name, dtype, number_at(y, i), as_dtype(dtype, sum));
	}
	tp_tensor_free(y);
	tp_tensor_free(in[0]);
	tp_tensor_free(in[1]);
}

/* Before opset 13 a row is all of what follows the axis. */
static void
check_softmax(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	const int64_t sizes[] = {2, n, 3};
	struct tp_tensor *x = placed_tensor(dtype, sizes, 3, how), *y;
	const struct tp_attr axis = {
	    .name = TP_STR("axis"), .kind = TP_ATTR_INT, .i = 1};
	bool is_flat = tp_op_info(op).until != 0;

	fill(x, 41, -4, 4);
	y = run(op, &axis, 1, &x, 1);
	for (uint64_t i = 0; i < tp_tensor_numel(y); i++) {
		uint64_t row = i / (uint64_t)(3 * n) * (uint64_t)(3 * n);
		double sum = 0;

		for (uint64_t k = row; k < row + (uint64_t)(3 * n); k++)
			if (is_flat || k % 3 == i % 3)
				sum += exp(number_at(x, k));
		check_number(e->name, dtype, number_at(y, i),
		    as_dtype(dtype, exp(number_at(x, i)) / sum));
	}
	tp_tensor_free(y);
	tp_tensor_free(x);
}

static void
check_layer_norm(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	const int64_t sizes[] = {3, n, 2}, part[] = {n, 2};
	struct tp_tensor *in[3] = {placed_tensor(dtype, sizes, 3, how),
	    placed_tensor(dtype, part, 2, how),
	    placed_tensor(dtype, part, 2, how)};
	const struct tp_attr attrs[] = {
	    {.name = TP_STR("axis"), .kind = TP_ATTR_INT, .i = -2},
	    {.name = TP_STR("epsilon"), .kind = TP_ATTR_FLOAT, .f = 0.5}};
	uint64_t m = (uint64_t)(2 * n);
	struct tp_tensor *y;

	for (unsigned k = 0; k < 3; k++)
		fill(in[k], 51 + k, 1, 4);
	y = run(op, attrs, 2, in, 3);
	for (uint64_t i = 0; i < tp_tensor_numel(y); i++) {
		uint64_t row = i / m * m;
		double mean = 0, variance = 0, want;

		for (uint64_t k = row; k < row + m; k++)
			mean += number_at(in[0], k) / (double)m;
		for (uint64_t k = row; k < row + m; k++)
			variance +=
			    pow(number_at(in[0], k) - mean, 2) / (double)m;
		want = (number_at(in[0], i) - mean) / sqrt(variance + 0.5) *
			   number_at(in[1], i % m) +
		       number_at(in[2], i % m);
		/* Sums that nearly cancel: the unit is that of the bias. */
		if (dtype == TP_DTYPE_F64)
			assert_true(fabs(number_at(y, i) - want) < 1e-13);
		else
			check_number(e->name, dtype, number_at(y, i),
			    as_dtype(dtype, want));
	}
	for (unsigned k = 0; k < 3; k++)
		tp_tensor_free(in[k]);
	tp_tensor_free(y);
}

static struct tp_tensor *
list_of(int64_t a, int64_t b, int64_t c)
{
	const int64_t n = 3;

	return tensor_of(NULL, TP_DTYPE_I64, &n, 1,
	    (const double[]){(double)a, (double)b, (double)c});
}

/* Movements: [2, n, 3] to something of which each element is known. */
static void
check_movement(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	const int64_t sizes[] = {2, n, 3}, perm[] = {2, 0, 1};
	const int64_t ones[] = {0, 1, 0}, ends[] = {2, -1, 3},
		      axes[] = {0, 1, 2}, shape[] = {3, 2, -1};
	struct tp_tensor *in[5] = {placed_tensor(dtype, sizes, 3, how)};
	struct tp_attr attrs[3] = {{.name = TP_STR("perm"),
	    .kind = TP_ATTR_INTS,
	    .ints = perm,
	    .n = 3}};
	size_t n_in = 1, n_attrs = 0;
	bool transposes = !strcmp(e->name, "transpose");
	bool slices = !strcmp(e->name, "slice");
	struct tp_tensor *y;

	fill(in[0], 61, 0, 100);
	if (transposes) {
		n_attrs = 1;
	} else if (!slices && n && tp_op_info(op).max_in == 1) {
		attrs[n_attrs++] = (struct tp_attr){
		    TP_STR("shape"), TP_ATTR_INTS, .ints = shape, .n = 3};
	} else if (!slices) {
		in[n_in++] = list_of(3, 2, n ? -1 : 0);
		if (!n && !tp_op_info(op).until) {
			attrs[0] = (struct tp_attr){
			    .name = TP_STR("allowzero"), .i = 1};
			n_attrs = 1;
		} else if (!n) {
			/* A 0 is the size of that axis, which is 3. */
			tp_tensor_free(in[0]);
			tp_tensor_free(in[1]);
			return;
		}
	} else if (tp_op_info(op).max_in == 1) {
		attrs[n_attrs++] = (struct tp_attr){
		    TP_STR("starts"), TP_ATTR_INTS, .ints = ones, .n = 3};
		attrs[n_attrs++] = (struct tp_attr){
		    TP_STR("ends"), TP_ATTR_INTS, .ints = ends, .n = 3};
		attrs[n_attrs++] = (struct tp_attr){
		    TP_STR("axes"), TP_ATTR_INTS, .ints = axes, .n = 3};
	} else {
		in[n_in++] = list_of(0, 1, 0);
		in[n_in++] = list_of(2, -1, 3);
	}
	y = run(op, attrs, n_attrs, in, n_in);
	for (uint64_t i = 0; i < tp_tensor_numel(y); i++) {
		uint64_t rows = (uint64_t)n, cut = n > 2 ? (uint64_t)n - 2 : 0;
		uint64_t from = i;

		if (transposes) /* y[k, i, j] = x[i, j, k] */
			from = i % (2 * rows) * 3 + i / (2 * rows);
		else if (slices) /* y[i, j, k] = x[i, j + 1, k] */
			from = (i / (3 * cut) * rows + i / 3 % cut + 1) * 3 +
			       i % 3;
		check_number(
		    e->name, dtype, number_at(y, i), number_at(in[0], from));
	}
	assert_int_equal(
	    tp_tensor_numel(y), slices ? 6 * (n > 2 ? n - 2 : 0) : 6 * n);
	tp_tensor_free(y);
	for (size_t k = 0; k < n_in; k++)
		tp_tensor_free(in[k]);
}

static const struct expectation expected[] = {
    {"sum", check_reduce, NULL, NULL, -9, 9},
    {"mean", check_reduce, NULL, NULL, -9, 9},
    {"max", check_reduce, NULL, NULL, -9, 9},
    {"reduce_min", check_reduce, NULL, NULL, -9, 9},
    {"reduce_prod", check_reduce, NULL, NULL, 1, 2},
    {"reduce_l1", check_reduce, NULL, NULL, -9, 9},
    {"reduce_l2", check_reduce, NULL, NULL, -9, 9},
    {"reduce_sum_square", check_reduce, NULL, NULL, -9, 9},
    {"reduce_log_sum", check_reduce, NULL, NULL, 1, 9},
    {"reduce_log_sum_exp", check_reduce, NULL, NULL, 1, 9},
    {"matmul", check_matmul, NULL, NULL, 0, 0},
    {"softmax", check_softmax, NULL, NULL, 0, 0},
    {"layer_norm", check_layer_norm, NULL, NULL, 0, 0},
    {"transpose", check_movement, NULL, NULL, 0, 0},
    {"reshape", check_movement, NULL, NULL, 0, 0},
    {"slice", check_movement, NULL, NULL, 0, 0},
};

static void
axes_are_right_on_every_dtype(void **state)
{
	(void)state;
	assert_true(sweep(expected, COUNT_OF(expected)) > 300);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(axes_are_right_on_every_dtype),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
