/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.h - what windows see of an image, as the right side of a product
 *
 * A column is an output, a row (depth) a channel and a tap of the kernel, taps
 * fastest. The matrix is never made: blocks of it are packed straight from the
 * image.
 */
#ifndef TPI_OPS_IMAGE_H
#define TPI_OPS_IMAGE_H

#include "gemm.h"
#include "spatial.h"

struct tpi_image {
	/*
	 * The channels of one product begin at g->b.data, packed. Transposed,
	 * input i gives to outputs i * stride + k * dilation - pad_begin.
	 */
	struct tpi_windows w;
	bool is_transposed;
};

/* With the image in g->b_ctx. */
tpi_pack_fn tpi_image_pack;

#endif
