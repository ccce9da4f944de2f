/* SPDX-License-Identifier: Apache-2.0 */
/*
 * indices.h - lists of integers of any length, from an attribute or an input
 *
 * tpi_int_list is for lists that are no longer than the rank of a tensor.
 */
#ifndef TPI_OPS_INDICES_H
#define TPI_OPS_INDICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../op.h"

/* Zero-initialized, or taken and to be released. */
struct tpi_indices {
	int64_t *at;
	size_t n;    /* may be made smaller */
	size_t room; /* allocated */
	const struct tp_alloc *alloc;
};

/* A list of n numbers, still to be written. */
enum tp_status tpi_indices_make(const struct tpi_call *c,
    struct tpi_indices *list, size_t n, struct tp_err *err);

/*
 * The numbers of attribute `name` (which may be NULL) or else of input k, in
 * row-major order. Neither: n is 0 and *given, which may be NULL, false.
 */
enum tp_status tpi_indices_take(const struct tpi_call *c, const char *name,
    size_t k, struct tpi_indices *list, bool *given, struct tp_err *err);
/* From input k, which may be floats; what they have behind the point goes. */
enum tp_status tpi_indices_from_any(const struct tpi_call *c, size_t k,
    struct tpi_indices *list, struct tp_err *err);
void tpi_indices_release(struct tpi_indices *list);

/* Negative ones count from the end; then all must be within 0 … bound-1. */
enum tp_status tpi_indices_wrap(const struct tpi_call *c,
    struct tpi_indices *list, int64_t bound, struct tp_err *err);

/* The one integer of input k, or `otherwise` if that is not given. */
enum tp_status tpi_int_input(const struct tpi_call *c, size_t k,
    int64_t otherwise, int64_t *out, struct tp_err *err);

#endif
