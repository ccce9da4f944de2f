/* SPDX-License-Identifier: Apache-2.0 */
/* loss.c - what a format cannot hold of a model */
#include "plugin.h"

#include <stdio.h>
#include <string.h>

#include "banned.h"

static const struct {
	enum tp_loss_kind kind;
	const char *name;
} kinds[] = {
    {TP_LOSS_METADATA, "metadata"},
    {TP_LOSS_DTYPE, "dtype"},
    {TP_LOSS_ALIAS, "alias"},
    {TP_LOSS_NAME, "name"},
    {TP_LOSS_STRIDES, "strides"},
    {TP_LOSS_QUANTIZATION, "quantization"},
    {TP_LOSS_SPARSE, "sparse"},
    {TP_LOSS_ALL, "all"},
};

const char *
tp_loss_name(enum tp_loss_kind kind)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].kind == kind)
			return kinds[i].name;
	return "?";
}

unsigned
tp_loss_find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return (unsigned)kinds[i].kind;
	return 0;
}

struct losses {
	tp_loss_fn *fn;
	void *ctx;
	bool whole; /* what survey said */
	unsigned all;
};

static void
tell(struct losses *l, size_t entry, enum tp_loss_kind kind, const char *why)
{
	l->all |= (unsigned)kind;
	if (l->fn)
		l->fn(l->ctx, entry, kind, why);
}

/* What the format itself has to say about an entry. */
static void
ask_format(const struct tp_format *f, const struct tp_create_options *options,
    const struct tp_model *m, size_t i, bool shared, struct losses *l)
{
	char why[TP_WHY_SIZE] = "";
	unsigned bits = 0;

	if (f->loses)
		bits = f->loses(options, m, l->whole, i, shared, why);
	for (size_t k = 0; kinds[k].kind != TP_LOSS_ALL; k++)
		if (bits & (unsigned)kinds[k].kind)
			tell(l, i, kinds[k].kind, why);
}

static void
check_entry(const struct tp_format *f, const struct tp_create_options *options,
    const struct tp_model *m, size_t i, bool shared, struct losses *l)
{
	const struct tp_entry *e = &m->entries[i];
	char why[TP_WHY_SIZE];

	if (!f->holds_dtype(e->dtype, e->n_elems)) {
		snprintf(why, sizeof(why),
		    f->holds_dtype(e->dtype, 0)
			? "%s cannot hold this number of elements of %s"
			: "%s has no dtype %s",
		    f->name, tp_dtype_name(e->dtype));
		tell(l, i, TP_LOSS_DTYPE, why);
	}
	if (shared && !(f->caps & TPI_CAP_ALIAS)) {
		snprintf(
		    why, sizeof(why), "%s stores tied tensors apart", f->name);
		tell(l, i, TP_LOSS_ALIAS, why);
	}
	if (e->strides && !(f->caps & TPI_CAP_STRIDES)) {
		snprintf(why, sizeof(why), "%s stores row-major only", f->name);
		tell(l, i, TP_LOSS_STRIDES, why);
	}
	/* What a graph says stays with the graph, or is left behind with it. */
	if (e->quant && !e->quant->in_graph &&
	    !(f->caps & TPI_CAP_QUANTIZATION)) {
		snprintf(
		    why, sizeof(why), "%s has no quantizer records", f->name);
		tell(l, i, TP_LOSS_QUANTIZATION, why);
	}
	if (e->sparse && !(f->caps & TPI_CAP_SPARSE)) {
		snprintf(
		    why, sizeof(why), "%s stores dense tensors only", f->name);
		tell(l, i, TP_LOSS_SPARSE, why);
	}
	ask_format(f, options, m, i, shared, l);
}

/*
 * True if an earlier entry lies in the storage of entry i. seen has a byte for
 * each storage, or is NULL for want of memory: then all are looked at.
 */
static bool
is_shared(const struct tp_model *m, size_t i, const uint8_t *seen)
{
	size_t storage = m->entries[i].storage;

	if (storage >= m->n_storages)
		return false;
	if (seen)
		return seen[storage];
	for (size_t k = 0; k < i; k++)
		if (m->entries[k].storage == storage)
			return true;
	return false;
}

unsigned
tp_format_loses(const struct tp_format *f,
    const struct tp_create_options *options, const struct tp_model *m,
    tp_loss_fn *fn, void *ctx)
{
	const struct tp_create_options none = {0};
	struct losses l = {.fn = fn, .ctx = ctx};
	uint8_t *seen =
	    tp_mem_array(options ? options->alloc : NULL, m->n_storages, 1);

	if (!options)
		options = &none;
	if (f->survey)
		l.whole = f->survey(options, m);
	if (m->n_meta && !(f->caps & TPI_CAP_METADATA)) {
		char why[TP_WHY_SIZE];

		snprintf(why, sizeof(why), "%s has no metadata", f->name);
		tell(&l, TP_NONE, TP_LOSS_METADATA, why);
	}
	for (size_t i = 0; i < m->n_entries; i++) {
		size_t storage = m->entries[i].storage;

		check_entry(f, options, m, i, is_shared(m, i, seen), &l);
		if (seen && storage < m->n_storages)
			seen[storage] = 1;
	}
	tp_mem_free(options->alloc, seen, m->n_storages, 1);
	return l.all;
}

bool
tp_format_keeps_attachment(const struct tp_format *f, struct tp_str name)
{
	return f->keeps_attachment && f->keeps_attachment(name);
}
