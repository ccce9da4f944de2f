/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - a plan from readers to a file: its steps, and what it tells */
#include "tp/transfer.h"

#include "tp/checked.h"

#include "transfer_plan.h"

#include "banned.h"

const char *
tp_how_name(enum tp_how how)
{
	static const char *const names[] = {
	    [TP_HOW_COPIED] = "copied",
	    [TP_HOW_DECODED] = "decoded",
	    [TP_HOW_PACKED] = "packed",
	    [TP_HOW_CAST] = "cast",
	    [TP_HOW_SHARED] = "shared",
	    [TP_HOW_LEFT_OUT] = "left out",
	};

	return names[how];
}

/*
 * ---- planning ----
 */

/* The output must not be one of the files that are read. */
enum tp_status
tpi_transfer_check_not_input(
    const struct tp_transfer *t, const char *path, struct tp_err *err)
{
	bool clash =
	    t->options.graph && tp_reader_reads_file(t->options.graph, path);

	for (size_t i = 0; !clash && i < t->n_readers; i++)
		clash = tp_reader_reads_file(t->readers[i], path);
	if (clash)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "the output %s is one of the input's files", path);
	return TP_OK;
}

static enum tp_status
choose_format(struct tp_transfer *t, struct tp_err *err)
{
	const char *name = t->options.create.format;

	t->format = name ? tp_format_find(name) : tp_format_for_path(t->path);
	if (t->format && !t->format->plan)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "the format %s cannot be written", t->format->name);
	if (t->format) {
		t->options.create.format = t->format->name;
		return TP_OK;
	}
	if (name)
		return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
		    "no format is named '%s'", name);
	return tp_fail(
	    err, TP_EARG, TP_NO_OFFSET, "the name %s tells no format", t->path);
}

static enum tp_status
make_plan(struct tp_transfer *t, struct tp_reader *const *readers, size_t n,
    const char *path, struct tp_err *err)
{
	enum tp_status rc;

	t->path = tpi_arena_str(&t->arena, tp_str(path)).s;
	t->readers = tpi_arena_array(&t->arena, n, sizeof(struct tp_reader *));
	if (!t->path || !t->readers)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a transfer");
	for (size_t i = 0; i < n; i++)
		t->readers[i] = readers[i];
	t->n_readers = n;

	rc = tpi_transfer_check_not_input(t, path, err);
	if (!rc)
		rc = choose_format(t, err);
	if (!rc)
		rc = tpi_transfer_choose(t, err);
	if (!rc)
		rc = tpi_transfer_collect(t, err);
	if (!rc)
		rc = tpi_transfer_layout(t, err);
	return rc;
}

enum tp_status
tp_transfer_plan(struct tp_reader *const *readers, size_t n_readers,
    const char *path, const struct tp_transfer_options *options,
    struct tp_transfer **out, struct tp_err *err)
{
	const struct tp_transfer_options none = {0};
	struct tp_transfer *t;
	enum tp_status rc;

	*out = NULL;
	if (!options)
		options = &none;
	t = tp_mem_array(options->create.alloc, 1, sizeof(*t));
	if (!t)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a transfer");
	t->alloc = options->create.alloc;
	t->options = *options;
	tpi_arena_init(&t->arena, t->alloc);
	rc = make_plan(t, readers, n_readers, path, err);
	if (rc)
		tp_transfer_free(t);
	else
		*out = t;
	return rc;
}

void
tp_transfer_free(struct tp_transfer *t)
{
	if (!t)
		return;
	tp_writer_free(t->writer);
	tpi_cast_pool_release(&t->cast_pool);
	tpi_arena_release(&t->arena);
	tp_mem_free(t->alloc, t, 1, sizeof(*t));
}

size_t
tp_transfer_n_items(const struct tp_transfer *t)
{
	return t->n_items;
}

const struct tp_transfer_item *
tp_transfer_item(const struct tp_transfer *t, size_t i)
{
	return &t->items[i].item;
}

size_t
tp_transfer_n_losses(const struct tp_transfer *t)
{
	return t->n_losses;
}

const struct tp_loss *
tp_transfer_loss(const struct tp_transfer *t, size_t i)
{
	return &t->losses[i];
}

size_t
tp_transfer_n_notes(const struct tp_transfer *t)
{
	return t->n_notes;
}

const char *
tp_transfer_note(const struct tp_transfer *t, size_t i)
{
	return t->notes[i];
}

size_t
tp_transfer_n_meta(const struct tp_transfer *t)
{
	return t->n_meta;
}

const struct tp_meta *
tp_transfer_meta(const struct tp_transfer *t, size_t i)
{
	return &t->meta[i];
}

const struct tp_format *
tp_transfer_format(const struct tp_transfer *t)
{
	return t->format;
}

bool
tp_transfer_has_graph(const struct tp_transfer *t)
{
	return t->has_graph;
}

uint64_t
tp_transfer_nbytes(const struct tp_transfer *t)
{
	uint64_t sum = 0;

	/* Of existing or planned data; a sum that saturates is only shown. */
	for (size_t i = 0; i < t->model.n_storages; i++)
		if (tp_add_u64(sum, t->storage_nbytes[i], &sum))
			return UINT64_MAX;
	return sum;
}
