/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.c - all bytes of a storage at once
 *
 * Plain bytes are mapped where they lie. Others are decoded into a nameless
 * file that is mapped then, so that memory stays with the page cache and not
 * with the process, however large the storage is.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tp/checked.h"

#include "crc32c.h"
#include "spool.h"
#include "stream_entry.h"

#include "banned.h"

static enum tp_status
no_address_space(uint64_t n, struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "no address space for %" PRIu64 " bytes", n);
}

/* Map n > 0 bytes at offset of a file, which need not begin a page. */
static enum tp_status
map_bytes(struct tpi_window *w, int fd, uint64_t offset, uint64_t n,
    struct tp_err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), lead = offset % page;
	uint64_t span;
	void *map;

	/* Pointers of one object differ by no more. */
	if (tp_add_u64(n, lead, &span) || span > PTRDIFF_MAX ||
	    tp_u64_to_size(span, &w->map_nbytes))
		return no_address_space(n, err);
	map = mmap(NULL, w->map_nbytes, PROT_READ, MAP_PRIVATE, fd,
	    (off_t)(offset - lead));
	if (map == MAP_FAILED && errno == ENOMEM)
		return no_address_space(n, err);
	if (map == MAP_FAILED)
		return tp_fail_errno(
		    err, TP_EIO, errno, "map of %" PRIu64 " bytes", n);
	w->map = map;
	w->data = (const uint8_t *)map + lead;
	w->nbytes = (size_t)n;
	return TP_OK;
}

/* Decode through a buffer into a nameless file. */
static enum tp_status
spool_storage(struct tp_reader *r, size_t storage, struct tp_str what, int fd,
    struct tp_err *err)
{
	uint8_t *buf = tp_mem_array(r->alloc, TPI_CHUNK, 1);
	struct tp_stream *s = NULL;
	enum tp_status rc;

	if (!buf)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a buffer");
	rc = tpi_stream_storage_of(r, storage, what, &s, err);
	while (!rc && tp_stream_left(s) > 0) {
		size_t n = tp_stream_left(s) < TPI_CHUNK
			       ? (size_t)tp_stream_left(s)
			       : TPI_CHUNK;

		rc = tp_stream_read(s, buf, n, err);
		if (!rc)
			rc = tpi_spool_write(fd, buf, n, err);
	}
	tp_stream_close(s);
	tp_mem_free(r->alloc, buf, TPI_CHUNK, 1);
	return rc;
}

static enum tp_status
check_mapped(const struct tp_reader *r, size_t storage, struct tp_str what,
    const struct tpi_window *w, struct tp_err *err)
{
	const struct tp_storage_info *info = &r->storages[storage];
	bool holds = false;
	enum tp_status rc = tpi_storage_holds(r, storage, what, &holds, err);

	if (rc || holds)
		return rc;
	return tpi_sum_compare(r->sums ? &r->sums[storage] : NULL,
	    tpi_crc32c(0, w->data, w->nbytes), info->crc32c, info->offset,
	    TP_BRIEF(what), err);
}

enum tp_status
tpi_window_open(struct tp_reader *r, size_t storage, struct tp_str what,
    struct tpi_window *w, struct tp_err *err)
{
	const struct tp_storage_info *info = &r->storages[storage];
	enum tp_status rc;
	int fd;

	*w = (struct tpi_window){.alloc = r->alloc};
	if (info->encoding == TP_ENC_RAW) {
		rc = map_bytes(w, r->sources[info->file]->fd, info->offset,
		    info->nbytes, err);
		if (!rc)
			rc = check_mapped(r, storage, what, w, err);
		if (rc)
			tpi_window_close(w);
		return rc;
	}
	fd = tpi_spool_open(err);
	if (fd < 0)
		return TP_EIO;
	rc = spool_storage(r, storage, what, fd, err);
	if (!rc)
		rc = map_bytes(w, fd, 0, info->nbytes, err);
	close(fd);
	return rc;
}

void
tpi_window_close(struct tpi_window *w)
{
	if (w->map)
		(void)munmap(w->map, w->map_nbytes);
	*w = (struct tpi_window){.alloc = w->alloc};
}

void
tpi_window_drop(const struct tpi_window *w)
{
	if (w->map)
		(void)posix_madvise(w->map, w->map_nbytes, POSIX_MADV_DONTNEED);
}
