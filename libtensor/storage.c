/* SPDX-License-Identifier: Apache-2.0 */
/* storage.c - counted bytes */
#include "storage.h"

#include <stdatomic.h>
#include <string.h>

#include "tp/allocator.h"
#include "tp/checked.h"
#include "tp/data_ptr.h"

#include "banned.h"

#define DATA_ALIGN 64

struct tp_storage {
	atomic_size_t count;
	atomic_uint_least64_t version;
	struct tp_device device;
	const struct tp_alloc *alloc;
	enum tp_storage_kind kind;
	bool writable, resizable;
	void *data;
	size_t nbytes;
	size_t cap; /* owned: bytes at data, of which views may use all */
	struct tp_data_ptr bytes; /* owned, from the device's allocator */
	void *block;		  /* owned, from alloc: what data lies inside */
	size_t block_nbytes;
	tp_release_fn *release;
	void *release_ctx;
};

static enum tp_status
new_handle(
    const struct tp_alloc *alloc, struct tp_storage **out, struct tp_err *err)
{
	struct tp_storage *s = tp_mem_array(alloc, 1, sizeof(*s));

	*out = s;
	if (!s)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a storage");
	atomic_init(&s->count, 1);
	atomic_init(&s->version, 0);
	s->alloc = alloc;
	return TP_OK;
}

/* From an allocator of the caller's, which knows no alignment. */
static enum tp_status
take_block(struct tp_storage *s, size_t nbytes, struct tp_err *err)
{
	size_t total;

	if (!tp_add_size(nbytes, DATA_ALIGN, &total))
		s->block = s->alloc->alloc(s->alloc->ctx, total);
	if (!s->block)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu bytes", nbytes);
	s->block_nbytes = total;
	s->data = (char *)s->block +
		  (DATA_ALIGN - (uintptr_t)s->block % DATA_ALIGN) % DATA_ALIGN;
	return TP_OK;
}

/* From the allocator that is registered for the device. */
static enum tp_status
take_bytes(struct tp_storage *s, size_t nbytes, struct tp_err *err)
{
	enum tp_status rc =
	    tp_allocate(nbytes, DATA_ALIGN, s->device, &s->bytes, err);

	if (!rc)
		s->data = s->bytes.data;
	return rc;
}

static enum tp_status
take_memory(struct tp_storage *s, size_t nbytes, struct tp_err *err)
{
	enum tp_status rc =
	    s->alloc ? take_block(s, nbytes, err) : take_bytes(s, nbytes, err);

	if (!rc)
		s->nbytes = s->cap = nbytes;
	return rc;
}

static enum tp_status
make_storage(const struct tp_alloc *alloc, struct tp_device device,
    size_t nbytes, struct tp_storage **out, struct tp_err *err)
{
	struct tp_storage *s = NULL;
	enum tp_status rc;

	*out = NULL;
	rc = new_handle(alloc, &s, err);
	if (rc)
		return rc;
	s->device = device;
	rc = take_memory(s, nbytes, err);
	if (rc) {
		tp_mem_free(alloc, s, 1, sizeof(*s));
		return rc;
	}
	s->kind = TP_STORAGE_OWNED;
	s->writable = true;
	*out = s;
	return TP_OK;
}

static enum tp_status
make_zeroed(const struct tp_alloc *alloc, struct tp_device device,
    size_t nbytes, struct tp_storage **out, struct tp_err *err)
{
	enum tp_status rc = make_storage(alloc, device, nbytes, out, err);

	if (!rc)
		memset((*out)->data, 0, nbytes);
	return rc;
}

enum tp_status
tpi_storage_new_like(const struct tp_storage *like, size_t nbytes,
    struct tp_storage **out, struct tp_err *err)
{
	return make_storage(like->alloc, like->device, nbytes, out, err);
}

enum tp_status
tpi_storage_new_raw(const struct tp_alloc *alloc, size_t nbytes,
    struct tp_storage **out, struct tp_err *err)
{
	const struct tp_device cpu = {TP_DEVICE_CPU, 0};

	return make_storage(alloc, cpu, nbytes, out, err);
}

enum tp_status
tp_storage_new(const struct tp_alloc *alloc, size_t nbytes,
    struct tp_storage **out, struct tp_err *err)
{
	const struct tp_device cpu = {TP_DEVICE_CPU, 0};

	return make_zeroed(alloc, cpu, nbytes, out, err);
}

enum tp_status
tp_storage_new_on(struct tp_device device, size_t nbytes,
    struct tp_storage **out, struct tp_err *err)
{
	return make_zeroed(NULL, device, nbytes, out, err);
}

enum tp_status
tp_storage_wrap(const struct tp_alloc *alloc, enum tp_storage_kind kind,
    void *data, size_t nbytes, bool writable, tp_release_fn *release, void *ctx,
    struct tp_storage **out, struct tp_err *err)
{
	struct tp_storage *s = NULL;
	enum tp_status rc = new_handle(alloc, &s, err);

	*out = NULL;
	if (rc)
		return rc;
	s->kind = kind;
	s->writable = writable && kind != TP_STORAGE_MAPPED;
	s->data = data;
	s->nbytes = nbytes;
	s->release = release;
	s->release_ctx = ctx;
	*out = s;
	return TP_OK;
}

struct tp_storage *
tp_storage_ref(struct tp_storage *s)
{
	if (s)
		atomic_fetch_add_explicit(&s->count, 1, memory_order_relaxed);
	return s;
}

void
tp_storage_unref(struct tp_storage *s)
{
	if (!s ||
	    atomic_fetch_sub_explicit(&s->count, 1, memory_order_acq_rel) != 1)
		return;
	if (s->release)
		s->release(s->release_ctx, s->data, s->nbytes);
	tp_data_ptr_clear(&s->bytes);
	tp_mem_free(s->alloc, s->block, s->block_nbytes, 1);
	tp_mem_free(s->alloc, s, 1, sizeof(*s));
}

enum tp_status
tp_storage_set_resizable(struct tp_storage *s, bool on, struct tp_err *err)
{
	if (on && s->kind != TP_STORAGE_OWNED)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "memory of someone else cannot be made resizable");
	s->resizable = on;
	return TP_OK;
}

bool
tp_storage_is_resizable(const struct tp_storage *s)
{
	return s->resizable;
}

/* Move all that there is, views of what was cut off included, to more room. */
static enum tp_status
grow(struct tp_storage *s, size_t nbytes, struct tp_err *err)
{
	struct tp_storage *room = NULL;
	enum tp_status rc = tpi_storage_new_like(s, nbytes, &room, err);
	struct tp_data_ptr bytes;

	if (rc)
		return rc;
	if (s->cap)
		memcpy(room->data, s->data, s->cap);
	memset((char *)room->data + s->cap, 0, nbytes - s->cap);

	/* They change memory, and the old one goes with the other handle. */
	bytes = s->bytes;
	s->bytes = room->bytes;
	room->bytes = bytes;
	tp_mem_free(s->alloc, s->block, s->block_nbytes, 1);
	s->block = room->block;
	s->block_nbytes = room->block_nbytes;
	room->block = NULL;
	s->data = room->data;
	s->cap = nbytes;
	tp_storage_unref(room);
	return TP_OK;
}

enum tp_status
tp_storage_resize(struct tp_storage *s, size_t nbytes, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	if (!s->resizable)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "the storage has a fixed size, %zu bytes", s->nbytes);
	if (nbytes > s->cap)
		rc = grow(s, nbytes, err);
	else if (nbytes > s->nbytes)
		memset((char *)s->data + s->nbytes, 0, nbytes - s->nbytes);
	if (!rc)
		s->nbytes = nbytes;
	return rc;
}

const void *
tp_storage_data(const struct tp_storage *s)
{
	return s->data;
}

void *
tp_storage_data_mut(struct tp_storage *s)
{
	return s->writable ? s->data : NULL;
}

size_t
tp_storage_nbytes(const struct tp_storage *s)
{
	return s->nbytes;
}

enum tp_storage_kind
tp_storage_kind(const struct tp_storage *s)
{
	return s->kind;
}

const struct tp_alloc *
tpi_storage_alloc(const struct tp_storage *s)
{
	return s->alloc;
}

char *
tpi_storage_bytes(const struct tp_storage *s)
{
	return s->data;
}

struct tp_device
tpi_storage_device(const struct tp_storage *s)
{
	return s->device;
}

uint64_t
tpi_storage_version(const struct tp_storage *s)
{
	return atomic_load_explicit(&s->version, memory_order_relaxed);
}

void
tpi_storage_bump_version(struct tp_storage *s)
{
	atomic_fetch_add_explicit(&s->version, 1, memory_order_relaxed);
}
