/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op.c, ops/: every operator of the registry on every dtype that it takes, with
 * sizes around what vectors hold, and inputs that lie in every way
 *
 * An operator without an entry in `expected` fails the test: add one with it,
 * or write tests of its own and name it in op_tests/.
 */
#include "support/numbers.h"

#include <float.h>
#include <stdlib.h>

#include "tp/op.h"

static const int64_t lengths[] = {0, 1, 7, 8, 9, 33};

static bool
is_float(enum tp_dtype dtype)
{
	return tp_dtype_kind(dtype) == TP_KIND_FLOAT;
}

/* What a result of that dtype looks like: rounded once, or wrapped. */
static double
as_dtype(enum tp_dtype dtype, double x)
{
	unsigned bits = tp_dtype_bits(dtype);
	int64_t whole;
	char code[16];

	if (is_float(dtype)) {
		assert_int_equal(tp_convert(dtype, code, TP_DTYPE_F64, &x, 1,
				     TP_OVERFLOW_INF, 0, NULL, NULL),
		    TP_OK);
		return tp_load_f64(dtype, code, 0);
	}
	whole = (int64_t)x;
	if (bits < 64) {
		whole &= (INT64_C(1) << bits) - 1;
		if (tp_dtype_kind(dtype) == TP_KIND_INT && whole >> (bits - 1))
			whole -= INT64_C(1) << bits;
	} else if (dtype == TP_DTYPE_U64) {
		return (double)(uint64_t)whole;
	}
	return (double)whole;
}

/*
 * Equal, or next to each other where the last bit depends on libm. What
 * computes in f64 anyway has rounded on its way.
 */
static void
check_number(const char *name, enum tp_dtype dtype, double got, double want)
{
	double unit = dtype == TP_DTYPE_F64    ? 32 * DBL_EPSILON
		      : dtype == TP_DTYPE_F32  ? FLT_EPSILON
		      : dtype == TP_DTYPE_F16  ? 0x1p-10
		      : dtype == TP_DTYPE_BF16 ? 0x1p-7
					       : 0;

	if (isnan(want) ? isnan(got)
			: got == want || fabs(got - want) <= unit * fabs(want))
		return;
	print_error("%s of %s: %.17g, expected %.17g\n", name,
	    tp_dtype_name(dtype), got, want);
	fail();
}

static void
fill(struct tp_tensor *t, uint64_t seed, double low, double high)
{
	bool whole = !is_float(tp_tensor_dtype(t));

	for (uint64_t i = 0; i < tp_tensor_numel(t); i++) {
		double x = low + (high - low) *
				     (double)(next_random(&seed) % 1000) / 999;

		if (tp_dtype_kind(tp_tensor_dtype(t)) == TP_KIND_UINT)
			x = fabs(x);
		set_number(t, i, whole ? floor(x) : x);
	}
}

/* Runs an operator with one output. */
static struct tp_tensor *
run_into(const struct tp_op *op, const struct tp_attr *attrs, size_t n_attrs,
    struct tp_tensor *const *in, size_t n_in, struct tp_tensor *into)
{
	const struct tp_op_opts opts = {.n_threads = 2, .into = into};
	struct tp_value values[5], out;

	for (size_t k = 0; k < n_in; k++)
		values[k] = tp_value_of(in[k]);
	RUN(tp_op_run(op, attrs, n_attrs, values, n_in, &out, 1, &opts, err));
	assert_int_equal(out.kind, TP_VALUE_TENSOR);
	return out.tensor;
}

static struct tp_tensor *
run(const struct tp_op *op, const struct tp_attr *attrs, size_t n_attrs,
    struct tp_tensor *const *in, size_t n_in)
{
	return run_into(op, attrs, n_attrs, in, n_in, NULL);
}

struct expectation {
	const char *name;
	void (*check)(const struct expectation *e, const struct tp_op *op,
	    enum tp_dtype dtype, int64_t n, enum placement how);
	double (*f)(double x);
	double (*f2)(double a, double b);
	double low, high; /* of the first input */
};

static void
check_unary_to(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, enum tp_dtype y_dtype, int64_t n, enum placement how)
{
	bool in_place = y_dtype == dtype;
	const int64_t sizes[] = {3, n};
	struct tp_tensor *x = placed_tensor(dtype, sizes, 2, how), *y;
	size_t count = (size_t)tp_tensor_numel(x);
	double *want = calloc(count + 1, sizeof(*want));

	fill(x, 5, e->low, e->high);
	y = run(op, NULL, 0, &x, 1);
	assert_int_equal(tp_tensor_dtype(y), y_dtype);
	assert_int_equal(tp_tensor_numel(y), count);
	for (uint64_t i = 0; i < count; i++) {
		want[i] = as_dtype(y_dtype, e->f(number_at(x, i)));
		check_number(e->name, y_dtype, number_at(y, i), want[i]);
	}
	tp_tensor_free(y);
	/* In place, which counts as a write. */
	assert_int_equal(tp_tensor_version(x), 0);
	y = in_place ? run_into(op, NULL, 0, &x, 1, x) : NULL;
	assert_int_equal(tp_tensor_version(x), in_place);
	for (uint64_t i = 0; i < count && in_place; i++)
		check_number(e->name, dtype, number_at(x, i), want[i]);
	free(want);
	tp_tensor_free(y);
	tp_tensor_free(x);
}

static void
check_unary(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	check_unary_to(e, op, dtype, dtype, n, how);
}

static void
check_question(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	check_unary_to(e, op, dtype, TP_DTYPE_BOOL, n, how);
}

/* Before opset 7 the second input broadcasts, and only when told to. */
static void
check_binary_to(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, enum tp_dtype y_dtype, int64_t n, enum placement how)
{
	const int64_t full[] = {3, n}, row[] = {n}, column[] = {3, 1};
	struct tp_tensor *shapes[3] = {placed_tensor(dtype, full, 2, how),
	    placed_tensor(dtype, row, 1, how),
	    placed_tensor(dtype, column, 2, how)};
	struct tp_tensor *a = placed_tensor(dtype, full, 2, PACKED), *y;
	const struct tp_attr broadcast = {
	    .name = TP_STR("broadcast"), .kind = TP_ATTR_INT, .i = 1};
	bool is_old = tp_op_info(op).until && tp_op_info(op).until < 7;

	fill(a, 9, e->low, e->high);
	for (unsigned s = 0; s < 3; s++)
		fill(shapes[s], 11 + s, 1, 5);
	/* The broadcast operand second, then first. */
	for (unsigned k = 0; k < (is_old ? 3 : 6); k++) {
		unsigned s = k % 3;
		struct tp_tensor *b = shapes[s];
		struct tp_tensor *in[2] = {k < 3 ? a : b, k < 3 ? b : a};

		y = run(op, &broadcast, is_old, in, 2);
		assert_int_equal(tp_tensor_numel(y), 3 * n);
		assert_int_equal(tp_tensor_dtype(y), y_dtype);
		for (uint64_t i = 0; i < tp_tensor_numel(y); i++) {
			uint64_t j = s == 0   ? i
				     : s == 1 ? i % (uint64_t)n
					      : i / (uint64_t)n;
			double p = number_at(a, i), q = number_at(b, j);
			double want = k < 3 ? e->f2(p, q) : e->f2(q, p);

			check_number(e->name, y_dtype, number_at(y, i),
			    as_dtype(y_dtype, want));
		}
		tp_tensor_free(y);
	}
	/* In place on each input, and on both. */
	for (unsigned k = 0; k < 3 && y_dtype == dtype; k++) {
		struct tp_tensor *b = shapes[0];
		struct tp_tensor *in[2] = {k == 1 ? b : a, k == 1 ? a : b};
		struct tp_tensor *want;

		if (k == 2)
			in[1] = a;
		want = run(op, NULL, 0, in, 2);
		y = run_into(op, NULL, 0, in, 2, in[0]);
		for (uint64_t i = 0; i < tp_tensor_numel(y); i++)
			check_number(e->name, dtype, number_at(in[0], i),
			    number_at(want, i));
		tp_tensor_free(want);
		tp_tensor_free(y);
		fill(in[0], 9, e->low, e->high);
	}
	for (unsigned s = 0; s < 3; s++)
		tp_tensor_free(shapes[s]);
	tp_tensor_free(a);
}

static void
check_binary(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	check_binary_to(e, op, dtype, dtype, n, how);
}

static void
check_comparison(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	check_binary_to(e, op, dtype, TP_DTYPE_BOOL, n, how);
}

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

static double
ref_relu(double x)
{
	return x > 0 ? x : 0;
}

static double
ref_sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double
ref_reciprocal(double x)
{
	return 1 / x;
}

static double
ref_neg(double x)
{
	return -x;
}

static double
ref_add(double a, double b)
{
	return a + b;
}

static double
ref_sub(double a, double b)
{
	return a - b;
}

static double
ref_mul(double a, double b)
{
	return a * b;
}

static double
ref_div(double a, double b)
{
	return a / b;
}

static double
ref_sign(double x)
{
	return x < 0 ? -1 : x > 0;
}

static double
ref_softplus(double x)
{
	return log(1 + exp(x));
}

static double
ref_softsign(double x)
{
	return x / (1 + fabs(x));
}

static double
ref_hard_swish(double x)
{
	return x * fmax(0, fmin(1, x / 6 + 0.5));
}

static double
ref_mish(double x)
{
	return x * tanh(log(1 + exp(x)));
}

static double
ref_swish(double x)
{
	return x / (1 + exp(-x));
}

static double
ref_gelu(double x)
{
	return x * (1 + erf(x / sqrt(2))) / 2;
}

static double
ref_elu(double x)
{
	return x < 0 ? exp(x) - 1 : x;
}

static double
ref_leaky_relu(double x)
{
	return x < 0 ? (double)0.01f * x : x;
}

static double
ref_hard_sigmoid(double x)
{
	return fmax(0, fmin(1, (double)0.2f * x + 0.5));
}

static double
ref_thresholded_relu(double x)
{
	return x > 1 ? x : 0;
}

static double
ref_shrink(double x)
{
	return fabs(x) > 0.5 ? x : 0;
}

static double
ref_same(double x)
{
	return x;
}

static double
ref_no(double x)
{
	(void)x;
	return 0;
}

static double
ref_invert(double x)
{
	return -1 - x;
}

static double
ref_equal(double a, double b)
{
	return a == b;
}

static double
ref_less(double a, double b)
{
	return a < b;
}

static double
ref_greater(double a, double b)
{
	return a > b;
}

static double
ref_less_equal(double a, double b)
{
	return a <= b;
}

static double
ref_greater_equal(double a, double b)
{
	return a >= b;
}

static double
ref_and(double a, double b)
{
	return (double)((int)a & (int)b);
}

static double
ref_or(double a, double b)
{
	return (double)((int)a | (int)b);
}

static double
ref_xor(double a, double b)
{
	return (double)((int)a ^ (int)b);
}

static double
ref_swiglu(double a, double b)
{
	return a * b / (1 + exp(-a));
}

/* Sums that nearly cancel lose digits, so the ranges keep off zeros. */
static const struct expectation expected[] = {
    {"acos", check_unary, acos, NULL, -0.9, 0.9},
    {"acosh", check_unary, acosh, NULL, 1.25, 9},
    {"asin", check_unary, asin, NULL, -0.9, 0.9},
    {"asinh", check_unary, asinh, NULL, -9, 9},
    {"atan", check_unary, atan, NULL, -9, 9},
    {"atanh", check_unary, atanh, NULL, -0.9, 0.9},
    {"cos", check_unary, cos, NULL, -3, 3},
    {"cosh", check_unary, cosh, NULL, -3, 3},
    {"erf", check_unary, erf, NULL, -3, 3},
    {"sin", check_unary, sin, NULL, -3, 3},
    {"sinh", check_unary, sinh, NULL, -3, 3},
    {"tan", check_unary, tan, NULL, -1.5, 1.5},
    {"floor", check_unary, floor, NULL, -9, 9},
    {"ceil", check_unary, ceil, NULL, -9, 9},
    {"round", check_unary, rint, NULL, -9, 9},
    {"sign", check_unary, ref_sign, NULL, -3, 3},
    {"is_nan", check_question, ref_no, NULL, -3, 3},
    {"is_inf", check_question, ref_no, NULL, -3, 3},
    {"softplus", check_unary, ref_softplus, NULL, -3, 9},
    {"softsign", check_unary, ref_softsign, NULL, -9, 9},
    {"hard_swish", check_unary, ref_hard_swish, NULL, -9, 9},
    {"mish", check_unary, ref_mish, NULL, -3, 9},
    {"swish", check_unary, ref_swish, NULL, -9, 9},
    {"gelu", check_unary, ref_gelu, NULL, -1, 9},
    {"elu", check_unary, ref_elu, NULL, -3, 3},
    {"celu", check_unary, ref_elu, NULL, -3, 3},
    {"leaky_relu", check_unary, ref_leaky_relu, NULL, -9, 9},
    {"hard_sigmoid", check_unary, ref_hard_sigmoid, NULL, -2, 9},
    {"thresholded_relu", check_unary, ref_thresholded_relu, NULL, -9, 9},
    {"shrink", check_unary, ref_shrink, NULL, -2, 2},
    {"clip", check_unary, ref_same, NULL, -9, 9},
    {"affine", check_unary, ref_same, NULL, -9, 9},
    {"parametric_softplus", check_unary, ref_softplus, NULL, -3, 9},
    {"scaled_tanh", check_unary, tanh, NULL, -3, 3},
    {"bit_not", check_unary, ref_invert, NULL, -100, 100},
    {"equal", check_comparison, NULL, ref_equal, 1, 6},
    {"less", check_comparison, NULL, ref_less, 1, 6},
    {"greater", check_comparison, NULL, ref_greater, 1, 6},
    {"less_equal", check_comparison, NULL, ref_less_equal, 1, 6},
    {"greater_equal", check_comparison, NULL, ref_greater_equal, 1, 6},
    {"bit_and", check_binary, NULL, ref_and, 1, 100},
    {"bit_or", check_binary, NULL, ref_or, 1, 100},
    {"bit_xor", check_binary, NULL, ref_xor, 1, 100},
    {"swiglu", check_binary, NULL, ref_swiglu, 1, 9},
    {"exp", check_unary, exp, NULL, -5, 5},
    {"log", check_unary, log, NULL, 0, 9},
    {"tanh", check_unary, tanh, NULL, -3, 3},
    {"relu", check_unary, ref_relu, NULL, -9, 9},
    {"sigmoid", check_unary, ref_sigmoid, NULL, -9, 9},
    {"sqrt", check_unary, sqrt, NULL, 0, 99},
    {"reciprocal", check_unary, ref_reciprocal, NULL, 1, 9},
    {"neg", check_unary, ref_neg, NULL, -128, 99},
    {"abs", check_unary, fabs, NULL, -99, 99},
    {"add", check_binary, NULL, ref_add, 1, 100},
    {"sub", check_binary, NULL, ref_sub, 1, 100},
    {"mul", check_binary, NULL, ref_mul, 1, 100},
    {"div", check_binary, NULL, ref_div, 1, 100},
    {"pow", check_binary, NULL, pow, 1, 4},
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

/* Operators that are not of one dtype throughout have tests of their own. */
static const char *const tested_elsewhere[] = {
#define TP_OP_TESTED(name) #name,
#include "op_tests/attention.def"
#include "op_tests/control.def"
#include "op_tests/conv.def"
#include "op_tests/data.def"
#include "op_tests/elementwise.def"
#include "op_tests/ml.def"
#include "op_tests/normalization.def"
#include "op_tests/product.def"
#include "op_tests/quantization.def"
#include "op_tests/random.def"
#include "op_tests/reduction.def"
#include "op_tests/resample.def"
#include "op_tests/rnn.def"
#include "op_tests/select.def"
#include "op_tests/sequence.def"
#include "op_tests/signal.def"
#include "op_tests/text.def"
#include "op_tests/training.def"
#undef TP_OP_TESTED
    NULL};

static bool
is_tested_elsewhere(const char *name)
{
	for (size_t i = 0; tested_elsewhere[i]; i++)
		if (!strcmp(tested_elsewhere[i], name))
			return true;
	return false;
}

static const struct expectation *
expectation_of(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(expected); i++)
		if (!strcmp(expected[i].name, name))
			return &expected[i];
	print_error("operator %s has no expectation\n", name);
	fail();
	return NULL;
}

/* Dtypes whose elements have an address; the rest is for movements alone. */
static const enum tp_dtype dtypes[] = {TP_DTYPE_U8, TP_DTYPE_I8, TP_DTYPE_U16,
    TP_DTYPE_I16, TP_DTYPE_U32, TP_DTYPE_I32, TP_DTYPE_U64, TP_DTYPE_I64,
    TP_DTYPE_F8E5M2, TP_DTYPE_F16, TP_DTYPE_BF16, TP_DTYPE_F32, TP_DTYPE_F64};

static void
every_operator_is_right_on_every_dtype(void **state)
{
	const struct tp_op *op;
	size_t n_run = 0;

	(void)state;
	for (size_t i = 0; (op = tp_op_at(i)); i++) {
		const struct expectation *e;

		if (is_tested_elsewhere(tp_op_info(op).name))
			continue;
		e = expectation_of(tp_op_info(op).name);
		for (size_t d = 0; d < COUNT_OF(dtypes); d++) {
			if (!tp_op_takes(op, dtypes[d]))
				continue;
			for (size_t k = 0; k < COUNT_OF(lengths); k++)
				for (int how = 0; how < N_PLACEMENTS; how++)
					e->check(e, op, dtypes[d], lengths[k],
					    (enum placement)how);
			n_run++;
		}
	}
	assert_true(n_run > 150);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_operator_is_right_on_every_dtype),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
