/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rnn_cells.c - a step of RNN, GRU and LSTM, and their activations
 *
 * Gates lie one behind the other in the order that the operators name them:
 * GRU z r h, LSTM i o f c.
 */
#include "rnn.h"

#include <math.h>
#include <string.h>

#include "functions.h"
#include "vector.h"

#include "../banned.h"

static double
relu(double x, double alpha, double beta)
{
	(void)alpha;
	(void)beta;
	return x > 0 || x != x ? x : 0;
}

static double
hyperbolic(double x, double alpha, double beta)
{
	(void)alpha;
	(void)beta;
	return tanh(x);
}

static double
sigmoid(double x, double alpha, double beta)
{
	(void)alpha;
	(void)beta;
	return tpi_sigmoid(x);
}

static double
affine(double x, double alpha, double beta)
{
	return alpha * x + beta;
}

static double
leaky_relu(double x, double alpha, double beta)
{
	(void)beta;
	return x < 0 ? alpha * x : x;
}

static double
thresholded_relu(double x, double alpha, double beta)
{
	(void)beta;
	return x < alpha ? 0 : x;
}

static double
scaled_tanh(double x, double alpha, double beta)
{
	return alpha * tanh(beta * x);
}

static double
hard_sigmoid(double x, double alpha, double beta)
{
	double y = alpha * x + beta;

	return y < 0 ? 0 : y > 1 ? 1 : y;
}

static double
elu(double x, double alpha, double beta)
{
	(void)beta;
	return x < 0 ? alpha * expm1(x) : x;
}

static double
softsign(double x, double alpha, double beta)
{
	(void)alpha;
	(void)beta;
	return x / (1 + fabs(x));
}

static double
softplus(double x, double alpha, double beta)
{
	(void)alpha;
	(void)beta;
	return tpi_softplus(x);
}

static const struct {
	const char *name;
	unsigned n_parameters;
	struct tpi_activation activation;
} activations[] = {
    {"Relu", 0, {relu, 0, 0}},
    {"Tanh", 0, {hyperbolic, 0, 0}},
    {"Sigmoid", 0, {sigmoid, 0, 0}},
    {"Affine", 2, {affine, 1, 0}},
    {"LeakyRelu", 1, {leaky_relu, (double)0.01f, 0}},
    {"ThresholdedRelu", 1, {thresholded_relu, 1, 0}},
    {"ScaledTanh", 2, {scaled_tanh, 1, 1}},
    {"HardSigmoid", 2, {hard_sigmoid, (double)0.2f, 0.5}},
    {"Elu", 1, {elu, 1, 0}},
    {"Softsign", 0, {softsign, 0, 0}},
    {"Softplus", 0, {softplus, 0, 0}},
};

bool
tpi_activation_find(
    struct tp_str name, struct tpi_activation *a, unsigned *n_parameters)
{
	for (size_t i = 0; i < sizeof(activations) / sizeof(activations[0]);
	     i++)
		if (tp_str_cmp(name, tp_str(activations[i].name)) == 0) {
			*a = activations[i].activation;
			*n_parameters = activations[i].n_parameters;
			return true;
		}
	return false;
}

/* Activation k of what is bounded first, if it is to be. */
static double
activate(const struct tpi_rnn *l, unsigned k, double x)
{
	const struct tpi_activation *a = &l->activations[k];

	if (x > l->clip)
		x = l->clip;
	if (x < -l->clip)
		x = -l->clip;
	return a->f(x, a->alpha, a->beta);
}

static void
add_list(double *restrict y, const double *restrict b, size_t n)
{
	for (size_t j = 0; j < n && b; j++)
		y[j] += b[j];
}

/* From gate `first` on n_gates of x W + h R and both biases. */
static void
make_gates(const struct tpi_rnn *l, struct tpi_rnn_state *s, const double *x,
    size_t n_all, size_t n_gates)
{
	size_t row = n_all * l->n, n = n_gates * l->n;

	memset(s->gates, 0, row * sizeof(*s->gates));
	tpi_add_product(s->gates, x, l->n_in, l->w, row, row);
	tpi_add_product(s->gates, s->h, l->n, l->r, row, n);
	add_list(s->gates, l->wb, row);
	add_list(s->gates, l->rb, n);
}

/* h = f(x W + h R + b) */
static void
step_rnn(const struct tpi_rnn *l, struct tpi_rnn_state *s, const double *x)
{
	make_gates(l, s, x, 1, 1);
	for (size_t j = 0; j < l->n; j++)
		s->h[j] = activate(l, 0, s->gates[j]);
}

/*
 * z, r = f(x W + h R + b)
 * new = g(x W + (r . h) R + b), or, linear before the reset,
 *       g(x W + Wb + r . (h R + Rb))
 * h = (1 - z) . new + z . h
 */
static void
step_gru(const struct tpi_rnn *l, struct tpi_rnn_state *s, const double *x)
{
	size_t n = l->n;
	double *z = s->gates, *r = z + n, *fresh = r + n;
	double *reset = s->spare, *back = s->spare + n;

	make_gates(l, s, x, 3, 2);
	for (size_t j = 0; j < 2 * n; j++)
		z[j] = activate(l, 0, z[j]);
	memset(back, 0, n * sizeof(*back));
	for (size_t j = 0; j < n; j++)
		reset[j] = l->is_linear_before_reset ? s->h[j] : r[j] * s->h[j];
	tpi_add_product(back, reset, n, l->r + 2 * n, 3 * n, n);
	add_list(back, l->rb ? l->rb + 2 * n : NULL, n);
	for (size_t j = 0; j < n; j++) {
		double more =
		    l->is_linear_before_reset ? r[j] * back[j] : back[j];

		s->h[j] = (1 - z[j]) * activate(l, 1, fresh[j] + more) +
			  z[j] * s->h[j];
	}
}

/*
 * i, f = f(x W + h R + P . c + b)
 * c    = f . c + i . g(x W + h R + b)
 * o    = f(x W + h R + P . c + b), with the new c
 * h    = o . h(c)
 */
static void
step_lstm(const struct tpi_rnn *l, struct tpi_rnn_state *s, const double *x)
{
	size_t n = l->n;
	const double *i = s->gates, *o = i + n, *f = o + n, *g = f + n;
	const double *p = l->p;

	make_gates(l, s, x, 4, 4);
	for (size_t j = 0; j < n; j++) {
		double c = s->c[j], in, forget, out;

		in = activate(l, 0, i[j] + (p ? p[j] * c : 0));
		forget =
		    l->couples_input_forget
			? 1 - in
			: activate(l, 0, f[j] + (p ? p[2 * n + j] * c : 0));
		c = forget * c + in * activate(l, 1, g[j]);
		out = activate(l, 0, o[j] + (p ? p[n + j] * c : 0));
		s->c[j] = c;
		s->h[j] = out * activate(l, 2, c);
	}
}

const struct tpi_rnn_cell tpi_rnn_cells[] = {
    {"RNN", 1, 1, {"Tanh", NULL, NULL}, step_rnn},
    {"GRU", 3, 2, {"Sigmoid", "Tanh", NULL}, step_gru},
    {"LSTM", 4, 3, {"Sigmoid", "Tanh", "Tanh"}, step_lstm},
    {.onnx = NULL},
};
