/* SPDX-License-Identifier: Apache-2.0 */
/*
 * old_broadcast.h - how operators broadcast before opset 7
 *
 * With `broadcast`, the shape of input 1 lies in that of input 0, from axis
 * `axis` on or, without that, at its end; without it, both shapes are the same.
 *
 *	[2, 3, 4, 5] and [3, 4] with axis 1:	[1, 3, 4, 1] as NumPy has it
 */
#ifndef TPI_OPS_OLD_BROADCAST_H
#define TPI_OPS_OLD_BROADCAST_H

#include "../op.h"

/* axis, broadcast; the same and consumed_inputs. */
extern const struct tpi_attr_spec tpi_old_broadcast_attrs[];

/* Output 0 is like input 0; input 1 fits, and has its dtype. */
tpi_infer_fn tpi_infer_old_broadcast;

/* A view of input k whose axes begin at that of input 0, for NumPy's rules. */
enum tp_status tpi_align_at(const struct tpi_call *c, size_t k, unsigned axis,
    struct tp_tensor **view, struct tp_err *err);

/* run over input 1 as it has to be for NumPy's rules. */
enum tp_status tpi_run_aligned(
    struct tpi_call *c, tpi_run_fn *run, struct tp_err *err);
tpi_run_fn tpi_run_old_broadcast; /* tpi_run_elementwise so */

#endif
