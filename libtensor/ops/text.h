/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - what operators on strings share */
#ifndef TPI_OPS_TEXT_H
#define TPI_OPS_TEXT_H

#include <stddef.h>

#include "../op.h"

/* Texts are made here, then kept by the pool. Begins as zeros. */
struct tpi_scratch {
	char *s;
	size_t capacity;
};

/* Room for nbytes; what was there is gone. */
enum tp_status tpi_scratch_room(const struct tpi_call *c, struct tpi_scratch *b,
    size_t nbytes, struct tp_err *err);
void tpi_scratch_release(const struct tpi_call *c, struct tpi_scratch *b);

/* Input k is strings, and there is a pool of them. */
enum tp_status tpi_check_strings(
    const struct tpi_call *c, size_t k, struct tp_err *err);

#endif
