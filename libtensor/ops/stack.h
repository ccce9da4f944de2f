/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack.h - tensors of one shape that become the rows of another
 *
 * The result has an axis more, the first. Rows are copied when they come; room
 * doubles, up to `most`. Rows that never came are zero.
 */
#ifndef TPI_STACK_H
#define TPI_STACK_H

#include "tp/graph.h"

#include "../op.h"

/* All zero but the first four is an empty one. */
struct tpi_stack {
	const struct tpi_call *c;
	size_t number;			  /* of the output, for messages */
	const struct tp_binding *binding; /* what a row is declared to be */
	int64_t most;			  /* rows that may come; 0: unknown */
	enum tp_value_kind kind;
	struct tp_tensor *rows;
};

enum tp_status tpi_stack_put(struct tpi_stack *s, int64_t row,
    const struct tp_value *v, struct tp_err *err);
/*
 * n rows, and the stack is empty again. If none came, the binding tells shape
 * and dtype; sizes that it leaves open are 0.
 */
enum tp_status tpi_stack_take(
    struct tpi_stack *s, int64_t n, struct tp_value *out, struct tp_err *err);
void tpi_stack_drop(struct tpi_stack *s);

#endif
