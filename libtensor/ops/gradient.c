/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradient.c - Gradient: what it takes
 *
 * It differentiates the graph that it is a node of, so a program computes it:
 * graph_gradient.c.
 */
#include "../op.h"

#include "../banned.h"

static enum tp_status
run_gradient(struct tpi_call *c, struct tp_err *err)
{
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "%s: runs as a node of a program only", c->op->onnx);
}

static const struct tpi_attr_spec attrs[] = {
    {"xs", TP_ATTR_STRINGS},
    {"zs", TP_ATTR_STRINGS},
    {"y", TP_ATTR_STRING},
    {NULL, TP_ATTR_INT},
};

const struct tp_op tpi_gradient_ops[] = {
    {.name = "gradient",
	.onnx = "Gradient",
	.domain = "ai.onnx.preview.training",
	.since = 1,
	.min_in = 1,
	.max_in = TP_OP_ANY,
	.min_out = 1,
	.max_out = TP_OP_ANY,
	.flags = TPI_OP_VALUES | TPI_OP_DIFFERENTIATES,
	.attrs = attrs,
	.run = run_gradient},
    {.name = NULL},
};
