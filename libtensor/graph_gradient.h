/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_gradient.h - Gradient: the part of a graph that leads to a value
 *
 *	y = f(xs, zs)	 as nodes before this one say
 *	Gradient(xs', zs') = df/dxs at xs', zs'
 *
 * Steps between xs and zs, the leaves, and y are run again on what the node is
 * given for them, with a history (tp/autograd.h). What does not depend on
 * leaves is there already and stays until then.
 */
#ifndef TPI_GRAPH_GRADIENT_H
#define TPI_GRAPH_GRADIENT_H

#include "graph_run.h"

struct tpi_gradient {
	struct tpi_place *leaves; /* xs, then zs */
	size_t n_xs, n_leaves;
	struct tpi_place y;
	size_t *path; /* steps, in order */
	size_t n_path, path_room;
};

/* While the graph is planned: the step's gradient. */
enum tp_status tpi_gradient_plan(
    struct tpi_plan *plan, struct tpi_step *step, struct tp_err *err);
void tpi_gradient_free(
    const struct tp_alloc *alloc, struct tpi_gradient *gradient);

/* Places of a graph, numbered through: inputs, constants, locals. */
size_t tpi_place_number(const struct tpi_plan *plan, struct tpi_place place);
size_t tpi_place_count(const struct tpi_plan *plan);

/* Compute the outputs of the step. */
enum tp_status tpi_frame_gradient(struct tpi_frame *frame,
    const struct tpi_step *step, struct tp_value *outputs, struct tp_err *err);

/*
 * Run one operator on tensors with a history. in has TPI_OP_FEW NULLs behind
 * the last, and NULL for what is absent or no tensor. TP_EUNSUPPORTED if no
 * gradient is known.
 */
enum tp_status tpi_run_differentiable(const struct tp_op *op,
    const struct tp_attr *attrs, size_t n_attrs, const struct tp_tensor **in,
    size_t n_in, const struct tp_op_opts *opts, struct tp_tensor **out,
    struct tp_err *err);

#endif
