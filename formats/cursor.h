/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor.h - a walk through bytes that knows their end
 *
 * Every read says whether it may: false means the bytes end first, and the
 * cursor has not moved. pos counts from the beginning of the region; offset is
 * where the region lies in the file, for messages.
 */
#ifndef TPI_CURSOR_H
#define TPI_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/endian.h"

struct tpi_cursor {
	const uint8_t *data;
	size_t size, pos;
	uint64_t offset;
};

static inline struct tpi_cursor
tpi_cursor(const void *data, size_t size, uint64_t offset)
{
	return (struct tpi_cursor){data, size, 0, offset};
}

static inline size_t
tpi_cursor_left(const struct tpi_cursor *c)
{
	return c->size - c->pos;
}

/* The place in the file, for an error. */
static inline uint64_t
tpi_cursor_at(const struct tpi_cursor *c)
{
	return c->offset + c->pos;
}

/* Borrow the next n bytes. */
static inline bool
tpi_cursor_take(struct tpi_cursor *c, size_t n, const uint8_t **out)
{
	if (n > tpi_cursor_left(c))
		return false;
	*out = c->data + c->pos;
	c->pos += n;
	return true;
}

static inline bool
tpi_cursor_u8(struct tpi_cursor *c, uint8_t *v)
{
	const uint8_t *p;

	if (!tpi_cursor_take(c, 1, &p))
		return false;
	*v = *p;
	return true;
}

static inline bool
tpi_cursor_u32(struct tpi_cursor *c, uint32_t *v)
{
	const uint8_t *p;

	if (!tpi_cursor_take(c, 4, &p))
		return false;
	*v = tp_le32(p);
	return true;
}

static inline bool
tpi_cursor_u64(struct tpi_cursor *c, uint64_t *v)
{
	const uint8_t *p;

	if (!tpi_cursor_take(c, 8, &p))
		return false;
	*v = tp_le64(p);
	return true;
}

#endif
