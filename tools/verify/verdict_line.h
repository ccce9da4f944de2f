/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_line.h - the reason of a verdict: one line that grows */
#ifndef VERIFY_VERDICT_LINE_H
#define VERIFY_VERDICT_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "tp/compare.h"
#include "tp/macros.h"

/* What does not fit is cut. */
struct verdict_line {
	char text[1200];
	size_t n;
};

void verdict_line_put(struct verdict_line *l, const char *fmt, ...)
    TP_PRINTF(2, 3);

/* Back to its first n characters. */
void verdict_line_cut(struct verdict_line *l, size_t n);

/* The tensors that figures are of. */
struct verdict_elements {
	uint64_t n_elems;
	unsigned rank;
	const int64_t *shape;
	enum tp_dtype dtype[2]; /* as which they were compared */
};

/*
 * "3 of 60 elements beyond the tolerance, first at [0, 2]: 1 and 1.5, …": where
 * the elements are that do not pass, and how far they are apart.
 */
void verdict_line_over(struct verdict_line *l,
    const struct verdict_elements *what, const struct tp_compare *c,
    const struct tp_compare_rule *rule);

#endif
