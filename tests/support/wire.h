/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - protobuf messages put together by hand, valid or not
 *
 *	struct wire t = {0}, g = {0};
 *
 *	wire_str(&t, 8, "w");		field 8, a string
 *	wire_int(&t, 2, 1);		field 2, a varint
 *	wire_msg(&g, 5, &t);		field 5, that message
 */
#ifndef TEST_WIRE_H
#define TEST_WIRE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct wire {
	uint8_t b[16384];
	size_t n;
};

static inline void
wire_raw(struct wire *w, const void *p, size_t n)
{
	if (n > sizeof(w->b) - w->n)
		abort();
	if (n)
		memcpy(w->b + w->n, p, n);
	w->n += n;
}

static inline void
wire_varint(struct wire *w, uint64_t v)
{
	uint8_t byte;

	for (; v > 127; v >>= 7) {
		byte = (uint8_t)(v | 128);
		wire_raw(w, &byte, 1);
	}
	byte = (uint8_t)v;
	wire_raw(w, &byte, 1);
}

static inline void
wire_tag(struct wire *w, unsigned number, unsigned type)
{
	wire_varint(w, (uint64_t)number << 3 | type);
}

static inline void
wire_int(struct wire *w, unsigned number, uint64_t v)
{
	wire_tag(w, number, 0);
	wire_varint(w, v);
}

static inline void
wire_bytes(struct wire *w, unsigned number, const void *p, size_t n)
{
	wire_tag(w, number, 2);
	wire_varint(w, n);
	wire_raw(w, p, n);
}

static inline void
wire_str(struct wire *w, unsigned number, const char *s)
{
	wire_bytes(w, number, s, strlen(s));
}

static inline void
wire_msg(struct wire *w, unsigned number, const struct wire *m)
{
	wire_bytes(w, number, m->b, m->n);
}

static inline void
wire_fixed32(struct wire *w, unsigned number, uint32_t v)
{
	uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
	    (uint8_t)(v >> 24)};

	wire_tag(w, number, 5);
	wire_raw(w, b, 4);
}

#endif
