/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affine.c - Gemm: alpha a b + beta c, rounded once
 *
 * Integers wrap; with factors other than 1 they are computed in double and cut.
 */
#include "gemm.h"
#include "kernel.h"

#include "../tensor.h"

#include "../banned.h"

struct affine {
	double alpha, beta;
	char *y, *c;		 /* c: NULL without */
	int64_t c_row, c_column; /* bytes, 0 where it repeats */
	enum tp_dtype dtype;
};

static void
put_floats(const struct tpi_gemm *g, size_t i, size_t j, double *sums, size_t n)
{
	const struct affine *f = g->ctx;
	double c[TPI_GEMM_COLUMNS];
	size_t size = tp_dtype_bits(g->dtype) / 8;
	char *to[2] = {g->y + (int64_t)i * g->y_row + j * size, (char *)sums};

	for (size_t k = 0; k < n && f->alpha != 1; k++)
		sums[k] *= f->alpha;
	if (f->c) {
		char *from[2] = {(char *)c,
		    f->c + (int64_t)i * f->c_row + (int64_t)j * f->c_column};
		const int64_t steps[2] = {sizeof(double), f->c_column};

		tpi_unpack[g->dtype](NULL, from, steps, n);
		for (size_t k = 0; k < n; k++)
			sums[k] += f->beta * c[k];
	}
	tpi_pack[g->dtype](NULL, to, NULL, n);
}

/* A row of y takes a row of c; the ends of i64 and u64 hold what is beyond. */
#define ADD(OP, ID, T, W, LOAD, STORE)                                         \
	static void OP##_##ID(                                                 \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)      \
	{                                                                      \
		const struct affine *f = ctx;                                  \
		bool plain = f->alpha == 1 && f->beta == 1;                    \
                                                                               \
		for (size_t i = 0; i < n; i++) {                               \
			T *y = TPI_AT(T, data[0], steps[0], i);                \
			T c = data[1] ? *TPI_CONST_AT(T, data[1], steps[1], i) \
				      : (T)0;                                  \
			W sum = (W)*y + (W)c;                                  \
                                                                               \
			*y = plain ? STORE(sum)                                \
				   : STORE((W)tpi_cut(f->alpha * (double)*y +  \
						      f->beta * (double)c));   \
		}                                                              \
	}

TPI_FOREACH_INT(ADD, add)

static tp_loop_fn *const add_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_INT(TPI_KERNEL_ROW, add)};

static bool
is_transposed(const struct tpi_call *c, size_t k)
{
	return tpi_attr_int(c, k == 0 ? "transA" : "transB", 0) != 0;
}

/*
 * c broadcasts to [m, n]; without the attribute of old it has just that shape.
 */
static bool
fits(const struct tpi_call *c, const struct tp_tensor *t, const int64_t *sizes)
{
	const int64_t *own = tp_tensor_sizes(t);
	bool was_asked = c->op->until != 6 || tpi_attr_int(c, "broadcast", 0);

	if (!was_asked)
		return t->rank == 2 && own[0] == sizes[0] && own[1] == sizes[1];
	for (unsigned d = 0; d < t->rank && t->rank <= 2; d++)
		if (own[d] != 1 && own[d] != sizes[2 - t->rank + d])
			return false;
	return t->rank <= 2;
}

static enum tp_status
infer_gemm(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *a = c->in[0], *b = c->in[1];
	unsigned a_rows = is_transposed(c, 0), b_rows = is_transposed(c, 1);

	for (size_t k = 1; k < c->n_in; k++)
		if (c->in[k] && c->in[k]->dtype != a->dtype)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has dtype %s, input 0 has %s",
			    c->op->onnx, k, tp_dtype_name(c->in[k]->dtype),
			    tp_dtype_name(a->dtype));
	if (a->rank != 2 || b->rank != 2 ||
	    tp_tensor_sizes(a)[!a_rows] != tp_tensor_sizes(b)[b_rows])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: shapes %s%s and %s%s do not fit", c->op->onnx,
		    TP_SHAPE_TEXT(tp_tensor_sizes(a), a->rank),
		    a_rows ? " transposed" : "",
		    TP_SHAPE_TEXT(tp_tensor_sizes(b), b->rank),
		    b_rows ? " transposed" : "");
	infos[0].dtype = a->dtype;
	infos[0].rank = 2;
	infos[0].sizes[0] = tp_tensor_sizes(a)[a_rows];
	infos[0].sizes[1] = tp_tensor_sizes(b)[!b_rows];
	if (c->in[2] && !fits(c, c->in[2], infos[0].sizes))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 2 of shape %s does not fit the product of "
		    "shape %s",
		    c->op->onnx,
		    TP_SHAPE_TEXT(tp_tensor_sizes(c->in[2]), c->in[2]->rank),
		    TP_SHAPE_TEXT(infos[0].sizes, 2));
	return TP_OK;
}

static struct affine
find_factors(const struct tpi_call *c)
{
	const struct tp_tensor *t = c->in[2];
	struct affine f = {.alpha = tpi_attr_float(c, "alpha", 1),
	    .beta = tpi_attr_float(c, "beta", 1),
	    .dtype = c->in[0]->dtype};
	int64_t size = tp_dtype_bits(f.dtype) / 8;

	if (!t)
		return f;
	f.c = tpi_tensor_address(t);
	if (t->rank > 0 && tp_tensor_sizes(t)[t->rank - 1] != 1)
		f.c_column = tp_tensor_strides(t)[t->rank - 1] * size;
	if (t->rank > 1 && tp_tensor_sizes(t)[0] != 1)
		f.c_row = tp_tensor_strides(t)[0] * size;
	return f;
}

static void
describe(const struct tpi_call *c, size_t k, struct tpi_matrix *x)
{
	const struct tp_tensor *t = c->in[k];
	unsigned lane = k == 0 ? is_transposed(c, 0) : !is_transposed(c, 1);
	int64_t size = tp_dtype_bits(t->dtype) / 8;

	x->data = tpi_tensor_address(t);
	x->lane_step = tp_tensor_strides(t)[lane] * size;
	x->depth_step = tp_tensor_strides(t)[!lane] * size;
}

static void
add_rows(const struct tpi_gemm *g, struct affine *f)
{
	const int64_t steps[2] = {tp_dtype_bits(f->dtype) / 8, f->c_column};

	if (!f->c && f->alpha == 1)
		return;
	for (size_t i = 0; i < g->m; i++) {
		char *data[2] = {g->y + (int64_t)i * g->y_row,
		    f->c ? f->c + (int64_t)i * f->c_row : NULL};

		add_kernels[f->dtype](f, data, steps, g->n);
	}
}

static enum tp_status
run_gemm(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *y = c->out[0];
	struct affine f = find_factors(c);
	struct tpi_gemm g = {.dtype = f.dtype, .ctx = &f, .put = put_floats};
	enum tp_status rc;

	g.m = (size_t)tp_tensor_sizes(y)[0];
	g.n = (size_t)tp_tensor_sizes(y)[1];
	g.k = (size_t)tp_tensor_sizes(c->in[0])[!is_transposed(c, 0)];
	g.y = tpi_tensor_address(y);
	g.y_row = tp_tensor_sizes(y)[1] * (tp_dtype_bits(f.dtype) / 8);
	describe(c, 0, &g.a);
	describe(c, 1, &g.b);
	rc = tpi_gemm_run(c, &g, 1, NULL, err);
	if (!rc && add_kernels[f.dtype])
		add_rows(&g, &f);
	return rc;
}

#define FACTORS                                            \
	{"alpha", TP_ATTR_FLOAT}, {"beta", TP_ATTR_FLOAT}, \
	    {"transA", TP_ATTR_INT},                       \
	{                                                  \
		"transB", TP_ATTR_INT                      \
	}
static const struct tpi_attr_spec gemm_attrs[] = {FACTORS, {NULL, 0}};
static const struct tpi_attr_spec gemm_1_attrs[] = {
    FACTORS, {"broadcast", TP_ATTR_INT}, {NULL, 0}};

#define ROW(from, to, least, spec)                                          \
	{                                                                   \
		.name = "gemm", .onnx = "Gemm", .since = from, .until = to, \
		.min_in = least, .max_in = 3, .min_out = 1, .max_out = 1,   \
		.attrs = spec, .infer = infer_gemm, .run = run_gemm,        \
		.kernels = tpi_gemm_kernels                                 \
	}

const struct tp_op tpi_affine_ops[] = {
    ROW(11, 0, 2, gemm_attrs),
    ROW(7, 10, 3, gemm_attrs),
    ROW(1, 6, 3, gemm_1_attrs),
    {.name = NULL},
};
