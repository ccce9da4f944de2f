/* SPDX-License-Identifier: Apache-2.0 */
/* scores.h - what models of ai.onnx.ml do with their scores at the end */
#ifndef TPI_OPS_SCORES_H
#define TPI_OPS_SCORES_H

#include "../op.h"

/* By the numbers of TreeEnsemble. SOFTMAX_ZERO leaves scores of 0 alone. */
enum tpi_scores {
	TPI_SCORES_NONE,
	TPI_SCORES_SOFTMAX,
	TPI_SCORES_LOGISTIC,
	TPI_SCORES_SOFTMAX_ZERO,
	TPI_SCORES_PROBIT,
};

/* The attribute post_transform where it is a name. */
enum tp_status tpi_scores_read(
    const struct tpi_call *c, enum tpi_scores *how, struct tp_err *err);

/* The n scores of one sample. */
void tpi_scores_finish(enum tpi_scores how, double *y, size_t n);

#endif
