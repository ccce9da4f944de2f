/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/print.h - tensors as text, the way NumPy prints arrays
 *
 *	[[1.   2.5]		tensor([[1. , 2.5],
 *	 [3.   4. ]]		        [3. , 4. ]], dtype=float16)
 *
 * Floats get the fewest digits that read back as the same value of their dtype,
 * at most `precision` behind the point, and one width for all; very large, very
 * small or very different ones get exponents. Above `threshold` elements only
 * the first and last `edge_items` of each axis are shown. No locale matters.
 */
#ifndef TP_PRINT_H
#define TP_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "tp/copy.h"
#include "tp/error.h"
#include "tp/macros.h"
#include "tp/tensor.h"

/* Zero means the default given here; `{0}` prints as Python's str(array). */
struct tp_print_options {
	/* Before the opening parenthesis of a form with commas, as repr(array)
	 * has it: "array", "tensor". NULL prints the brackets only. */
	const char *name;
	/* With a name: the text behind "dtype=", NULL for none. */
	const char *dtype;
	/* With a name: "shape=…" when not all elements are shown. */
	bool shape;
	unsigned precision;  /* 8; at most 17 */
	unsigned threshold;  /* 1000 */
	unsigned edge_items; /* 3 */
	unsigned line_width; /* 75 */
};

/*
 * Takes the text piece by piece; a result other than 0 stops the printing,
 * which then returns TP_EOUTPUT.
 */
typedef int tp_write_fn(void *ctx, const char *s, size_t n);

/*
 * opts may be NULL. No newline follows the last line. TP_EUNSUPPORTED for
 * sparse tensors (tp_to_dense first) and for those inside tp_vmap.
 */
TP_API TP_NODISCARD enum tp_status tp_print(const struct tp_strided *s,
    const struct tp_print_options *opts, tp_write_fn *write, void *ctx,
    struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_tensor_print(const struct tp_tensor *t,
    const struct tp_print_options *opts, tp_write_fn *write, void *ctx,
    struct tp_err *err);

/*
 * The text into buf, cut to size - 1 bytes and ended with NUL; size 0 stores
 * nothing. Returns the length of the whole text, 0 where tp_tensor_print fails.
 */
TP_API size_t tp_tensor_text(const struct tp_tensor *t,
    const struct tp_print_options *opts, char *buf, size_t size);

#endif
