/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/allocator.h - where the bytes of tensors come from
 *
 *  1. tp_allocate asks the allocator registered for the device; the handle that
 *     it fills gives the block back when it is cleared, on any thread.
 *  2. From the start the CPU has tp_system_allocator(). A program may make a
 *     caching or a pool allocator and register it, or one of its own.
 *  3. tp_allocator_free when every block of it has been given back.
 *
 * Which one:
 *
 *	system	 the C library's, with any alignment
 *	caching	 keeps freed blocks by their exact size, last freed first out:
 *		 for shapes that come again, as in a loop over layers
 *	pool	 cuts blocks from slabs and regions, joins neighbours: for
 *		 many sizes that do not repeat
 *
 * Both keep a cache a thread, without a lock on the way in or out; a block that
 * another thread frees is handed back to the cache it came from. All functions
 * here are thread-safe but tp_allocator_free and tp_allocator_set.
 */
#ifndef TP_ALLOCATOR_H
#define TP_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>

#include "tp/alloc.h"
#include "tp/data_ptr.h"
#include "tp/device.h"
#include "tp/error.h"
#include "tp/macros.h"

/* What an allocator is; embed it at the beginning of one of your own. */
struct tp_allocator {
	const char *name;
	/*
	 * At least nbytes (0: a block that may not be touched) at a multiple of
	 * alignment, a power of two. TP_ENOMEM leaves *out empty.
	 */
	enum tp_status (*allocate)(struct tp_allocator *self, size_t nbytes,
	    size_t alignment, struct tp_device device, struct tp_data_ptr *out,
	    struct tp_err *err);
	/* Give cached memory back to the system, or NULL. */
	void (*trim)(struct tp_allocator *self);
	void (*free)(struct tp_allocator *self);
};

/* The allocator of a device type, or NULL. */
TP_API struct tp_allocator *tp_allocator_get(enum tp_device_type type);

/*
 * Register (NULL: unregister, the CPU falls back to the system's); returns the
 * one before. Blocks already handed out go back where they came from.
 */
TP_API struct tp_allocator *tp_allocator_set(
    enum tp_device_type type, struct tp_allocator *a);

TP_API struct tp_allocator *tp_system_allocator(void);

struct tp_caching_options {
	size_t max_cached; /* bytes kept by a thread; 0: 256 MiB */
};
TP_API TP_NODISCARD enum tp_status tp_caching_allocator_new(
    const struct tp_caching_options *options, struct tp_allocator **out,
    struct tp_err *err);

struct tp_pool_options {
	size_t region_bytes; /* what is cut up, a power of two; 0: 4 MiB */
	size_t max_kept;     /* empty regions that a thread keeps; 0: 4 */
};
TP_API TP_NODISCARD enum tp_status tp_pool_allocator_new(
    const struct tp_pool_options *options, struct tp_allocator **out,
    struct tp_err *err);

/* Cached memory goes back to the system. */
TP_API void tp_allocator_trim(struct tp_allocator *a);
/* No block of it may be live. NULL is allowed. */
TP_API void tp_allocator_free(struct tp_allocator *a);

/*
 * A block on a device; file and line name the place for statistics and the leak
 * report. TP_EARG for an alignment that is no power of two, TP_EUNSUPPORTED
 * when the device has no allocator.
 */
#define tp_allocate(nbytes, alignment, device, out, err) \
	tp_allocate_at(                                  \
	    (nbytes), (alignment), (device), (out), __FILE__, __LINE__, (err))
TP_API TP_NODISCARD enum tp_status tp_allocate_at(size_t nbytes,
    size_t alignment, struct tp_device device, struct tp_data_ptr *out,
    const char *file, int line, struct tp_err *err);

#endif
