/* SPDX-License-Identifier: Apache-2.0 */
/* allocator.c - the registry of devices, and the system's allocator */
#include "tp/allocator.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "tp/checked.h"

#include "mem_stats.h"

#include "banned.h"

static enum tp_status
system_allocate(struct tp_allocator *self, size_t nbytes, size_t alignment,
    struct tp_device device, struct tp_data_ptr *out, struct tp_err *err)
{
	void *data = NULL;

	(void)self;
	if (alignment < sizeof(void *))
		alignment = sizeof(void *);
	/* No object is larger; a size that wrapped is told so at once. */
	if (nbytes > PTRDIFF_MAX ||
	    posix_memalign(&data, alignment, nbytes ? nbytes : 1))
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu bytes", nbytes);
	*out = (struct tp_data_ptr){data, data, free, device};
	return TP_OK;
}

static void
system_free(struct tp_allocator *self)
{
	(void)self;
}

static struct tp_allocator system_allocator = {
    .name = "system",
    .allocate = system_allocate,
    .free = system_free,
};

/* host-linear lies in ordinary memory too. */
static _Atomic(struct tp_allocator *) registry[TP_DEVICE_TYPES] = {
    [TP_DEVICE_CPU] = &system_allocator,
    [TP_DEVICE_HOST_LINEAR] = &system_allocator,
};

struct tp_allocator *
tp_system_allocator(void)
{
	return &system_allocator;
}

struct tp_allocator *
tp_allocator_get(enum tp_device_type type)
{
	return (unsigned)type < TP_DEVICE_TYPES
		   ? atomic_load_explicit(&registry[type], memory_order_acquire)
		   : NULL;
}

struct tp_allocator *
tp_allocator_set(enum tp_device_type type, struct tp_allocator *a)
{
	if ((unsigned)type >= TP_DEVICE_TYPES)
		return NULL;
	if (!a && type <= TP_DEVICE_HOST_LINEAR)
		a = &system_allocator;
	return atomic_exchange(&registry[type], a);
}

void
tp_allocator_trim(struct tp_allocator *a)
{
	if (a->trim)
		a->trim(a);
}

void
tp_allocator_free(struct tp_allocator *a)
{
	if (a)
		a->free(a);
}

enum tp_status
tp_allocate_at(size_t nbytes, size_t alignment, struct tp_device device,
    struct tp_data_ptr *out, const char *file, int line, struct tp_err *err)
{
	const struct tp_data_ptr none = TP_DATA_PTR_NULL;
	struct tp_allocator *a = tp_allocator_get(device.type);
	enum tp_status rc;

	*out = none;
	if (alignment == 0 || (alignment & (alignment - 1)))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "alignment %zu is no power of two", alignment);
	if (!a)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "no allocator for device %s", tp_device_name(device.type));
	rc = a->allocate(a, nbytes, alignment, device, out, err);
	if (!rc && tp_mem_stats_enabled())
		rc = tpi_mem_note(nbytes, out, file, line, err);
	return rc;
}
