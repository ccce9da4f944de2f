/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fn.h - what a function of tp/ops.h is: computing, gradient, batches
 *
 * Each is one struct tpi_fn; tpi_apply runs it. tp/ops.h only fills in the
 * arguments.
 */
#ifndef TPI_FN_H
#define TPI_FN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/autograd.h"
#include "tp/tensor.h"

#define TPI_FN_INPUTS 3

/* Arguments that are not tensors; each function uses some of them. */
struct tpi_args {
	int axis;
	int64_t start, stop, step;
	bool keepdims;
	double epsilon;
	unsigned n;
	const int64_t *list; /* n axes or sizes */
};

struct tpi_node;
struct tpi_fn;

/* With `into` the result goes there, and *out is another handle on it. */
typedef enum tp_status tpi_forward_fn(const struct tpi_fn *fn,
    const struct tpi_args *args, const struct tp_tensor *const *in,
    unsigned n_in, struct tp_tensor *into, struct tp_tensor **out,
    struct tp_err *err);

/* The gradient of input k, of its shape, from that of the output. */
typedef enum tp_status tpi_backward_fn(const struct tpi_node *node, unsigned k,
    const struct tp_tensor *g, struct tp_tensor **out, struct tp_err *err);

/*
 * The same function where some inputs are batches: in[k] is what lies under
 * input k, with the batch as first axis if is_batch[k]; ranks[k] is that of one
 * example. *out has the batch first.
 */
struct tpi_batch_call {
	const struct tpi_args *args;
	const struct tp_tensor *in[TPI_FN_INPUTS];
	bool is_batch[TPI_FN_INPUTS];
	unsigned ranks[TPI_FN_INPUTS];
	unsigned n_in;
	int64_t size; /* examples */
	struct tp_tensor *into;
};

typedef enum tp_status tpi_batch_fn(const struct tpi_fn *fn,
    const struct tpi_batch_call *c, struct tp_tensor **out, struct tp_err *err);

#define TPI_SAVE(k) (1u << (k))
#define TPI_SAVE_OUT (1u << TPI_FN_INPUTS)

struct tpi_fn {
	const char *name;
	tpi_forward_fn *forward;
	tpi_backward_fn *backward;
	tpi_batch_fn *batch;
	bool is_view; /* the output shares the storage of input 0 */
	/* What backward for input k reads: inputs and output. */
	uint8_t saves[TPI_FN_INPUTS];
	const char *onnx; /* the operator, for those that are just one */
};

/*
 * Compute, and record if an input requires gradients. With `into`, which is
 * in[0], the result is written there and out is NULL.
 */
enum tp_status tpi_apply(const struct tpi_fn *fn, const struct tpi_args *args,
    const struct tp_tensor *const *in, unsigned n_in, struct tp_tensor *into,
    struct tp_tensor **out, struct tp_err *err);

/* Run the newest operator of that name; for forward functions. */
struct tp_attr;
enum tp_status tpi_run_op(const char *onnx, const struct tp_attr *attrs,
    size_t n_attrs, const struct tp_tensor *const *in, unsigned n_in,
    struct tp_tensor *into, struct tp_tensor **out, struct tp_err *err);

/* forward of what is just an operator, without attributes. */
tpi_forward_fn tpi_forward_op;

#define TPI_FN(op, onnx_name, forwards, batches, ...) \
	const struct tpi_fn tpi_fn_##op = {           \
	    .name = #op,                              \
	    .onnx = onnx_name,                        \
	    .forward = forwards,                      \
	    .backward = back_##op,                    \
	    .batch = batches,                         \
	    .saves = {__VA_ARGS__},                   \
	}

/* A value that a gradient needs, and the version it had. */
struct tpi_saved {
	struct tp_tensor *t; /* NULL: not kept */
	uint64_t version;
};

/* A step of a history; without fn, a tensor that collects gradients. */
struct tpi_node {
	atomic_size_t count;
	const struct tp_alloc *alloc;
	const struct tpi_fn *fn;
	uint64_t number; /* larger than those of the inputs */
	enum tp_dtype dtype;
	unsigned n_in;
	struct tpi_node *in[TPI_FN_INPUTS]; /* NULL: no gradient wanted */
	struct tpi_saved saved[TPI_FN_INPUTS + 1]; /* the output is last */
	unsigned ranks[TPI_FN_INPUTS];
	const int64_t *sizes[TPI_FN_INPUTS];
	struct tpi_args args;
	int64_t *numbers; /* what args.list and sizes point to */
	size_t n_numbers;
	struct tp_tensor *incoming; /* while backward runs: the gradient */
	struct tp_tensor *grad;	    /* without fn: what was collected */
	struct tpi_node *next;	    /* while it is freed */
};

/* What a tensor with a history holds. */
struct tp_autograd {
	struct tpi_node *node;
	uint64_t version; /* of the elements that node describes */
};

/* Called by tp_tensor_free. */
void tpi_autograd_drop(struct tp_tensor *t);

void tpi_node_unref(struct tpi_node *node);

/* A node for a call that will be recorded; *out NULL if none is needed. */
enum tp_status tpi_node_new(const struct tpi_fn *fn,
    const struct tpi_args *args, const struct tp_tensor *const *in,
    unsigned n_in, struct tp_tensor *into, struct tpi_node **out,
    struct tp_err *err);
/* Make node, which is taken, the history of t; also on failure. */
enum tp_status tpi_node_attach(
    struct tpi_node *node, struct tp_tensor *t, struct tp_err *err);

/*
 * A chain of computations with one check at the end: after a failure every step
 * returns NULL and does nothing. Temporaries are freed by tpi_calc_end.
 *
 *	struct tpi_calc c = {.err = err};
 *
 *	return tpi_calc_end(&c, tpi_calc(&c, "mul", g, y), out);
 */
#define TPI_CALC_TEMPS 32

struct tpi_calc {
	struct tp_err *err;
	enum tp_status rc;
	unsigned n;
	struct tp_tensor *temps[TPI_CALC_TEMPS];
};

typedef enum tp_status tpi_unary_fn(
    const struct tp_tensor *, struct tp_tensor **, struct tp_err *);
typedef enum tp_status tpi_binary_fn(const struct tp_tensor *,
    const struct tp_tensor *, struct tp_tensor **, struct tp_err *);

const struct tp_tensor *tpi_calc1(
    struct tpi_calc *c, tpi_unary_fn *fn, const struct tp_tensor *x);
const struct tp_tensor *tpi_calc2(struct tpi_calc *c, tpi_binary_fn *fn,
    const struct tp_tensor *a, const struct tp_tensor *b);
/*
 * Note what a call made and what it returned. By address, because the call may
 * be an argument too.
 */
const struct tp_tensor *tpi_calc_keep(
    struct tpi_calc *c, enum tp_status rc, struct tp_tensor *const *made);
/* *out is the result, or another handle on it if it was not made here. */
enum tp_status tpi_calc_end(
    struct tpi_calc *c, const struct tp_tensor *result, struct tp_tensor **out);

/* The kernels that only gradients need: autograd_kernels.c. */
enum tpi_grad_kernel {
	TPI_GRAD_POSITIVE,     /* a where b > 0, else 0 */
	TPI_GRAD_SIGNED,       /* a times the sign of b */
	TPI_GRAD_EQUAL,	       /* 1 where a is b, else 0 */
	TPI_GRAD_POW_BASE,     /* b * a^(b-1) */
	TPI_GRAD_POW_EXPONENT, /* a^b * log(a) */
};
enum tp_status tpi_grad_binary(enum tpi_grad_kernel which,
    const struct tp_tensor *a, const struct tp_tensor *b,
    struct tp_tensor **out, struct tp_err *err);
/* a * factor, rounded once. */
enum tp_status tpi_grad_scale(const struct tp_tensor *a, double factor,
    struct tp_tensor **out, struct tp_err *err);

/* The sum of g over what broadcasting repeated: shape `sizes` again. */
enum tp_status tpi_reduce_to(const struct tp_tensor *g, const int64_t *sizes,
    unsigned rank, struct tp_tensor **out, struct tp_err *err);

extern const struct tpi_fn tpi_fn_exp, tpi_fn_log, tpi_fn_tanh, tpi_fn_relu,
    tpi_fn_sigmoid, tpi_fn_sqrt, tpi_fn_neg, tpi_fn_abs, tpi_fn_add, tpi_fn_sub,
    tpi_fn_mul, tpi_fn_div, tpi_fn_pow, tpi_fn_sum, tpi_fn_mean, tpi_fn_max,
    tpi_fn_matmul, tpi_fn_softmax, tpi_fn_layer_norm, tpi_fn_permute,
    tpi_fn_slice, tpi_fn_select, tpi_fn_expand, tpi_fn_reshape;

#endif
