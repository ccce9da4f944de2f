/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h - a graph along axes of tensors, for Scan of all versions
 *
 * The graph takes (states…, slices…) and gives (states…, rows…).
 */
#ifndef TPI_SCAN_H
#define TPI_SCAN_H

#include "body.h"
#include "stack.h"

struct tpi_scan {
	struct tpi_call *c;
	struct tpi_body body;
	const struct tp_value *inputs; /* states, then tensors */
	size_t n_states, n_sliced, n_stacked;
	/* NULL: 0 for all. */
	const struct tp_attr *in_axes, *in_backwards;
	const struct tp_attr *out_axes, *out_backwards;
	struct tpi_stack *stacks;
};

/* Entry k of a list that may be absent. */
static inline int64_t
tpi_scan_entry(const struct tp_attr *list, size_t k)
{
	return list ? list->ints[k] : 0;
}

/* An attribute of n integers, NULL if it is not there. */
enum tp_status tpi_scan_list(const struct tpi_call *c, const char *name,
    size_t n, const struct tp_attr **list, struct tp_err *err);

/* n_in inputs are states and tensors. end is allowed after a failure. */
enum tp_status tpi_scan_begin(
    struct tpi_scan *s, size_t n_in, struct tp_err *err);
void tpi_scan_end(struct tpi_scan *s);

/* The size of tensor k along an axis: *size, or that if it is -1. */
enum tp_status tpi_scan_measure(const struct tpi_scan *s, size_t k,
    int64_t axis, int64_t *size, struct tp_err *err);
/* Not more trips than max_iterations allows. */
enum tp_status tpi_scan_check(
    const struct tpi_scan *s, int64_t trips, struct tp_err *err);

/* Leaves the last states in body.in and the rows in the stacks. */
enum tp_status tpi_scan_run(
    struct tpi_scan *s, int64_t trips, struct tp_err *err);
/* Rows of output k, with their axis where it is wanted. */
enum tp_status tpi_scan_stack(struct tpi_scan *s, size_t k, int64_t n,
    struct tp_value *out, struct tp_err *err);

/* Part `index` of a value along an axis. */
enum tp_status tpi_scan_slice(const struct tp_value *v, unsigned axis,
    int64_t index, struct tp_value *out, struct tp_err *err);

#endif
