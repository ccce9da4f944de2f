/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_call.c - what operators ask of their call: attributes, shapes, threads,
 * memory
 */
#include "op.h"

#include <inttypes.h>
#include <string.h>

#include "tp/broadcast.h"
#include "tp/checked.h"
#include "tp/onnx_dtype.h"
#include "tp/parallel.h"

#include "tensor.h"

#include "banned.h"

/*
 * ---- attributes and inputs ----
 */

const struct tp_attr *
tpi_attr_find(const struct tpi_call *c, const char *name)
{
	for (size_t i = 0; i < c->n_attrs; i++)
		if (tp_str_cmp(c->attrs[i].name, tp_str(name)) == 0)
			return &c->attrs[i];
	return NULL;
}

int64_t
tpi_attr_int(const struct tpi_call *c, const char *name, int64_t otherwise)
{
	const struct tp_attr *a = tpi_attr_find(c, name);

	return a ? a->i : otherwise;
}

double
tpi_attr_float(const struct tpi_call *c, const char *name, double otherwise)
{
	const struct tp_attr *a = tpi_attr_find(c, name);

	return a ? a->f : otherwise;
}

enum tp_status
tpi_attr_choice(const struct tpi_call *c, const char *name,
    const char *const *names, unsigned n, unsigned otherwise, unsigned *choice,
    struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, name);

	*choice = otherwise;
	if (!a)
		return TP_OK;
	for (unsigned k = 0; k < n; k++)
		if (names[k] && tp_str_cmp(a->s, tp_str(names[k])) == 0) {
			*choice = k;
			return TP_OK;
		}
	return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: %s is '%s'",
	    c->op->onnx, name, TP_BRIEF(a->s));
}

enum tp_status
tpi_attr_dtype(const struct tpi_call *c, const char *name,
    enum tp_dtype otherwise, enum tp_dtype *dtype, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, name);

	*dtype = a ? tp_onnx_dtype(a->i) : otherwise;
	if (*dtype == TP_DTYPE_NONE)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s is %" PRId64 ", the number of no dtype",
		    c->op->onnx, name, a ? a->i : 0);
	return TP_OK;
}

enum tp_status
tpi_op_axis(const struct tpi_call *c, int64_t axis, unsigned rank,
    unsigned *found, struct tp_err *err)
{
	int64_t n = rank;

	if (axis < -n || axis >= n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: axis %" PRId64 " of a tensor of rank %u", c->op->onnx,
		    axis, rank);
	*found = (unsigned)(axis < 0 ? axis + n : axis);
	return TP_OK;
}

static int64_t
int_at(const struct tp_tensor *t, int64_t i)
{
	const char *p = tpi_tensor_address(t);

	if (t->rank)
		i *= tp_tensor_strides(t)[0];
	return t->dtype == TP_DTYPE_I64 ? ((const int64_t *)(const void *)p)[i]
					: ((const int32_t *)(const void *)p)[i];
}

enum tp_status
tpi_int_list(const struct tpi_call *c, const char *name, size_t k,
    int64_t *list, size_t *n, bool *given, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, name);
	const struct tp_tensor *t = k < TPI_OP_FEW ? c->in[k] : NULL;
	size_t count;

	*given = a || t;
	*n = 0;
	if (!a && !t)
		return TP_OK;
	if (!a && ((t->dtype != TP_DTYPE_I64 && t->dtype != TP_DTYPE_I32) ||
		      t->rank > 1))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s has dtype %s and shape %s, expected a list of i64",
		    c->op->onnx, name, tp_dtype_name(t->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank));
	count = a ? a->n : (size_t)t->n_elems;
	if (count > TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: %s has %zu elements, the largest rank is %u",
		    c->op->onnx, name, count, TP_MAX_RANK);
	for (size_t i = 0; i < count; i++)
		list[i] = a ? a->ints[i] : int_at(t, (int64_t)i);
	*n = count;
	return TP_OK;
}

bool
tpi_is_strings(const struct tpi_call *c, size_t k)
{
	return k < c->n_in && c->values[k].kind == TP_VALUE_STRINGS;
}

bool
tpi_is_integer(enum tp_dtype dtype)
{
	enum tp_dtype_kind kind = tp_dtype_kind(dtype);

	return kind == TP_KIND_INT || kind == TP_KIND_UINT;
}

bool
tpi_same_shape(const struct tp_tensor *a, const struct tp_tensor *b)
{
	return a->rank == b->rank &&
	       (!a->rank || !memcmp(tp_tensor_sizes(a), tp_tensor_sizes(b),
				a->rank * sizeof(int64_t)));
}

struct tpi_info
tpi_info_of(const struct tp_tensor *t)
{
	struct tpi_info info = {.dtype = t->dtype, .rank = t->rank};

	if (t->rank)
		memcpy(info.sizes, tp_tensor_sizes(t),
		    t->rank * sizeof(info.sizes[0]));
	return info;
}

enum tp_status
tpi_infer_same(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	(void)err;
	infos[0] = tpi_info_of(c->in[0]);
	return TP_OK;
}

enum tp_status
tpi_infer_broadcast(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct tpi_info *y = &infos[0];
	enum tp_status rc = TP_OK;

	*y = tpi_info_of(c->in[0]);
	for (size_t k = 1; k < c->n_in && !rc; k++) {
		const struct tp_tensor *t = c->in[k];
		int64_t sizes[TP_MAX_RANK];
		struct tp_shape_ref shapes[] = {{sizes, y->rank}, {NULL, 0}};

		if (!t)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu is missing", c->op->onnx, k);
		shapes[1] = (struct tp_shape_ref){tp_tensor_sizes(t), t->rank};
		if (t->dtype != y->dtype)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has dtype %s, input 0 has %s",
			    c->op->onnx, k, tp_dtype_name(t->dtype),
			    tp_dtype_name(y->dtype));
		memcpy(sizes, y->sizes, sizeof(sizes));
		rc = tp_broadcast_shape(shapes, 2, y->sizes, &y->rank, err);
	}
	return rc;
}

/*
 * ---- threads and memory ----
 */

/* Elements below which a second thread costs more than it gives. */
#define WORTH_A_THREAD (1 << 16)

size_t
tpi_op_parts(const struct tpi_call *c, uint64_t work, uint64_t most)
{
	uint64_t n = work / WORTH_A_THREAD;
	unsigned threads = c->n_threads;

	if (n <= 1)
		return 1;
	if (!threads)
		threads = tp_cpu_count();
	if (n > threads)
		n = threads;
	if (n > most)
		n = most;
	return n < 1 ? 1 : (size_t)n;
}

struct elementwise {
	const struct tp_iter *it;
	size_t n_parts;
	tp_loop_fn *kernel;
	void *ctx;
};

static void
run_part(void *ctx, size_t k)
{
	const struct elementwise *e = ctx;
	struct tp_iter part;

	tp_iter_part(e->it, k, e->n_parts, &part);
	tp_iter_run(&part, e->kernel, e->ctx);
}

enum tp_status
tpi_run_elementwise_with(struct tpi_call *c, void *ctx, struct tp_err *err)
{
	struct elementwise e = {.kernel = c->kernel, .ctx = ctx};
	struct tp_iter it;
	enum tp_status rc =
	    tp_iter_init(&it, &c->out[0], 1, c->in, (unsigned)c->n_in, 0, err);

	if (rc)
		return rc;
	e.it = &it;
	e.n_parts = tpi_op_parts(c, it.n_elems, (uint64_t)it.sizes[0]);
	tp_parallel(c->n_threads, e.n_parts, run_part, &e);
	return TP_OK;
}

enum tp_status
tpi_run_elementwise(struct tpi_call *c, struct tp_err *err)
{
	return tpi_run_elementwise_with(c, NULL, err);
}

enum tp_status
tpi_op_temp(const struct tpi_call *c, enum tp_dtype dtype, const int64_t *sizes,
    unsigned rank, struct tp_tensor **out, struct tp_err *err)
{
	return tpi_tensor_unwritten(c->alloc, dtype, sizes, rank, out, err);
}

void *
tpi_op_scratch(const struct tpi_call *c, size_t n, size_t size)
{
	const struct tp_alloc *a = c->alloc ? c->alloc : tp_alloc_default();
	size_t nbytes;

	if (tp_mul_size(n, size, &nbytes))
		return NULL;
	return a->alloc(a->ctx, nbytes ? nbytes : 1);
}
