/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_run.h - what is done with a call before its operator runs
 *
 * op_inputs.c looks at what it is given, op_run.c makes what it gives.
 */
#ifndef TPI_OP_RUN_H
#define TPI_OP_RUN_H

#include "op.h"

/* Fill c->in, if the inputs are of the kinds and dtypes that c->op takes. */
enum tp_status tpi_op_take_inputs(struct tpi_call *c,
    const struct tp_value *inputs, size_t n_in, size_t n_out,
    struct tp_err *err);

/* Names and kinds of c->attrs. */
enum tp_status tpi_op_check_attrs(const struct tpi_call *c, struct tp_err *err);

/* Find c->kernel; TP_EUNSUPPORTED, naming what there is, if there is none. */
enum tp_status tpi_op_choose_kernel(struct tpi_call *c, struct tp_err *err);

#endif
