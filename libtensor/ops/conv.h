/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - a convolution whose inputs are packed */
#ifndef TPI_OPS_CONV_H
#define TPI_OPS_CONV_H

#include "image.h"

struct tpi_conv {
	struct tpi_image image;
	int64_t n_groups, n_in, n_out; /* channels of a group */
	int64_t n_taps, x_plane, y_plane;
	int64_t size; /* of an element */
	char *x, *w, *y, *bias;
};

/*
 * One channel in for each group: rows of windows instead of products, where
 * rows are of a size that may be kept as doubles.
 */
bool tpi_is_depthwise(const struct tpi_conv *v);
enum tp_status tpi_conv_depthwise(
    const struct tpi_call *c, const struct tpi_conv *v, struct tp_err *err);

#endif
