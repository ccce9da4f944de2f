/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_sweep.h - operators on every dtype that they take, with sizes around what
 * vectors hold, and inputs that lie in every way
 */
#ifndef TEST_OP_SWEEP_H
#define TEST_OP_SWEEP_H

#include "support/numbers.h"

#include <float.h>
#include <stdlib.h>

#include "tp/op.h"

static inline bool
is_float(enum tp_dtype dtype)
{
	return tp_dtype_kind(dtype) == TP_KIND_FLOAT;
}

/* What a result of that dtype looks like: rounded once, or wrapped. */
static inline double
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
static inline void
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

static inline void
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
static inline struct tp_tensor *
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

static inline struct tp_tensor *
run(const struct tp_op *op, const struct tp_attr *attrs, size_t n_attrs,
    struct tp_tensor *const *in, size_t n_in)
{
	return run_into(op, attrs, n_attrs, in, n_in, NULL);
}

struct expectation {
	const char *name;
	void (*check)(const struct expectation *e, const struct tp_op *op,
	    enum tp_dtype dtype, int64_t n, enum placement how);
	double (*f)(double x); /* what an element becomes, or … */
	double (*f2)(double a, double b);
	double low, high; /* of the first input */
};

static inline const struct expectation *
expectation_of(const struct expectation *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

/* Dtypes whose elements have an address; the rest is for movements alone. */
static const enum tp_dtype sweep_dtypes[] = {TP_DTYPE_U8, TP_DTYPE_I8,
    TP_DTYPE_U16, TP_DTYPE_I16, TP_DTYPE_U32, TP_DTYPE_I32, TP_DTYPE_U64,
    TP_DTYPE_I64, TP_DTYPE_F8E5M2, TP_DTYPE_F16, TP_DTYPE_BF16, TP_DTYPE_F32,
    TP_DTYPE_F64};

static const int64_t sweep_lengths[] = {0, 1, 7, 8, 9, 33};

/* Check all versions of those n operators; returns on how many dtypes. */
static inline size_t
sweep(const struct expectation *list, size_t n)
{
	const struct tp_op *op;
	size_t n_run = 0;

	for (size_t i = 0; (op = tp_op_at(i)); i++) {
		const struct expectation *e =
		    expectation_of(list, n, tp_op_info(op).name);

		for (size_t d = 0; e && d < COUNT_OF(sweep_dtypes); d++) {
			enum tp_dtype dtype = sweep_dtypes[d];

			if (!tp_op_takes(op, dtype))
				continue;
			for (size_t k = 0; k < COUNT_OF(sweep_lengths); k++)
				for (int how = 0; how < N_PLACEMENTS; how++)
					e->check(e, op, dtype, sweep_lengths[k],
					    (enum placement)how);
			n_run++;
		}
	}
	return n_run;
}

#endif
