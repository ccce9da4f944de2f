/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/: operators that move elements, on every dtype and strings, on inputs
 * that lie in every way
 */
#include "support/op_calls.h"

#include "support/fail_alloc.h"
#include "support/tensors.h"

enum kind { FROM_X = 1, FROM_Y, WHOLE, TRUTH };

struct input {
	enum kind kind; /* 0: absent */
	const int64_t *sizes;
	size_t rank;
	const double *x;
	size_t n;
};

struct result {
	const int64_t *sizes;
	size_t rank;
	const double *from; /* labels of elements */
	size_t n;
};

struct move {
	const char *onnx;
	int opset;
	struct tp_attr attrs[3];
	size_t n_attrs;
	struct input in[5];
	size_t n_in;
	struct result out[3];
	size_t n_out;
};

#define X(...)                                     \
	{                                          \
		FROM_X, DIMS(__VA_ARGS__), NULL, 0 \
	}
#define Y(...)                                     \
	{                                          \
		FROM_Y, DIMS(__VA_ARGS__), NULL, 0 \
	}
#define Y_SCALAR                         \
	{                                \
		FROM_Y, NULL, 0, NULL, 0 \
	}
#define INTS(dims, numbers)          \
	{                            \
		WHOLE, dims, numbers \
	}
#define BOOLS(dims, numbers)         \
	{                            \
		TRUTH, dims, numbers \
	}
#define NONE                        \
	{                           \
		0, NULL, 0, NULL, 0 \
	}

/* What a dtype is tested as: strings are numbers with another kind. */
struct how {
	enum tp_dtype dtype;
	enum tp_value_kind kind;
	enum placement placement;
};

/* The bits that stand for a label, never all zero but for -1. */
static uint64_t
code_of(double label, enum tp_dtype dtype)
{
	unsigned bits = tp_dtype_bits(dtype);
	uint64_t code = label < 0 ? 0 : (uint64_t)label * 37 + 1;

	return bits < 64 ? code & ((UINT64_C(1) << bits) - 1) : code;
}

static uint64_t
get_code(const struct tp_tensor *t, uint64_t i)
{
	unsigned bits = tp_dtype_bits(tp_tensor_dtype(t));
	const uint8_t *p = tp_storage_data(tp_tensor_storage(t));
	uint64_t at = element_of(t, i) * bits, code = 0;

	for (unsigned b = 0; b < bits && b < 64; b++, at++)
		code |= (uint64_t)(p[at / 8] >> at % 8 & 1) << b;
	return code;
}

static void
set_code(struct tp_tensor *t, uint64_t i, uint64_t code)
{
	unsigned bits = tp_dtype_bits(tp_tensor_dtype(t));
	uint8_t *p = tp_storage_data_mut(tp_tensor_storage(t));
	uint64_t at = element_of(t, i) * bits;

	for (unsigned b = 0; b < bits && b < 64; b++, at++) {
		p[at / 8] = (uint8_t)(p[at / 8] & ~(1u << at % 8));
		p[at / 8] = (uint8_t)(p[at / 8] | (code >> b & 1) << at % 8);
	}
}

static struct tp_value
make_input(const struct input *in, const struct how *how)
{
	struct tp_value v = {TP_VALUE_TENSOR, NULL, NULL};
	double first = in->kind == FROM_Y ? 100 : 0;

	if (!in->kind)
		return tp_value_of(NULL);
	if (in->kind == WHOLE || in->kind == TRUTH) {
		v.tensor =
		    op_tensor(in->kind == TRUTH ? TP_DTYPE_BOOL : TP_DTYPE_I64,
			in->sizes, in->rank, in->x, in->n);
		return v;
	}
	v.kind = how->kind;
	v.tensor = placed_tensor(
	    how->dtype, in->sizes, (unsigned)in->rank, how->placement);
	for (uint64_t i = 0; i < tp_tensor_numel(v.tensor); i++)
		set_code(v.tensor, i, code_of(first + (double)i, how->dtype));
	return v;
}

static void
check_result(
    const struct move *m, size_t k, struct tp_value *v, const struct how *how)
{
	const struct result *want = &m->out[k];

	assert_int_equal(v->kind, how->kind);
	assert_int_equal(tp_tensor_dtype(v->tensor), how->dtype);
	assert_int_equal(tp_tensor_rank(v->tensor), want->rank);
	for (size_t d = 0; d < want->rank; d++)
		assert_int_equal(tp_tensor_sizes(v->tensor)[d], want->sizes[d]);
	assert_int_equal(tp_tensor_numel(v->tensor), want->n);
	for (size_t i = 0; i < want->n; i++) {
		uint64_t code = code_of(want->from[i], how->dtype);

		if (get_code(v->tensor, i) == code)
			continue;
		print_error("%s-%d of %s: output %zu, element %zu\n", m->onnx,
		    m->opset, tp_dtype_name(how->dtype), k, i);
		fail();
	}
	tp_value_release(v);
}

static enum tp_status
run_move(const struct move *m, struct tp_value *in, struct tp_value *out,
    const struct tp_alloc *alloc, struct tp_err *err)
{
	const struct tp_op_opts opts = {.n_threads = 1, .alloc = alloc};

	return tp_op_run(op_named(m->onnx, m->opset), m->attrs, m->n_attrs, in,
	    m->n_in, out, m->n_out, &opts, err);
}

static void
check_move(const struct move *m, const struct how *how)
{
	struct tp_value in[5], out[3];

	for (size_t k = 0; k < m->n_in; k++)
		in[k] = make_input(&m->in[k], how);
	RUN(run_move(m, in, out, NULL, err));
	for (size_t k = 0; k < m->n_out; k++)
		check_result(m, k, &out[k], how);
	for (size_t k = 0; k < m->n_in; k++)
		tp_value_release(&in[k]);
}

static void
elements_of_every_dtype_go_where_they_should(void **state)
{
	const struct move moves[] = {
#include "op_tests/moves.def"
	};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(moves); k++)
		for (int p = 0; p < N_PLACEMENTS; p++) {
			const struct how strings = {
			    TP_DTYPE_U64, TP_VALUE_STRINGS, (enum placement)p};

			for (int d = 1; d < TP_DTYPE_STRING; d++) {
				const struct how how = {(enum tp_dtype)d,
				    TP_VALUE_TENSOR, (enum placement)p};

				check_move(&moves[k], &how);
			}
			check_move(&moves[k], &strings);
		}
}

static enum tp_status
try_move(
    const struct move *m, const struct how *how, const struct tp_alloc *alloc)
{
	struct tp_value in[5], out[3];
	enum tp_status rc;

	for (size_t k = 0; k < m->n_in; k++)
		in[k] = make_input(&m->in[k], how);
	rc = run_move(m, in, out, alloc, NULL);
	for (size_t k = 0; k < m->n_out; k++) {
		if (rc)
			assert_int_equal(out[k].kind, TP_VALUE_NONE);
		tp_value_release(&out[k]);
	}
	for (size_t k = 0; k < m->n_in; k++)
		tp_value_release(&in[k]);
	return rc;
}

static void
without_memory_nothing_moves_and_nothing_leaks(void **state)
{
	const struct move moves[] = {
#include "op_tests/moves.def"
	};
	const struct how hows[] = {{TP_DTYPE_I4, TP_VALUE_TENSOR, BACKWARDS},
	    {TP_DTYPE_F32, TP_VALUE_TENSOR, CROSSED}};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(moves) * 2; k++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;

		while (fail_alloc_next(&a, rc))
			rc = try_move(&moves[k / 2], &hows[k % 2], &a.alloc);
	}
}

/* What is large is split among threads, in rows and within them. */
static void
threads_move_the_same(void **state)
{
	static const int64_t sizes[] = {3, 70000, 5};
	const struct tp_op_opts one = {.n_threads = 1};
	const struct tp_op_opts many = {.n_threads = 4};
	const struct tp_attr axis = ATTR_INT("axis", 1);
	struct tp_tensor *x = make_tensor(TP_DTYPE_I32, sizes, 3, NULL, 0);
	int32_t *data = tp_tensor_data_mut(x);
	struct tp_tensor *pads =
	    I64(DIMS(6), 1, 2, 3, 0, 5, 1); /* before, then after */
	struct tp_tensor *repeats = I64(DIMS(3), 2, 1, 3);
	struct tp_tensor *k_best = I64(DIMS(1), 9);
	struct tp_tensor *list =
	    make_tensor(TP_DTYPE_I64, (const int64_t[]){70000}, 1, NULL, 0);
	const struct {
		const char *onnx;
		const struct tp_attr *attr;
		struct tp_tensor *in[3];
		size_t n_in;
	} calls[] = {{"Pad", NULL, {x, pads, NULL}, 2},
	    {"Tile", NULL, {x, repeats, NULL}, 2},
	    {"Gather", &axis, {x, list, NULL}, 2},
	    {"Concat", &axis, {x, x, x}, 3},
	    {"Trilu", NULL, {x, NULL, NULL}, 1},
	    {"TopK", &axis, {x, k_best, NULL}, 2}};
	uint64_t seed = 3;

	(void)state;
	for (uint64_t i = 0; i < tp_tensor_numel(x); i++)
		data[i] = (int32_t)i + 1;
	for (uint64_t i = 0; i < 70000; i++)
		set_number(list, i, (double)(next_random(&seed) % 70000));
	for (size_t k = 0; k < COUNT_OF(calls); k++) {
		struct tp_value in[3], a, b;

		for (size_t i = 0; i < calls[k].n_in; i++)
			in[i] = tp_value_of(calls[k].in[i]);
		RUN(tp_op_run(op_named(calls[k].onnx, 14), calls[k].attr,
		    calls[k].attr != NULL, in, calls[k].n_in, &a, 1, &one,
		    err));
		RUN(tp_op_run(op_named(calls[k].onnx, 14), calls[k].attr,
		    calls[k].attr != NULL, in, calls[k].n_in, &b, 1, &many,
		    err));
		assert_memory_equal(tp_tensor_data(a.tensor),
		    tp_tensor_data(b.tensor),
		    (size_t)tp_tensor_numel(a.tensor) * sizeof(int32_t));
		/* Gather: the middle axis is the list. */
		if (k == 2)
			assert_int_equal(((const int32_t *)tp_tensor_data(
					     a.tensor))[70000 * 5 + 7],
			    data[70000 * 5 + (int64_t)number_at(list, 1) * 5 +
				 2]);
		tp_value_release(&a);
		tp_value_release(&b);
	}
	tp_tensor_free(x);
	tp_tensor_free(pads);
	tp_tensor_free(repeats);
	tp_tensor_free(k_best);
	tp_tensor_free(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(elements_of_every_dtype_go_where_they_should),
	    cmocka_unit_test(without_memory_nothing_moves_and_nothing_leaks),
	    cmocka_unit_test(threads_move_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
