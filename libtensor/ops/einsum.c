/* SPDX-License-Identifier: Apache-2.0 */
/*
 * einsum.c - Einsum: a view, a batch of matrix products, or loops
 *
 * Loops have an accumulator for each output, which takes the products of all
 * operands in the order of the axes that are summed.
 */
#include "einsum.h"

#include "gemm.h"
#include "kernel.h"

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/layout.h"
#include "tp/parallel.h"

#include "../tensor.h"

#include "../banned.h"

/* Where the operands are, and the sum of an output so far. */
struct walk {
	const struct tpi_einsum *e;
	size_t n_in;
	int64_t size; /* bytes of an element */
	const char **at;
	double d;   /* of floats */
	uint64_t u; /* of integers */
};

/* The innermost; any without one, for all have steps. */
static unsigned
last_axis(const struct tpi_einsum *e)
{
	return e->n_axes ? e->n_axes - 1 : 0;
}

/* n products along the last axis. */
#define ADD(OP, ID, T, LOAD, TYPE, SUM)                                      \
	static void OP##_##ID(                                               \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)    \
	{                                                                    \
		struct walk *w = ctx;                                        \
		unsigned last = last_axis(w->e);                             \
                                                                             \
		(void)data;                                                  \
		(void)steps;                                                 \
		for (size_t i = 0; i < n; i++) {                             \
			TYPE product = 1;                                    \
                                                                             \
			for (size_t k = 0; k < w->n_in; k++)                 \
				product *= (TYPE)LOAD(*TPI_CONST_AT(T,       \
				    w->at[k],                                \
				    w->e->operands[k].steps[last] * w->size, \
				    i));                                     \
			w->SUM += product;                                   \
		}                                                            \
	}

#define ADD_FLOATS(OP, ID, T, W, LOAD, STORE) ADD(OP, ID, T, LOAD, double, d)
#define ADD_INTS(OP, ID, T, W, LOAD, STORE)                               \
	ADD(OP, ID, T, LOAD, uint64_t, u)                                 \
	static void put_##ID(                                             \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		const struct walk *w = ctx;                               \
                                                                          \
		(void)steps;                                              \
		(void)n;                                                  \
		*(T *)(void *)data[0] = STORE((W)w->u);                   \
	}

TPI_FOREACH_DOUBLE(ADD_FLOATS, add)
TPI_FOREACH_INT(ADD_INTS, add)

static tp_loop_fn *const add_kernels[TP_DTYPE_COUNT] = {TPI_FOREACH_DOUBLE(
    TPI_KERNEL_ROW, add) TPI_FOREACH_INT(TPI_KERNEL_ROW, add)};
static tp_loop_fn *const put_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_INT(TPI_KERNEL_ROW, put)};

static void
move(struct walk *w, unsigned axis, int64_t by)
{
	for (size_t k = 0; k < w->n_in; k++)
		w->at[k] += by * w->e->operands[k].steps[axis] * w->size;
}

static void
put_sum(struct walk *w, enum tp_dtype dtype, char *y)
{
	char *data[2] = {y, (char *)&w->d};

	if (put_kernels[dtype])
		put_kernels[dtype](w, data, NULL, 1);
	else
		tpi_pack[dtype](NULL, data, NULL, 1);
}

/* All products of one output; the walk ends where it began. */
static void
sum_products(struct walk *w, tp_loop_fn *add)
{
	const struct tpi_einsum *e = w->e;
	unsigned first = e->n_out, last = last_axis(e), d;
	int64_t index[TPI_EINSUM_AXES] = {0};

	w->d = 0;
	w->u = 0;
	for (d = first; d < e->n_axes; d++)
		if (e->sizes[d] == 0)
			return;
	do {
		add(w, NULL, NULL, first > last ? 1 : (size_t)e->sizes[last]);
		for (d = last; d > first; d--) {
			if (++index[d - 1] < e->sizes[d - 1]) {
				move(w, d - 1, 1);
				break;
			}
			move(w, d - 1, 1 - e->sizes[d - 1]);
			index[d - 1] = 0;
		}
	} while (d > first);
}

struct loops {
	const struct tpi_call *c;
	const struct tpi_einsum *e;
	size_t n_parts;
	const char **addresses; /* n_in a part */
};

static void
loop_part(void *ctx, size_t part)
{
	const struct loops *l = ctx;
	const struct tpi_call *c = l->c;
	enum tp_dtype dtype = c->in[0]->dtype;
	struct walk w = {.e = l->e,
	    .n_in = c->n_in,
	    .size = tp_dtype_bits(dtype) / 8,
	    .at = l->addresses + part * c->n_in};
	struct tpi_share mine = tpi_share(c->out[0]->n_elems, l->n_parts, part);

	for (uint64_t i = mine.from; i < mine.end; i++) {
		uint64_t rest = i;

		for (size_t k = 0; k < c->n_in; k++)
			w.at[k] = tpi_tensor_address(c->in[k]);
		for (unsigned d = l->e->n_out; d-- > 0;) {
			uint64_t size = (uint64_t)l->e->sizes[d];

			move(&w, d, (int64_t)(rest % size));
			rest /= size;
		}
		sum_products(&w, c->kernel);
		put_sum(&w, dtype,
		    (char *)tpi_tensor_address(c->out[0]) +
			i * (uint64_t)w.size);
	}
}

static enum tp_status
run_loops(
    const struct tpi_call *c, const struct tpi_einsum *e, struct tp_err *err)
{
	struct loops l = {.c = c, .e = e};
	uint64_t work = c->out[0]->n_elems;
	size_t n_addresses;

	for (unsigned d = e->n_out; d < e->n_axes; d++)
		if (tp_mul_u64(work, (uint64_t)e->sizes[d], &work))
			work = UINT64_MAX;
	l.n_parts = tpi_op_parts(c, work, c->out[0]->n_elems);
	n_addresses = l.n_parts * c->n_in;
	l.addresses = tpi_op_scratch(c, n_addresses, sizeof(*l.addresses));
	if (!l.addresses)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu operands", c->op->onnx, c->n_in);
	tp_parallel(c->n_threads, l.n_parts, loop_part, &l);
	tp_mem_free(
	    c->alloc, (void *)l.addresses, n_addresses, sizeof(*l.addresses));
	return TP_OK;
}

/* One operand, nothing summed: the output is a copy of a view. */
static enum tp_status
run_view(
    const struct tpi_call *c, const struct tpi_einsum *e, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct tp_tensor *view = NULL;
	enum tp_status rc = tpi_tensor_derive(
	    x, e->sizes, e->operands[0].steps, e->n_out, x->first, &view, err);

	if (!rc)
		rc = tp_tensor_assign(c->out[0], view, TP_OVERFLOW_ERROR, err);
	tp_tensor_free(view);
	return rc;
}

static enum tp_status
infer_einsum(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct tpi_einsum e = {.n_axes = 0};
	enum tp_status rc = tpi_einsum_read(c, &e, err);

	if (rc)
		return rc;
	infos[0].dtype = c->in[0]->dtype;
	infos[0].rank = e.n_out;
	memcpy(infos[0].sizes, e.sizes, e.n_out * sizeof(e.sizes[0]));
	tpi_einsum_release(c, &e);
	return TP_OK;
}

static enum tp_status
run_einsum(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_einsum e = {.n_axes = 0};
	enum tp_status rc = tpi_einsum_read(c, &e, err);

	if (rc)
		return rc;
	if (c->out[0]->n_elems == 0)
		rc = TP_OK;
	else if (c->n_in == 1 && e.n_axes == e.n_out)
		rc = run_view(c, &e, err);
	else if (c->n_in == 2 && tpi_einsum_is_product(&e, 0))
		rc = tpi_einsum_product(c, &e, 0, err);
	else if (c->n_in == 2 && tpi_einsum_is_product(&e, 1))
		rc = tpi_einsum_product(c, &e, 1, err);
	else
		rc = run_loops(c, &e, err);
	tpi_einsum_release(c, &e);
	return rc;
}

static const struct tpi_attr_spec einsum_attrs[] = {
    {"equation", TP_ATTR_STRING}, {NULL, 0}};

const struct tp_op tpi_einsum_ops[] = {
    {
	.name = "einsum",
	.onnx = "Einsum",
	.since = 12,
	.min_in = 1,
	.max_in = TP_OP_ANY,
	.min_out = 1,
	.max_out = 1,
	.attrs = einsum_attrs,
	.infer = infer_einsum,
	.run = run_einsum,
	.kernels = add_kernels,
    },
    {.name = NULL},
};
