/* SPDX-License-Identifier: Apache-2.0 */
/* hostile_text.h - a file of at most 64 KB that grows, for hostile_KIND.c */
#ifndef HOSTILE_TEXT_H
#define HOSTILE_TEXT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

struct text {
	size_t n;
	uint8_t b[HOSTILE_BYTES];
};

static inline bool
has_room(const struct text *t, size_t n)
{
	return n <= sizeof(t->b) - t->n;
}

static inline void
put(struct text *t, const void *p, size_t n)
{
	if (!has_room(t, n))
		abort();
	if (n)
		memcpy(t->b + t->n, p, n);
	t->n += n;
}

static inline void
put_zeros(struct text *t, size_t n)
{
	if (!has_room(t, n))
		abort();
	memset(t->b + t->n, 0, n);
	t->n += n;
}

void hostile_onnx(hostile_fn *fn);
void hostile_native(hostile_fn *fn);
/* framed: as the header of a safetensors file. */
void hostile_json(hostile_fn *fn, bool framed);

#endif
