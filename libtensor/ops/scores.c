/* SPDX-License-Identifier: Apache-2.0 */
/* scores.c - what models of ai.onnx.ml do with their scores at the end */
#include "scores.h"

#include <math.h>

#include "../banned.h"

static void
softmax(double *y, size_t n, bool skip_zeros)
{
	double most = -INFINITY, sum = 0;

	for (size_t k = 0; k < n; k++)
		most = y[k] > most ? y[k] : most;
	for (size_t k = 0; k < n; k++)
		if (!skip_zeros || y[k] != 0)
			sum += y[k] = exp(y[k] - most);
	for (size_t k = 0; k < n && sum != 0; k++)
		y[k] /= sum;
}

/*
 * The normal quantile of p, sqrt(2) times the inverse of erf at 2 p - 1:
 * Newton's steps from an approximation that is off by 2e-3 at most.
 */
static double
probit(double p)
{
	double y = 2 * p - 1, log_part = log(1 - y * y) / 2, b, x;

	if (!(p > 0 && p < 1))
		return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
	b = 2 / (3.14159265358979323846 * 0.147) + log_part;
	x = copysign(sqrt(sqrt(b * b - 2 * log_part / 0.147) - b), y);
	for (int k = 0; k < 4; k++)
		x -= (erf(x) - y) * exp(x * x) * 0.88622692545275801365;
	return x * 1.41421356237309504880;
}

void
tpi_scores_finish(enum tpi_scores how, double *y, size_t n)
{
	if (how == TPI_SCORES_SOFTMAX || how == TPI_SCORES_SOFTMAX_ZERO)
		softmax(y, n, how == TPI_SCORES_SOFTMAX_ZERO);
	for (size_t k = 0; k < n; k++)
		if (how == TPI_SCORES_LOGISTIC)
			y[k] = 1 / (1 + exp(-y[k]));
		else if (how == TPI_SCORES_PROBIT)
			y[k] = probit(y[k]);
}

enum tp_status
tpi_scores_read(
    const struct tpi_call *c, enum tpi_scores *how, struct tp_err *err)
{
	static const char *const names[] = {
	    "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
	unsigned choice = 0;
	enum tp_status rc =
	    tpi_attr_choice(c, "post_transform", names, 5, 0, &choice, err);

	*how = (enum tpi_scores)choice;
	return rc;
}
