/* SPDX-License-Identifier: Apache-2.0 */
/*
 * einsum.h - what an equation says about its operands
 *
 *	"bij, bjk -> bik"
 *
 * Letters name axes; "..." are those that are left, aligned at the end. An axis
 * of size 1 repeats. Axes that the output does not name are summed.
 */
#ifndef TPI_OPS_EINSUM_H
#define TPI_OPS_EINSUM_H

#include "../op.h"

/* Letters, and axes of ellipses. */
#define TPI_EINSUM_AXES (52 + TP_MAX_RANK)

struct tpi_einsum_operand {
	/* In elements: 0 where it repeats or does not know the axis. */
	int64_t steps[TPI_EINSUM_AXES];
	bool has[TPI_EINSUM_AXES]; /* more than one element along it */
};

struct tpi_einsum {
	/* The output's axes in its order, then those that are summed. */
	unsigned n_axes, n_out;
	int64_t sizes[TPI_EINSUM_AXES];
	struct tpi_einsum_operand *operands; /* c->n_in of them */
};

/* Release it after TP_OK. */
enum tp_status tpi_einsum_read(
    const struct tpi_call *c, struct tpi_einsum *e, struct tp_err *err);
void tpi_einsum_release(const struct tpi_call *c, struct tpi_einsum *e);

/*
 * Of two operands: are they matrix products whose results lie as the output
 * does, batch, rows, columns, with operand a on the left?
 */
bool tpi_einsum_is_product(const struct tpi_einsum *e, unsigned a);
enum tp_status tpi_einsum_product(const struct tpi_call *c,
    const struct tpi_einsum *e, unsigned a, struct tp_err *err);

#endif
