/* SPDX-License-Identifier: Apache-2.0 */
/* normalize_rows.c - rows brought to mean 0 and variance 1 */
#include "normalize.h"

#include "../tensor.h"
#include "kernel.h"

#include "../banned.h"

/* What is written to an operand that is there. */
static void
tell(char *const *data, int operand, double value)
{
	if (data[operand])
		*(double *)(void *)data[operand] = value;
}

/* The value for a whole row of an operand that has one, or a neutral one. */
static double
all_of(const char *data, double otherwise)
{
	return data ? *(const double *)(const void *)data : otherwise;
}

#define SHIFT_ROW(LOAD, STORE, SCALE, BIAS) \
	for (size_t i = 0; i < n; i++)      \
		y[i] = STORE((LOAD(x[i]) - mean) * inverse * (SCALE) + (BIAS));

#define NORMALIZE(OP, ID, T, W, LOAD, STORE)                                   \
	static void OP##_##ID(                                                 \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)      \
	{                                                                      \
		const struct tpi_normalize *job =                              \
		    ((struct tpi_row *)ctx)->how;                              \
		T *y = (T *)(void *)data[TPI_NORM_Y];                          \
		const T *x = (const T *)(void *)data[TPI_NORM_X];              \
		const double *s =                                              \
		    (const double *)(void *)data[TPI_NORM_SCALE];              \
		const double *b = (const double *)(void *)data[TPI_NORM_BIAS]; \
		double scale = all_of(data[TPI_NORM_SCALE], 1);                \
		double bias = all_of(data[TPI_NORM_BIAS], -0.0);               \
		double mean = 0, variance = 0, inverse;                        \
                                                                               \
		for (size_t i = 0; i < n && job->is_centered; i++)             \
			mean += LOAD(x[i]);                                    \
		if (job->is_centered)                                          \
			mean /= (double)n;                                     \
		for (size_t i = 0; i < n; i++) {                               \
			double d = LOAD(x[i]) - mean;                          \
                                                                               \
			variance += d * d;                                     \
		}                                                              \
		variance /= (double)n;                                         \
		inverse = 1 / (sqrt(variance + job->epsilon) + job->beside);   \
		tell(data, TPI_NORM_MEAN, mean);                               \
		tell(data, TPI_NORM_VARIANCE, variance);                       \
		tell(data, TPI_NORM_INVERSE, inverse);                         \
		if (steps[TPI_NORM_SCALE] && steps[TPI_NORM_BIAS])             \
			SHIFT_ROW(LOAD, STORE, s[i], b[i])                     \
		else if (steps[TPI_NORM_SCALE])                                \
			SHIFT_ROW(LOAD, STORE, s[i], bias)                     \
		else if (steps[TPI_NORM_BIAS])                                 \
			SHIFT_ROW(LOAD, STORE, scale, b[i])                    \
		else                                                           \
			SHIFT_ROW(LOAD, STORE, scale, bias)                    \
	}

TPI_FOREACH_DOUBLE(NORMALIZE, normalize)

tp_loop_fn *const tpi_normalize_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, normalize)};

struct tpi_normalize
tpi_normalize_begin(const struct tpi_call *c)
{
	return (struct tpi_normalize){
	    .epsilon = tpi_attr_float(c, "epsilon", (double)1e-5f),
	    .is_centered = true,
	};
}

enum tp_status
tpi_normalize_flatten(struct tpi_normalize *job, const struct tp_tensor *x,
    const struct tp_tensor *y, unsigned lead, struct tp_err *err)
{
	enum tp_status rc =
	    tpi_rows_flatten(x, lead, &job->operands[TPI_NORM_X], err);

	if (!rc)
		rc = tpi_rows_flatten(y, lead, &job->operands[TPI_NORM_Y], err);
	return rc;
}

enum tp_status
tpi_normalize_rows(const struct tpi_call *c, const struct tpi_normalize *job,
    unsigned lead, struct tp_err *err)
{
	const struct tp_tensor *x = job->operands[TPI_NORM_X];
	struct tpi_rows rows = {
	    .kernel = tpi_normalize_kernels[x->dtype],
	    .how = job,
	    .n_written = TPI_NORM_X,
	    .n_operands = TPI_NORM_OPERANDS,
	    .axis = lead,
	    .n = tp_tensor_sizes(x)[lead],
	};

	for (unsigned k = 0; k < TPI_NORM_OPERANDS; k++)
		rows.operands[k] = job->operands[k];
	return tpi_rows_run(c, &rows, err);
}

enum tp_status
tpi_normalize_end(struct tpi_normalize *job, struct tp_tensor *out,
    enum tp_status rc, struct tp_err *err)
{
	if (!rc) {
		rc = tpi_rows_unflatten(job->operands[TPI_NORM_Y], out, err);
		job->operands[TPI_NORM_Y] = NULL;
	}
	for (unsigned k = 0; k < TPI_NORM_OPERANDS; k++)
		tp_tensor_free(job->operands[k]);
	return rc;
}
