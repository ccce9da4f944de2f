/* SPDX-License-Identifier: Apache-2.0 */
/* autograd.h - what the files of autograd share */
#ifndef TPI_AUTOGRAD_H
#define TPI_AUTOGRAD_H

#include "fn.h"

/* Returns node; NULL is passed through. */
struct tpi_node *tpi_node_ref(struct tpi_node *node);

#endif
