/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_read.c - every byte of every tensor, and every checksum
 *
 * A storage that one tensor fills is read once: its stream compares the
 * checksum. One that several tensors look into, or none, is compared on its
 * own first, and the reader knows that when its tensors are read; so time does
 * not grow with the square of what a file can say. A tensor in a storage that
 * is damaged has failed, wherever it lies there. Threads take a tensor each.
 */
#include "check.h"

#include <string.h>

#include "tp/alloc.h"
#include "tp/endian.h"
#include "tp/parallel.h"

#include "progress.h"

#define BUFFER ((size_t)256 << 10)

/* How the tensors use a storage. */
enum use { UNUSED, FILLED, SHARED, LEFT_OUT };

struct job {
	struct check_file *f;
	uint8_t *uses; /* enum use of each storage */
	size_t *storages;
	size_t n_storages;
};

/* Stands for an error that there is no memory to keep. */
static struct tp_err no_memory = {
    TP_ENOMEM, TP_NO_OFFSET, "out of memory for an error"};

static struct tp_err *
keep(const struct tp_err *err)
{
	struct tp_err *kept = tp_mem_array(NULL, 1, sizeof(*kept));

	if (!kept)
		return &no_memory;
	*kept = *err;
	return kept;
}

static void
drop(struct tp_err *err)
{
	if (err && err != &no_memory)
		tp_mem_free(NULL, err, 1, sizeof(*err));
}

/* Whole groups of 8 elements that fit into the buffer. */
static enum tp_status
scan_stream(struct tp_stream *s, const struct tp_entry *e, uint8_t *buf,
    struct tp_scan *scan, struct tp_err *err)
{
	unsigned bits = tp_dtype_bits(e->dtype);
	size_t swap = tp_dtype_swap_size(e->dtype);
	size_t most = bits ? BUFFER / bits / 8 * 8 * bits : BUFFER;
	uint64_t n_left = e->n_elems;
	enum tp_status rc = TP_OK;

	while (!rc && tp_stream_left(s)) {
		uint64_t left = tp_stream_left(s);
		size_t nbytes = left < most ? (size_t)left : most, n;

		rc = tp_stream_read(s, buf, nbytes, err);
		cli_progress_add(nbytes);
		if (rc || !bits)
			continue;
		n = nbytes == left ? (size_t)n_left : nbytes / bits * 8;
		n_left -= n;
		if (!tp_host_is_little() && swap > 1)
			tp_swap_bytes(buf, nbytes / swap, swap);
		rc = tp_scan_add(scan, e->dtype, buf, n, err);
	}
	return rc;
}

/* What is wrong with the storages of an entry, or NULL. */
static const struct tp_err *
damage_of(const struct check_file *f, const struct tp_entry *e)
{
	const struct tp_err *damage = f->storage_errs[e->storage];

	if (!damage && e->sparse)
		damage = f->storage_errs[e->sparse->indices];
	return damage;
}

/* A tp_part_fn: one tensor. */
static void
read_entry(void *ctx, size_t i)
{
	struct job *job = ctx;
	struct check_file *f = job->f;
	const struct tp_entry *e = tp_reader_entry(f->r, f->entries[i]);
	const struct tp_err *damage = damage_of(f, e);
	struct tp_err err = TP_ERR_INIT;
	struct tp_stream *s = NULL;
	enum tp_status rc;
	uint8_t *buf;

	if (damage) {
		f->results[i].err = keep(damage);
		return;
	}
	buf = tp_mem_array(NULL, BUFFER, 1);
	if (buf)
		rc = tp_stream_entry(f->r, f->entries[i], &s, &err);
	else
		rc = tp_fail(
		    &err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a buffer");
	if (!rc)
		rc = scan_stream(s, e, buf, &f->results[i].scan, &err);
	tp_stream_close(s);
	if (buf)
		tp_mem_free(NULL, buf, BUFFER, 1);
	if (rc)
		f->results[i].err = keep(&err);
}

/* A tp_part_fn: one storage that is compared on its own. */
static void
read_storage(void *ctx, size_t i)
{
	struct job *job = ctx;
	size_t storage = job->storages[i];
	struct tp_err err = TP_ERR_INIT;
	struct tp_stream *s = NULL;
	uint8_t *buf = tp_mem_array(NULL, BUFFER, 1);
	enum tp_status rc;

	if (buf)
		rc = tp_stream_storage(job->f->r, storage, &s, &err);
	else
		rc = tp_fail(
		    &err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a buffer");
	while (!rc && tp_stream_left(s)) {
		uint64_t left = tp_stream_left(s);
		size_t n = left < BUFFER ? (size_t)left : BUFFER;

		rc = tp_stream_read(s, buf, n, &err);
	}
	tp_stream_close(s);
	if (buf)
		tp_mem_free(NULL, buf, BUFFER, 1);
	if (rc)
		job->f->storage_errs[storage] = keep(&err);
}

static void
mark(struct job *job, const struct tp_entry *e, size_t storage, bool chosen)
{
	const struct tp_storage_info *info =
	    tp_reader_storage(job->f->r, storage);
	bool fills = !e->strides && !e->sparse && e->first == 0 &&
		     e->nbytes == info->nbytes;
	uint8_t *use = &job->uses[storage];

	if (!chosen)
		*use = *use == UNUSED ? LEFT_OUT : *use;
	else if (*use == UNUSED || *use == LEFT_OUT)
		*use = fills ? FILLED : SHARED;
	else
		*use = SHARED;
}

/* Uses, and the storages to be compared on their own. */
static void
sort_out(struct job *job)
{
	struct check_file *f = job->f;
	size_t at = 0;

	for (size_t i = 0; i < tp_reader_n_entries(f->r); i++) {
		const struct tp_entry *e = tp_reader_entry(f->r, i);
		bool chosen = at < f->n && f->entries[at] == i;

		at += chosen;
		mark(job, e, e->storage, chosen);
		if (e->sparse)
			mark(job, e, e->sparse->indices, chosen);
	}
	for (size_t i = 0; i < f->n_storages; i++) {
		const struct tp_storage_info *info = tp_reader_storage(f->r, i);
		enum use use = (enum use)job->uses[i];

		if (use == LEFT_OUT)
			continue;
		f->n_checksums += info->has_crc32c;
		f->n_unchecked += !info->has_crc32c && info->nbytes > 0;
		/*
		 * One without a checksum and tensors is read for being there.
		 */
		if (use == UNUSED || (use == SHARED && info->has_crc32c))
			job->storages[job->n_storages++] = i;
	}
}

static void
run(struct job *job)
{
	struct check_file *f = job->f;
	unsigned n_threads = (unsigned)cli_common.threads;
	uint64_t nbytes = 0;

	sort_out(job);
	for (size_t i = 0; i < f->n; i++)
		nbytes += tp_reader_entry(f->r, f->entries[i])->nbytes;
	cli_progress_begin("reading", nbytes);
	tp_parallel(n_threads, job->n_storages, read_storage, job);
	tp_parallel(n_threads, f->n, read_entry, job);
	cli_progress_end();
}

enum tp_status
check_read(struct check_file *f, struct tp_err *err)
{
	size_t n_storages = tp_reader_n_storages(f->r);
	struct job job = {.f = f};
	enum tp_status rc = TP_OK;

	f->n_storages = n_storages;
	f->results = tp_mem_array(NULL, f->n, sizeof(*f->results));
	f->storage_errs =
	    tp_mem_array(NULL, n_storages, sizeof(*f->storage_errs));
	job.uses = tp_mem_array(NULL, n_storages, 1);
	job.storages = tp_mem_array(NULL, n_storages, sizeof(*job.storages));
	if (f->results && f->storage_errs && job.uses && job.storages)
		run(&job);
	else
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET, "out of memory");
	if (job.uses)
		tp_mem_free(NULL, job.uses, n_storages, 1);
	if (job.storages)
		tp_mem_free(
		    NULL, job.storages, n_storages, sizeof(*job.storages));
	return rc;
}

void
check_release(struct check_file *f)
{
	for (size_t i = 0; f->results && i < f->n; i++)
		drop(f->results[i].err);
	for (size_t i = 0; f->storage_errs && i < f->n_storages; i++)
		drop(f->storage_errs[i]);
	if (f->results)
		tp_mem_free(NULL, f->results, f->n, sizeof(*f->results));
	if (f->storage_errs)
		tp_mem_free(NULL, f->storage_errs, f->n_storages,
		    sizeof(*f->storage_errs));
	if (f->entries)
		tp_mem_free(NULL, f->entries, f->n_all, sizeof(*f->entries));
	tp_close(f->r);
	*f = (struct check_file){.r = NULL};
}
