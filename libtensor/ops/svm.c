/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svm.c - SVMRegressor of ai.onnx.ml
 *
 *	y = rho + sum of coefficients[i] K(x, support_vectors[i])
 *
 *	LINEAR	x.v			POLY	(gamma x.v + coef0)^degree
 *	RBF	exp(-gamma |x - v|^2)	SIGMOID	tanh(gamma x.v + coef0)
 *
 * Without support vectors it is linear: the coefficients are those of x.
 */
#include "../op.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/layout.h"

#include "../tensor.h"
#include "scores.h"

#include "../banned.h"

enum svm_kernel { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID };

struct svm {
	enum svm_kernel kernel;
	double gamma, coef0, degree, rho;
	size_t n_features, n_vectors;
	const double *vectors, *coefficients;
	bool one_class;
	enum tpi_scores after;
};

static double
apply_kernel(const struct svm *s, const double *x, const double *v)
{
	double product = 0, distance = 0;

	for (size_t i = 0; i < s->n_features; i++) {
		product += x[i] * v[i];
		distance += (x[i] - v[i]) * (x[i] - v[i]);
	}
	switch (s->kernel) {
	case SVM_LINEAR:
		return product;
	case SVM_POLY:
		return pow(s->gamma * product + s->coef0, s->degree);
	case SVM_RBF:
		return exp(-s->gamma * distance);
	case SVM_SIGMOID:
		return tanh(s->gamma * product + s->coef0);
	}
	return 0;
}

static double
regress(const struct svm *s, const double *x)
{
	double y = 0;

	if (!s->n_vectors)
		for (size_t i = 0; i < s->n_features; i++)
			y += s->coefficients[i] * x[i];
	for (size_t k = 0; k < s->n_vectors; k++)
		y += s->coefficients[k] *
		     apply_kernel(s, x, s->vectors + k * s->n_features);
	y += s->rho;
	if (s->one_class)
		return y > 0 ? 1 : -1;
	tpi_scores_finish(s->after, &y, 1);
	return y;
}

/* gamma, coef0, degree */
static enum tp_status
read_kernel(const struct tpi_call *c, struct svm *s, struct tp_err *err)
{
	static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
	const struct tp_attr *a = tpi_attr_find(c, "kernel_params");
	unsigned kernel = SVM_LINEAR;
	enum tp_status rc = tpi_attr_choice(
	    c, "kernel_type", names, 4, SVM_LINEAR, &kernel, err);

	s->kernel = (enum svm_kernel)kernel;
	if (!rc && (a ? a->n != 3 : kernel != SVM_LINEAR))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu kernel_params, expected 3", c->op->onnx,
		    a ? a->n : 0);
	if (!rc && a) {
		s->gamma = a->floats[0];
		s->coef0 = a->floats[1];
		s->degree = a->floats[2];
	}
	return rc;
}

static enum tp_status
read_vectors(const struct tpi_call *c, struct svm *s, struct tp_err *err)
{
	const struct tp_attr *v = tpi_attr_find(c, "support_vectors");
	const struct tp_attr *w = tpi_attr_find(c, "coefficients");
	const struct tp_attr *rho = tpi_attr_find(c, "rho");
	int64_t n = tpi_attr_int(c, "n_supports", 0);
	size_t n_numbers = 0;

	if (n < 0 || !s->n_features || !w || !rho || rho->n < 1 ||
	    w->n != (n ? (size_t)n : s->n_features) ||
	    tp_mul_size((size_t)n, s->n_features, &n_numbers) ||
	    n_numbers != (n && v ? v->n : 0))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %" PRId64 " supports of %zu features, with %zu "
		    "numbers, %zu coefficients and %zu rho",
		    c->op->onnx, n, s->n_features, v ? v->n : 0, w ? w->n : 0,
		    rho ? rho->n : 0);
	s->n_vectors = (size_t)n;
	s->vectors = v ? v->floats : NULL;
	s->coefficients = w->floats;
	s->rho = rho->floats[0];
	return TP_OK;
}

static enum tp_status
read_svm(const struct tpi_call *c, struct svm *s, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	enum tp_status rc;

	memset(s, 0, sizeof(*s));
	if (x->rank < 1 || x->rank > 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: an input of rank %u, expected 1 or 2", c->op->onnx,
		    x->rank);
	s->n_features = (size_t)tp_tensor_sizes(x)[x->rank - 1];
	s->one_class = tpi_attr_int(c, "one_class", 0) != 0;
	rc = tpi_scores_read(c, &s->after, err);
	if (!rc)
		rc = read_kernel(c, s, err);
	return rc ? rc : read_vectors(c, s, err);
}

static enum tp_status
infer_svm(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct svm s;
	enum tp_status rc = read_svm(c, &s, err);

	infos[0] = (struct tpi_info){.dtype = TP_DTYPE_F32,
	    .rank = 2,
	    .sizes = {x->rank == 2 ? tp_tensor_sizes(x)[0] : 1, 1}};
	return rc;
}

static enum tp_status
run_svm(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *in = c->in[0];
	float *y = tp_tensor_data_mut(c->out[0]);
	struct tp_tensor *x = NULL;
	struct svm s;
	enum tp_status rc = read_svm(c, &s, err);

	if (!rc)
		rc = tpi_op_doubles(
		    c, in, tp_tensor_sizes(in), in->rank, &x, err);
	for (size_t r = 0; !rc && r < c->out[0]->n_elems; r++)
		y[r] = (float)regress(
		    &s, (const double *)tp_tensor_data(x) + r * s.n_features);
	tp_tensor_free(x);
	return rc;
}

static const struct tpi_attr_spec svm_attrs[] = {
    {"coefficients", TP_ATTR_FLOATS}, {"kernel_params", TP_ATTR_FLOATS},
    {"kernel_type", TP_ATTR_STRING}, {"n_supports", TP_ATTR_INT},
    {"one_class", TP_ATTR_INT}, {"post_transform", TP_ATTR_STRING},
    {"rho", TP_ATTR_FLOATS}, {"support_vectors", TP_ATTR_FLOATS}, {NULL, 0}};

const struct tp_op tpi_svm_ops[] = {
    {.name = "svm_regressor",
	.onnx = "SVMRegressor",
	.domain = "ai.onnx.ml",
	.since = 1,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.attrs = svm_attrs,
	.infer = infer_svm,
	.run = run_svm,
	.kernels = tpi_number_dtypes},
    {.name = NULL},
};
