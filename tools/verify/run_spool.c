/* SPDX-License-Identifier: Apache-2.0 */
/* run_spool.c - values of a run, kept in a file instead of memory */
#define _GNU_SOURCE 1
#include "run_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tp/copy.h"
#include "tp/endian.h"
#include "tp/format.h"
#include "tp/layout.h"
#include "tp/map.h"
#include "tp/shape.h"

struct spooled {
	char *name;
	size_t name_len;
	enum tp_dtype dtype;
	unsigned rank;
	int64_t *sizes;
	uint64_t offset, nbytes;
	size_t n_same;	/* more that asked for this name */
	size_t n_taken; /* by run_spool_next */
};

struct run_spool {
	FILE *f;
	uint64_t size;
	struct spooled *items;
	size_t n, cap;
	struct tp_map names;
};

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for kept values");
}

static enum tp_status
failed(struct tp_err *err)
{
	return tp_fail_errno(err, TP_EOUTPUT, errno, "the file of kept values");
}

/* A file whose name is gone at once. */
static int
open_and_unlink(const char *folder)
{
	char path[4096];
	int fd;

	if (snprintf(path, sizeof(path), "%s/tp-verify.XXXXXX", folder) >=
	    (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkstemp(path);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* In TMPDIR, and without a name: a sandbox allows no other there. */
static FILE *
open_unnamed(void)
{
	const char *folder = getenv("TMPDIR");
	FILE *f;
	int fd = -1;

	if (!folder || !*folder)
		folder = "/tmp";
#ifdef O_TMPFILE
	fd = open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
#endif
	if (fd < 0)
		fd = open_and_unlink(folder);
	if (fd < 0)
		return NULL;
	f = fdopen(fd, "w+b");
	if (!f)
		close(fd);
	return f;
}

enum tp_status
run_spool_new(struct run_spool **out, struct tp_err *err)
{
	struct run_spool *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return no_memory(err);
	tp_map_init(&s->names, NULL);
	s->f = open_unnamed();
	if (!s->f) {
		run_spool_free(s);
		return failed(err);
	}
	*out = s;
	return TP_OK;
}

void
run_spool_free(struct run_spool *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		free(s->items[i].name);
		free(s->items[i].sizes);
	}
	free(s->items);
	tp_map_release(&s->names);
	if (s->f)
		fclose(s->f);
	free(s);
}

/* The name, or it with the first "#2", "#3", … that is free. */
static char *
free_name(struct run_spool *s, struct tp_str name, size_t *len)
{
	char *text = malloc(name.len + 32);
	size_t first, taken;

	if (!text)
		return NULL;
	memcpy(text, name.s, name.len);
	text[name.len] = '\0';
	*len = name.len;
	if (!tp_map_find(&s->names, name, &first))
		return text;
	do
		*len = name.len + (size_t)snprintf(text + name.len, 32, "#%zu",
				      ++s->items[first].n_same + 1);
	while (tp_map_find(&s->names, (struct tp_str){text, *len}, &taken));
	return text;
}

/* The place for a tensor; its bytes follow. */
static enum tp_status
begin(struct run_spool *s, struct tp_str name, enum tp_dtype dtype,
    const struct tp_tensor *t, struct spooled **out, struct tp_err *err)
{
	struct spooled item = {
	    .dtype = dtype, .rank = tp_tensor_rank(t), .offset = s->size};
	void *p;

	if (s->n == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 64;

		p = realloc(s->items, cap * sizeof(*s->items));
		if (!p)
			return no_memory(err);
		s->items = p;
		s->cap = cap;
	}
	item.sizes = calloc(item.rank + 1, sizeof(*item.sizes));
	item.name = item.sizes ? free_name(s, name, &item.name_len) : NULL;
	if (!item.name ||
	    tp_map_add(&s->names, (struct tp_str){item.name, item.name_len},
		s->n, NULL, NULL)) {
		free(item.sizes);
		free(item.name);
		return no_memory(err);
	}
	for (unsigned d = 0; d < item.rank; d++)
		item.sizes[d] = tp_tensor_sizes(t)[d];
	s->items[s->n] = item;
	*out = &s->items[s->n++];
	return TP_OK;
}

static enum tp_status
put(struct run_spool *s, struct spooled *item, const void *data, size_t n,
    struct tp_err *err)
{
	if (n && fwrite(data, 1, n, s->f) != n)
		return failed(err);
	s->size += n;
	item->nbytes += n;
	return TP_OK;
}

static enum tp_status
add_strings(struct run_spool *s, struct tp_str name, const struct tp_tensor *t,
    const struct tp_strings *strings, struct tp_err *err)
{
	const uint64_t *numbers = tp_tensor_data(t);
	struct spooled *item = NULL;
	enum tp_status rc;
	uint8_t length[8];

	rc = begin(s, name, TP_DTYPE_STRING, t, &item, err);
	for (uint64_t i = 0; i < tp_tensor_numel(t) && !rc; i++) {
		struct tp_str text = tp_strings_at(strings, numbers[i]);

		tp_put_le64(length, text.len);
		rc = put(s, item, length, sizeof(length), err);
		if (!rc)
			rc = put(s, item, text.s, text.len, err);
	}
	return rc;
}

/* Files are little-endian. */
static enum tp_status
add_numbers(struct run_spool *s, struct tp_str name, const struct tp_tensor *t,
    struct tp_err *err)
{
	const enum tp_dtype dtype = tp_tensor_dtype(t);
	const size_t swap = tp_dtype_swap_size(dtype);
	struct tp_tensor *copy = NULL;
	struct spooled *item = NULL;
	enum tp_status rc;
	uint64_t nbytes;

	rc = tp_dtype_nbytes(dtype, tp_tensor_numel(t), &nbytes, err);
	if (!rc)
		rc = begin(s, name, dtype, t, &item, err);
	if (rc || nbytes == 0)
		return rc;
	if (!tp_host_is_little()) {
		rc = tp_tensor_clone(t, TP_LAYOUT_CONTIGUOUS, &copy, err);
		if (rc)
			return rc;
		tp_swap_bytes(
		    tp_tensor_data_mut(copy), (size_t)nbytes / swap, swap);
		t = copy;
	}
	rc = put(s, item, tp_tensor_data(t), (size_t)nbytes, err);
	tp_tensor_free(copy);
	return rc;
}

static enum tp_status
add_list(struct run_spool *s, struct tp_str name, const struct tp_list *list,
    const struct tp_strings *strings, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	char *text = malloc(name.len + 32);

	if (!text)
		return no_memory(err);
	memcpy(text, name.s, name.len);
	for (size_t i = 0; i < tp_list_count(list) && !rc; i++) {
		int n = snprintf(text + name.len, 32, "[%zu]", i);

		rc = run_spool_add(s,
		    (struct tp_str){text, name.len + (size_t)n},
		    tp_list_at(list, i), strings, err);
	}
	free(text);
	return rc;
}

enum tp_status
run_spool_add(struct run_spool *s, struct tp_str name, const struct tp_value *v,
    const struct tp_strings *strings, struct tp_err *err)
{
	struct tp_tensor *packed = NULL;
	enum tp_status rc;

	if (v->kind == TP_VALUE_NONE)
		return TP_OK;
	if (!tp_value_has_tensor(v))
		return add_list(s, name, v->list, strings, err);
	rc = tp_tensor_contiguous(v->tensor, &packed, err);
	if (!rc)
		rc = v->kind == TP_VALUE_STRINGS
			 ? add_strings(s, name, packed, strings, err)
			 : add_numbers(s, name, packed, err);
	tp_tensor_free(packed);
	return rc;
}

static enum tp_status
read_back(struct run_spool *s, const struct spooled *item, struct tp_value *out,
    struct tp_err *err)
{
	const size_t swap = tp_dtype_swap_size(item->dtype);
	const size_t n = (size_t)item->nbytes;
	struct tp_tensor *t = NULL;
	enum tp_status rc;
	void *data;

	rc = tp_tensor_empty(
	    NULL, item->dtype, item->sizes, item->rank, &t, err);
	if (rc)
		return rc;
	data = tp_tensor_data_mut(t);
	if (n && (fflush(s->f) || pread(fileno(s->f), data, n,
				      (off_t)item->offset) != (ssize_t)n)) {
		tp_tensor_free(t);
		return failed(err);
	}
	if (n && !tp_host_is_little())
		tp_swap_bytes(data, n / swap, swap);
	*out = tp_value_of(t);
	return TP_OK;
}

enum tp_status
run_spool_next(struct run_spool *s, struct tp_str name, struct tp_str *kept,
    struct tp_value *out, struct tp_err *err)
{
	struct spooled *item;
	size_t at, n;
	char *text;

	*out = (struct tp_value){.kind = TP_VALUE_NONE};
	if (!tp_map_find(&s->names, name, &at))
		return TP_OK;
	n = ++s->items[at].n_taken;
	if (n > 1) {
		text = malloc(name.len + 32);
		if (!text)
			return no_memory(err);
		memcpy(text, name.s, name.len);
		name.len += (size_t)snprintf(text + name.len, 32, "#%zu", n);
		name.s = text;
		if (!tp_map_find(&s->names, name, &at))
			at = SIZE_MAX;
		free(text);
		if (at == SIZE_MAX)
			return TP_OK;
	}
	item = &s->items[at];
	*kept = (struct tp_str){item->name, item->name_len};
	if (item->dtype == TP_DTYPE_STRING)
		return TP_OK;
	return read_back(s, item, out, err);
}

/* What a writer has to know. */
struct output {
	struct tp_entry *entries;
	uint64_t *nbytes;
	struct tp_model model;
	struct tp_meta meta;
	struct tp_writer *writer;
};

static enum tp_status
describe(const struct run_spool *s, const char *model, struct output *o,
    struct tp_err *err)
{
	o->entries = calloc(s->n + 1, sizeof(*o->entries));
	o->nbytes = calloc(s->n + 1, sizeof(*o->nbytes));
	if (!o->entries || !o->nbytes)
		return no_memory(err);
	for (size_t i = 0; i < s->n; i++) {
		const struct spooled *item = &s->items[i];
		struct tp_entry *e = &o->entries[i];

		*e = (struct tp_entry){
		    .name = {item->name, item->name_len},
		    .local = {item->name, item->name_len},
		    .scope = TP_STR(""),
		    .dtype = item->dtype,
		    .rank = item->rank,
		    .shape = item->sizes,
		    .nbytes = item->nbytes,
		    .storage = i,
		};
		if (tp_shape_numel(e->shape, e->rank, &e->n_elems, err))
			return TP_ELIMIT;
		o->nbytes[i] = item->nbytes;
	}
	o->meta = (struct tp_meta){TP_STR("model"), tp_str(model)};
	o->model = (struct tp_model){.entries = o->entries,
	    .n_entries = s->n,
	    .storage_nbytes = o->nbytes,
	    .n_storages = s->n,
	    .meta = &o->meta,
	    .n_meta = 1};
	return TP_OK;
}

static enum tp_status
put_storages(const struct run_spool *s, const char *data, struct output *o,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	const size_t *order;
	size_t n;

	order = tp_writer_order(o->writer, &n);
	for (size_t i = 0; i < n && !rc; i++) {
		const struct spooled *item = &s->items[order[i]];
		struct tp_stream *stream = NULL;

		rc = tp_stream_memory(NULL,
		    item->nbytes ? data + item->offset : "",
		    (size_t)item->nbytes, &stream, err);
		if (!rc)
			rc = tp_writer_put(o->writer, order[i], stream, err);
		tp_stream_close(stream);
	}
	return rc ? rc : tp_writer_commit(o->writer, err);
}

static enum tp_status
write_all(struct run_spool *s, const char *path, const char *model,
    struct tp_err *err)
{
	const struct tp_create_options options = {.format = "native"};
	struct output o = {.entries = NULL};
	void *data = NULL;
	enum tp_status rc;

	if (fflush(s->f))
		return failed(err);
	if (s->size) {
		data = mmap(NULL, (size_t)s->size, PROT_READ, MAP_PRIVATE,
		    fileno(s->f), 0);
		if (data == MAP_FAILED)
			return failed(err);
	}
	rc = describe(s, model, &o, err);
	if (!rc)
		rc = tp_create(path, &o.model, &options, &o.writer, err);
	if (!rc)
		rc = put_storages(s, data, &o, err);
	tp_writer_free(o.writer);
	free(o.entries);
	free(o.nbytes);
	if (data)
		munmap(data, (size_t)s->size);
	return rc;
}

enum tp_status
run_spool_write(struct run_spool *s, const char *path, const char *model,
    struct tp_err *err)
{
	struct tp_err why = TP_ERR_INIT;
	enum tp_status rc = write_all(s, path, model, &why);

	return rc ? tp_fail(err, rc, why.offset, "%.200s: %s", path, why.msg)
		  : TP_OK;
}
