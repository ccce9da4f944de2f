/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.h - functions of tp/ops.h, each with inputs that suit it
 *
 * Gradients are checked for every line of function_cases, and vmap against a
 * loop. A shape has a digit an axis; "" is a scalar.
 */
#ifndef TEST_FUNCTIONS_H
#define TEST_FUNCTIONS_H

#include "support/numbers.h"

#include "tp/autograd.h"
#include "tp/ops.h"

#define FUNCTION_INPUTS 3

typedef const struct tp_tensor *const *args_t;

struct function_case {
	const char *name;
	tp_tensor_fn *fn;
	double low, high; /* of the inputs */
	const char *shapes[FUNCTION_INPUTS];
};

#define FUNCTION(name, ...)                                               \
	static enum tp_status call_##name(void *ctx, args_t in, size_t n, \
	    struct tp_tensor **out, struct tp_err *err)                   \
	{                                                                 \
		(void)ctx;                                                \
		(void)n;                                                  \
		return __VA_ARGS__;                                       \
	}
#define UNARY(op) FUNCTION(op, tp_##op(in[0], out, err))
#define BINARY(op) FUNCTION(op, tp_##op(in[0], in[1], out, err))

static const int axis_0[] = {0}, axis_1[] = {-1}, turn[] = {1, 0};
static const int64_t flat[] = {4, -1}, wide[] = {3, 2, 6};

UNARY(exp)
UNARY(log)
UNARY(tanh)
UNARY(relu)
UNARY(sigmoid)
UNARY(sqrt)
UNARY(neg)
UNARY(abs)
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
BINARY(pow)
BINARY(matmul)
FUNCTION(sum_all, tp_sum(in[0], NULL, 0, false, out, err))
FUNCTION(sum_0, tp_sum(in[0], axis_0, 1, true, out, err))
FUNCTION(mean_1, tp_mean(in[0], axis_1, 1, false, out, err))
FUNCTION(mean_all, tp_mean(in[0], NULL, 0, true, out, err))
FUNCTION(max_0, tp_max(in[0], axis_0, 1, false, out, err))
FUNCTION(max_all, tp_max(in[0], NULL, 0, false, out, err))
FUNCTION(max_kept, tp_max(in[0], NULL, 0, true, out, err))
FUNCTION(transpose, tp_transpose(in[0], 0, -1, out, err))
FUNCTION(permute, tp_permute(in[0], turn, 2, out, err))
FUNCTION(reshape, tp_reshape(in[0], flat, 2, out, err))
FUNCTION(slice, tp_slice(in[0], 1, -1, TP_OMIT, -2, out, err))
FUNCTION(select, tp_select(in[0], 0, -1, out, err))
FUNCTION(expand, tp_expand(in[0], wide, 3, out, err))
FUNCTION(softmax_0, tp_softmax(in[0], 0, out, err))
FUNCTION(softmax_1, tp_softmax(in[0], -1, out, err))
FUNCTION(norm_1, tp_layer_norm(in[0], -1, in[1], in[2], 1e-5, out, err))
FUNCTION(norm_0, tp_layer_norm(in[0], 0, NULL, NULL, 1e-3, out, err))
FUNCTION(norm_bias, tp_layer_norm(in[0], 1, NULL, in[1], 1e-3, out, err))
FUNCTION(norm_0_bias, tp_layer_norm(in[0], 0, NULL, in[1], 1e-3, out, err))

/* A copy that reshape has to make, and what follows it. */
static enum tp_status
call_chain(
    void *ctx, args_t in, size_t n, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *t = NULL, *r = NULL;
	enum tp_status rc = tp_transpose(in[0], 0, 1, &t, err);

	(void)ctx;
	(void)n;
	if (!rc)
		rc = tp_reshape(t, flat, 2, &r, err);
	if (!rc)
		rc = tp_mul(r, r, out, err);
	tp_tensor_free(t);
	tp_tensor_free(r);
	return rc;
}

static const struct function_case function_cases[] = {
    {"exp", call_exp, -1, 1, {"26"}},
    {"exp of a scalar", call_exp, -1, 1, {""}},
    {"log", call_log, 0.5, 2, {"26"}},
    {"tanh", call_tanh, -1, 1, {"26"}},
    {"relu", call_relu, -1, 1, {"26"}},
    {"sigmoid", call_sigmoid, -2, 2, {"26"}},
    {"sqrt", call_sqrt, 0.5, 2, {"26"}},
    {"neg", call_neg, -1, 1, {"26"}},
    {"abs", call_abs, -1, 1, {"26"}},
    {"add", call_add, -1, 1, {"26", "26"}},
    {"add a row", call_add, -1, 1, {"26", "6"}},
    {"add to a column", call_add, -1, 1, {"21", "326"}},
    {"sub", call_sub, -1, 1, {"26", "1"}},
    {"sub from a scalar", call_sub, -1, 1, {"", "26"}},
    {"mul", call_mul, -1, 1, {"26", "6"}},
    {"mul of vectors", call_mul, -1, 1, {"3", "3"}},
    {"div", call_div, 0.5, 2, {"26", "21"}},
    {"pow", call_pow, 0.5, 2, {"26", "6"}},
    {"sum", call_sum_all, -1, 1, {"26"}},
    {"sum of a scalar", call_sum_all, -1, 1, {""}},
    {"sum of an axis", call_sum_0, -1, 1, {"26"}},
    {"mean", call_mean_all, -1, 1, {"26"}},
    {"mean of an axis", call_mean_1, -1, 1, {"26"}},
    {"max", call_max_all, -1, 1, {"26"}},
    {"max with its axes", call_max_kept, -1, 1, {"26"}},
    {"max of an axis", call_max_0, -1, 1, {"26"}},
    {"matmul", call_matmul, -1, 1, {"26", "63"}},
    {"matmul of batches", call_matmul, -1, 1, {"2125", "353"}},
    {"matmul of vectors", call_matmul, -1, 1, {"6", "6"}},
    {"matmul row", call_matmul, -1, 1, {"6", "263"}},
    {"matmul column", call_matmul, -1, 1, {"226", "6"}},
    {"transpose", call_transpose, -1, 1, {"26"}},
    {"permute", call_permute, -1, 1, {"26"}},
    {"reshape", call_reshape, -1, 1, {"26"}},
    {"slice", call_slice, -1, 1, {"26"}},
    {"select", call_select, -1, 1, {"26"}},
    {"expand", call_expand, -1, 1, {"21"}},
    {"softmax", call_softmax_1, -1, 1, {"26"}},
    {"softmax of axis 0", call_softmax_0, -1, 1, {"26"}},
    {"layer_norm", call_norm_1, -1, 1, {"26", "6", "6"}},
    {"layer_norm of all", call_norm_0, -1, 1, {"26"}},
    {"layer_norm, bias", call_norm_bias, -1, 1, {"26", "1"}},
    {"layer_norm of all, bias", call_norm_0_bias, -1, 1, {"26", "1"}},
    {"reshape of a transpose", call_chain, -1, 1, {"26"}},
};

/* Numbers of that range, one after the other. */
static inline void
fill_random(struct tp_tensor *t, double low, double high, uint64_t *seed)
{
	for (uint64_t i = 0; i < tp_tensor_numel(t); i++)
		set_number(t, i,
		    low + (high - low) * (double)next_random(seed) / 0x1p64);
}

#endif
