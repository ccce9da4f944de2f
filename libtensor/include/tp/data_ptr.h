/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/data_ptr.h - who gives a block of bytes back, and how
 *
 * A tp_data_ptr owns bytes on a device. It is moved, never copied: after
 * tp_data_ptr_move the source is empty, so each block has one owner and is
 * given back once.
 *
 *	struct tp_data_ptr p = TP_DATA_PTR_NULL;
 *
 *	rc = tp_allocate(1000, 64, cpu, &p, &err);	// tp/allocator.h
 *	…
 *	tp_data_ptr_clear(&p);
 *
 * The deleter gets a context of its own, which need not be the data: a header
 * in front of it, a mapping, a counted object. Handles are not thread-safe;
 * that a block is cleared on another thread than it was made on is fine.
 */
#ifndef TP_DATA_PTR_H
#define TP_DATA_PTR_H

#include <stddef.h>

#include "tp/device.h"
#include "tp/macros.h"

typedef void tp_deleter_fn(void *ctx);

struct tp_data_ptr {
	void *data;
	void *ctx;
	tp_deleter_fn *deleter; /* NULL: nothing to give back */
	struct tp_device device;
};

#define TP_DATA_PTR_NULL                 \
	{                                \
		NULL, NULL, NULL,        \
		{                        \
			TP_DEVICE_CPU, 0 \
		}                        \
	}

/* *to is cleared first, then owns what *from owned; *from is empty. */
TP_API void tp_data_ptr_move(struct tp_data_ptr *to, struct tp_data_ptr *from);

/* Run the deleter, once; the handle is empty then. */
TP_API void tp_data_ptr_clear(struct tp_data_ptr *p);

/* The bytes become the caller's and the deleter is forgotten. */
TP_API void *tp_data_ptr_release(struct tp_data_ptr *p);

#endif
