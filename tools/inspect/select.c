/* SPDX-License-Identifier: Apache-2.0 */
/* select.c - which tensors, in which order, and their sums */
#include "inspect.h"

#include <stdlib.h>

#include "tp/alloc.h"

bool
inspect_offset(
    const struct inspect_file *f, const struct tp_entry *e, uint64_t *offset)
{
	const struct tp_storage_info *s = tp_reader_storage(f->r, e->storage);

	if (s->encoding != TP_ENC_RAW || e->dtype == TP_DTYPE_STRING)
		return false;
	/* The reader has checked that the entry lies in its storage. */
	*offset = s->offset + e->first / 8 * tp_dtype_bits(e->dtype) +
		  e->first % 8 * tp_dtype_bits(e->dtype) / 8;
	return true;
}

uint64_t
inspect_alignment(uint64_t offset)
{
	uint64_t align = offset & (~offset + 1);

	return align == 0 || align > 65536 ? 65536 : align;
}

/* qsort has no context: the file whose entries are compared. */
static const struct inspect_file *sorting;

static int
compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int
by_name(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return tp_str_cmp(tp_reader_entry(sorting->r, *x)->name,
	    tp_reader_entry(sorting->r, *y)->name);
}

/* The largest first. */
static int
by_size(const void *a, const void *b)
{
	const size_t *x = a, *y = b;
	int order = compare_u64(tp_reader_entry(sorting->r, *y)->nbytes,
	    tp_reader_entry(sorting->r, *x)->nbytes);

	return order ? order : compare_u64(*x, *y);
}

static int
by_offset(const void *a, const void *b)
{
	const size_t *x = a, *y = b;
	const struct tp_entry *e = tp_reader_entry(sorting->r, *x);
	const struct tp_entry *g = tp_reader_entry(sorting->r, *y);
	const struct tp_storage_info *s =
	    tp_reader_storage(sorting->r, e->storage);
	const struct tp_storage_info *t =
	    tp_reader_storage(sorting->r, g->storage);
	int order = compare_u64(s->file, t->file);

	if (order == 0)
		order = compare_u64(s->offset, t->offset);
	if (order == 0)
		order = compare_u64(e->first, g->first);
	return order ? order : compare_u64(*x, *y);
}

bool
inspect_select(struct inspect_file *f)
{
	size_t n = tp_reader_n_entries(f->r);

	f->order = tp_mem_array(NULL, n, sizeof(f->order[0]));
	f->sharers = tp_mem_array(
	    NULL, tp_reader_n_storages(f->r), sizeof(f->sharers[0]));
	if (!f->order || !f->sharers) {
		cli_message_about(f->path, "out of memory");
		f->status = CLI_INPUT;
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		const struct tp_entry *e = tp_reader_entry(f->r, i);

		f->sharers[e->storage]++;
		if (cli_filter_takes(&inspect_options.filter, e->name))
			f->order[f->n++] = i;
	}
	if (n > 0 && f->n == 0 && !cli_common.quiet)
		cli_message_about(f->path,
		    "none of %zu tensors has a name that was asked for", n);
	sorting = f;
	if (inspect_options.sort == SORT_NAME)
		qsort(f->order, f->n, sizeof(f->order[0]), by_name);
	if (inspect_options.sort == SORT_SIZE)
		qsort(f->order, f->n, sizeof(f->order[0]), by_size);
	if (inspect_options.sort == SORT_OFFSET)
		qsort(f->order, f->n, sizeof(f->order[0]), by_offset);
	return true;
}

void
inspect_select_release(struct inspect_file *f)
{
	if (f->order)
		tp_mem_free(NULL, f->order, tp_reader_n_entries(f->r),
		    sizeof(f->order[0]));
	if (f->sharers)
		tp_mem_free(NULL, f->sharers, tp_reader_n_storages(f->r),
		    sizeof(f->sharers[0]));
	f->order = NULL;
	f->sharers = NULL;
}

static void
add(struct inspect_total *t, const struct tp_entry *e)
{
	t->tensors++;
	t->elements += e->n_elems;
	t->nbytes += e->nbytes;
}

void
inspect_count(const struct inspect_file *f, struct inspect_totals *t)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct tp_entry *e = inspect_entry(f, i);

		add(&t->all, e);
		add(&t->by_dtype[e->dtype], e);
	}
}
