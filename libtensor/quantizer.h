/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantizer.h - the parameters bound to a tensor
 *
 * Counted and never changed, so handles share it. But for blocks, scale and
 * zero point have the shape of the tensor, with strides of 0 along axes where
 * they are repeated: whatever a view does to the tensor it does to them.
 */
#ifndef TPI_QUANTIZER_H
#define TPI_QUANTIZER_H

#include <stdatomic.h>

#include "tp/quant.h"

struct tp_quantizer {
	const struct tp_alloc *alloc;
	atomic_size_t count;
	enum tp_quant_scheme scheme;
	enum tp_quant_per per; /* BLOCK, or TENSOR for all others */
	unsigned axis;	       /* of blocks */
	uint64_t block;
	struct tp_tensor *scale, *zero_point; /* zero_point may be NULL */
};

/* NULL is passed through by both. */
struct tp_quantizer *tpi_quantizer_ref(struct tp_quantizer *q);
void tpi_quantizer_unref(struct tp_quantizer *q);

/*
 * Give t, which has none, a quantizer over tensors of its shape; handles on
 * them are made, the given ones stay the caller's.
 */
enum tp_status tpi_quantizer_bind(struct tp_tensor *t,
    enum tp_quant_scheme scheme, const struct tp_tensor *scale,
    const struct tp_tensor *zero_point, struct tp_err *err);

/* The integers row-major, each with an address: narrow ones as i8 or u8. */
enum tp_status tpi_addressable(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err);

#endif
