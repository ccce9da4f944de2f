/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer.c - Adagrad, Adam, Momentum of ai.onnx.preview.training: one step
 *
 * Inputs are a rate R, the number T of steps before, and for each of n tensors
 * its value X, its gradient G and the state of the method, in groups:
 *
 *	R, T, X1 … Xn, G1 … Gn, V1 … Vn[, H1 … Hn]
 *
 * Outputs are the new X and the new state, in groups as well. Everything is
 * computed in double, element by element, and rounded once.
 */
#include "chunk.h"

#include <math.h>

#include "../tensor.h"

#include "../banned.h"

enum { X, G, V, H, N_GROUPS };

/* Numbers of one call. */
struct step {
	double rate, epsilon, norm, norm_after;
	double alpha, beta; /* factors of what was before */
	double gain;	    /* Momentum: of the gradient */
	bool nesterov;
};

/*
 * New X, V, H of one element, in their places. The gradient has the derivative
 * of norm / 2 X² added already.
 */
typedef void update_fn(const struct step *s, double *e);

static void
adagrad(const struct step *s, double *e)
{
	e[V] += e[G] * e[G];
	e[X] -= s->rate * e[G] / (sqrt(e[V]) + s->epsilon);
}

static void
adam(const struct step *s, double *e)
{
	e[V] = s->alpha * e[V] + (1 - s->alpha) * e[G];
	e[H] = s->beta * e[H] + (1 - s->beta) * e[G] * e[G];
	e[X] -= s->rate * e[V] / (sqrt(e[H]) + s->epsilon);
	e[X] *= 1 - s->norm_after;
}

static void
momentum(const struct step *s, double *e)
{
	e[V] = s->alpha * e[V] + s->gain * e[G];
	e[X] -= s->rate * (s->nesterov ? e[G] + s->alpha * e[V] : e[V]);
}

/* Tensors: the inputs behind R and T are n_groups of them. */
static enum tp_status
count_tensors(
    const struct tpi_call *c, size_t n_groups, size_t *n, struct tp_err *err)
{
	*n = (c->n_in - 2) / n_groups;
	if (c->n_in != 2 + *n * n_groups || *n == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu inputs, expected R, T and %zu for each tensor",
		    c->op->onnx, c->n_in, n_groups);
	if (c->n_out != *n * (n_groups - 1))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu outputs, expected %zu", c->op->onnx, c->n_out,
		    *n * (n_groups - 1));
	return TP_OK;
}

static enum tp_status
infer_groups(const struct tpi_call *c, size_t n_groups, struct tpi_info *infos,
    struct tp_err *err)
{
	size_t n = 0;
	enum tp_status rc = count_tensors(c, n_groups, &n, err);

	for (size_t k = 2; k < c->n_in && !rc; k++) {
		const struct tp_tensor *x = c->in[2 + (k - 2) % n];

		if (!c->in[k] || !tpi_float_dtypes[x->dtype] ||
		    c->in[k]->dtype != x->dtype || !tpi_same_shape(c->in[k], x))
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has not the dtype (a float) and "
			    "shape of input %zu",
			    c->op->onnx, k, 2 + (k - 2) % n);
	}
	for (size_t k = 0; k < c->n_out && !rc; k++)
		infos[k] = tpi_info_of(c->in[2 + k % n]);
	return rc;
}

static enum tp_status
infer_two(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	return infer_groups(c, 3, infos, err);
}

static enum tp_status
infer_three(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	return infer_groups(c, 4, infos, err);
}

struct job {
	struct tpi_call *c;
	const struct step *s;
	update_fn *update;
	size_t tensor, n_tensors, n_groups;
};

/* Elements of one tensor. */
static void
update_chunk(void *ctx, uint64_t from, size_t n)
{
	const struct job *job = ctx;
	struct tpi_call *c = job->c;
	double x[N_GROUPS][TPI_CHUNK] = {{0}};
	union tpi_chunk room;

	for (size_t g = 0; g < job->n_groups; g++) {
		const struct tp_tensor *t =
		    c->in[2 + g * job->n_tensors + job->tensor];
		struct tp_strided s = tp_tensor_strided(t);

		tpi_load_doubles(
		    t->dtype, tpi_chunk_read(&s, from, n, &room), n, x[g]);
	}
	for (size_t i = 0; i < n; i++) {
		double e[N_GROUPS] = {x[X][i], x[G][i], x[V][i], x[H][i]};

		e[G] += job->s->norm * e[X];
		job->update(job->s, e);
		for (size_t g = 0; g < N_GROUPS; g++)
			x[g][i] = e[g];
	}
	/* Outputs are the groups without the gradients. */
	for (size_t g = 0; g + 1 < job->n_groups; g++) {
		struct tp_tensor *y = c->out[g * job->n_tensors + job->tensor];

		tpi_store_doubles(
		    y->dtype, x[g ? g + 1 : X], n, tpi_chunk_place(y, from));
	}
}

static enum tp_status
run_step(struct tpi_call *c, const struct step *s, update_fn *update,
    size_t n_groups, struct tp_err *err)
{
	struct job job = {
	    .c = c, .s = s, .update = update, .n_groups = n_groups};
	enum tp_status rc = count_tensors(c, n_groups, &job.n_tensors, err);

	for (; job.tensor < job.n_tensors && !rc; job.tensor++)
		tpi_for_chunks(
		    c, c->out[job.tensor]->n_elems, update_chunk, &job);
	return rc;
}

/* What all have, with R as the rate; *t is T. */
static enum tp_status
begin_step(
    const struct tpi_call *c, struct step *s, double *t, struct tp_err *err)
{
	enum tp_status rc = tpi_number_input(c, 0, 0, &s->rate, err);

	if (!rc)
		rc = tpi_number_input(c, 1, 0, t, err);
	s->epsilon = tpi_attr_float(c, "epsilon", 1e-6f);
	s->norm = tpi_attr_float(c, "norm_coefficient", 0);
	return rc;
}

static enum tp_status
run_adagrad(struct tpi_call *c, struct tp_err *err)
{
	struct step s = {0};
	double t = 0;
	enum tp_status rc = begin_step(c, &s, &t, err);

	s.rate /= 1 + t * tpi_attr_float(c, "decay_factor", 0);
	return rc ? rc : run_step(c, &s, adagrad, 3, err);
}

static enum tp_status
run_adam(struct tpi_call *c, struct tp_err *err)
{
	struct step s = {.alpha = tpi_attr_float(c, "alpha", 0.9f),
	    .beta = tpi_attr_float(c, "beta", 0.999f),
	    .norm_after = tpi_attr_float(c, "norm_coefficient_post", 0)};
	double t = 0;
	enum tp_status rc = begin_step(c, &s, &t, err);

	/*
	 * The averages begin at 0, which the first step need not make up for.
	 */
	if (t > 0)
		s.rate *= sqrt(1 - pow(s.beta, t)) / (1 - pow(s.alpha, t));
	return rc ? rc : run_step(c, &s, adam, 4, err);
}

static enum tp_status
run_momentum(struct tpi_call *c, struct tp_err *err)
{
	static const char *const needed[] = {
	    "alpha", "beta", "mode", "norm_coefficient"};
	const struct tp_attr *mode = tpi_attr_find(c, "mode");
	struct step s = {.alpha = tpi_attr_float(c, "alpha", 0)};
	double t = 0;
	enum tp_status rc = begin_step(c, &s, &t, err);

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]) && !rc; i++)
		if (!tpi_attr_find(c, needed[i]))
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: attribute '%s' is missing", c->op->onnx,
			    needed[i]);
	if (rc)
		return rc;
	s.nesterov = tp_str_cmp(mode->s, TP_STR("nesterov")) == 0;
	if (!s.nesterov && tp_str_cmp(mode->s, TP_STR("standard")) != 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: mode is '%s', expected standard or nesterov",
		    c->op->onnx, TP_BRIEF(mode->s));
	s.gain = t > 0 ? tpi_attr_float(c, "beta", 0) : 1;
	return run_step(c, &s, momentum, 3, err);
}

static const struct tpi_attr_spec adagrad_attrs[] = {
    {"decay_factor", TP_ATTR_FLOAT}, {"epsilon", TP_ATTR_FLOAT},
    {"norm_coefficient", TP_ATTR_FLOAT}, {NULL, 0}};
static const struct tpi_attr_spec adam_attrs[] = {{"alpha", TP_ATTR_FLOAT},
    {"beta", TP_ATTR_FLOAT}, {"epsilon", TP_ATTR_FLOAT},
    {"norm_coefficient", TP_ATTR_FLOAT},
    {"norm_coefficient_post", TP_ATTR_FLOAT}, {NULL, 0}};
static const struct tpi_attr_spec momentum_attrs[] = {{"alpha", TP_ATTR_FLOAT},
    {"beta", TP_ATTR_FLOAT}, {"mode", TP_ATTR_STRING},
    {"norm_coefficient", TP_ATTR_FLOAT}, {NULL, 0}};

#define ROW(op, onnx_name, infer_fn)                                           \
	{                                                                      \
		.name = #op, .onnx = onnx_name,                                \
		.domain = "ai.onnx.preview.training", .since = 1, .min_in = 3, \
		.max_in = TP_OP_ANY, .min_out = 1, .max_out = TP_OP_ANY,       \
		.attrs = op##_attrs, .infer = infer_fn, .run = run_##op        \
	}

const struct tp_op tpi_optimizer_ops[] = {
    ROW(adagrad, "Adagrad", infer_two),
    ROW(adam, "Adam", infer_three),
    ROW(momentum, "Momentum", infer_two),
    {.name = NULL},
};
