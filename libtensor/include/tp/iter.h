/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/iter.h - the same loop over several tensors
 *
 *	struct tp_iter it;
 *
 *	rc = tp_iter_init(&it, &sum, 1, terms, 2, 0, &err);
 *	if (!rc)
 *		tp_iter_run(&it, add_f32, NULL);
 *
 * The operands are broadcast to one shape. Axes that all operands walk like one
 * are merged and the rest sorted so that the innermost has the smallest steps;
 * the loop function gets an address and a step in bytes for each operand, and
 * computes no index. A contiguous operand arrives as one call with its whole
 * length. Strides may be negative or zero; without elements nothing is called.
 *
 * An operand that is written must have each element once: no expanded axis.
 * Elements narrower than a byte have no address: TP_EUNSUPPORTED.
 */
#ifndef TP_ITER_H
#define TP_ITER_H

#include <stddef.h>
#include <stdint.h>

#include "tp/error.h"
#include "tp/macros.h"
#include "tp/shape.h"
#include "tp/tensor.h"

#define TP_ITER_OPERANDS 8

enum tp_iter_flags {
	/*
	 * Visit in row-major order of the common shape: for sums, whose result
	 * depends on it. Axes are merged still.
	 */
	TP_ITER_IN_ORDER = 1,
};

struct tp_iter {
	unsigned n_operands;
	unsigned rank; /* of merged axes, outermost first; at least 1 */
	int64_t sizes[TP_MAX_RANK];
	int64_t steps[TP_ITER_OPERANDS][TP_MAX_RANK]; /* bytes */
	char *data[TP_ITER_OPERANDS];
	uint64_t n_elems;
};

/*
 * tensors[0 … n_written-1] are written, the others read; those that are written
 * must have the common shape already and be writable (TP_EARG otherwise). The
 * iterator borrows the tensors.
 */
TP_API TP_NODISCARD enum tp_status tp_iter_init(struct tp_iter *it,
    struct tp_tensor *const *written, unsigned n_written,
    const struct tp_tensor *const *read, unsigned n_read, unsigned flags,
    struct tp_err *err);

/* n elements: operand k's i-th lies at data[k] + i * steps[k]. */
typedef void tp_loop_fn(
    void *ctx, char *const *data, const int64_t *steps, size_t n);
TP_API void tp_iter_run(const struct tp_iter *it, tp_loop_fn *fn, void *ctx);

/*
 * The two innermost axes in one call: n_rows rows of n elements, row r of
 * operand k at data[k] + r * row_steps[k].
 */
typedef void tp_loop2_fn(void *ctx, char *const *data, const int64_t *steps,
    size_t n, const int64_t *row_steps, size_t n_rows);
TP_API void tp_iter_run2(const struct tp_iter *it, tp_loop2_fn *fn, void *ctx);

/*
 * Cut along the outermost axis into parts for tp_parallel: *part is what is
 * part k of n. Every element is in just one part; a part may have none.
 */
TP_API void tp_iter_part(
    const struct tp_iter *it, size_t k, size_t n, struct tp_iter *part);

#endif
