/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_layout.c - from items to storages and a model
 *
 * An item is fed in one of two ways. *Whole*: the storage it lies in is copied
 * (or cast) as it is, and the entry keeps its strides and its place in it, so
 * that entries which shared a storage still do. *By itself*: the dense
 * row-major form of the entry becomes a storage; items that show the same view
 * of the same storage share even then. Whole is the rule; by itself is every
 * item to which a remedy applies, and one that is the only window of a larger
 * storage, whose rest nobody asked for.
 */
#include "transfer_plan.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/shape.h"

#include "stream_entry.h"

#include "banned.h"

/* What is needed while laying out, and no longer. */
struct layout {
	struct tp_transfer *t;
	struct tpi_arena arena; /* keys of the maps */
	struct tp_map readers;	/* of addresses, to their number */
	size_t *storage_base;	/* first storage of each reader, numbered on */
	size_t *entry_base;
	size_t *n_views;     /* for each storage of the inputs: 0, 1, many */
	size_t *item_of;     /* for each entry of the inputs */
	struct tp_map views; /* distinct views of storages */
	struct tp_map feeds;
	size_t n_feeds;
	size_t n_quants, n_sparses;
};

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for the plan of a file");
}

/* The number of a reader; the graph's comes after those of the inputs. */
static size_t
reader_number(const struct layout *l, const struct tp_reader *r)
{
	size_t n = 0;

	tp_map_find(
	    &l->readers, (struct tp_str){(const char *)&r, sizeof(void *)}, &n);
	return n;
}

/*
 * A key for a map: numbers as bytes, by value, for equality only.
 */
struct key {
	uint64_t w[8 + 2 * TP_MAX_RANK];
	size_t n;
};

static void
key_add(struct key *k, uint64_t w)
{
	k->w[k->n++] = w;
}

/* Which elements of which storage, in which order. */
static void
key_view(struct key *k, size_t storage, const struct tp_entry *e)
{
	key_add(k, storage);
	key_add(k, (uint64_t)e->dtype);
	key_add(k, e->first);
	key_add(k, e->rank);
	key_add(k, (e->strides ? 1u : 0u) | (e->sparse ? 2u : 0u));
	for (unsigned d = 0; d < e->rank; d++)
		key_add(k, (uint64_t)e->shape[d]);
	for (unsigned d = 0; e->strides && d < e->rank; d++)
		key_add(k, (uint64_t)e->strides[d]);
}

/* Look up or add; *value is that of the first with this key. */
static enum tp_status
key_intern(struct layout *l, struct tp_map *m, const struct key *k,
    size_t *value, bool *is_new, struct tp_err *err)
{
	struct tp_str s = {(const char *)k->w, k->n * sizeof(k->w[0])};

	*is_new = !tp_map_find(m, s, value);
	if (!*is_new)
		return TP_OK;
	s = tpi_arena_str(&l->arena, s);
	if (!s.s)
		return no_memory(err);
	return tp_map_add(m, s, *value, NULL, err);
}

static size_t
storage_number(const struct layout *l, const struct tpi_item *it)
{
	return l->storage_base[reader_number(l, it->reader)] +
	       it->item.source->storage;
}

/* True if the entry is all of its storage, as it lies. */
static bool
covers(const struct tpi_item *it)
{
	const struct tp_entry *e = it->item.source;

	return !e->strides && !e->sparse && e->first == 0 &&
	       tpi_entry_fills_bytes(e) &&
	       e->nbytes == tp_reader_storage(it->reader, e->storage)->nbytes;
}

static bool
is_whole(const struct layout *l, const struct tpi_item *it)
{
	const struct tp_entry *e = it->item.source;

	if (it->untie || it->pack || it->densify)
		return false;
	if (e->strides || e->sparse || covers(it))
		return true;
	return l->n_views[storage_number(l, it)] > 1;
}

/* Count the distinct views of each storage. */
static enum tp_status
count_views(struct layout *l, struct tp_err *err)
{
	struct tp_transfer *t = l->t;
	enum tp_status rc;

	for (size_t i = 0; i < t->n_items; i++) {
		struct tpi_item *it = &t->items[i];
		size_t storage = storage_number(l, it), value = 0;
		struct key k = {.n = 0};
		bool is_new;

		if (it->item.how == TP_HOW_LEFT_OUT)
			continue;
		l->item_of[l->entry_base[reader_number(l, it->reader)] +
			   it->entry] = i;
		if (it->untie || it->pack || it->densify)
			continue;
		key_view(&k, storage, it->item.source);
		rc = key_intern(l, &l->views, &k, &value, &is_new, err);
		if (rc)
			return rc;
		l->n_views[storage] += is_new;
	}
	return TP_OK;
}

/*
 * Elements of dtype in a storage of which e is a view: what e says if it is all
 * of it (packed elements may leave room for one more), else what fits.
 */
static uint64_t
storage_elems(const struct tpi_item *it)
{
	const struct tp_entry *e = it->item.source;
	unsigned bits = tp_dtype_bits(e->dtype);
	uint64_t nbytes = tp_reader_storage(it->reader, e->storage)->nbytes;

	if (e->sparse)
		return e->sparse->n_values;
	if (covers(it))
		return e->n_elems;
	return nbytes / bits * 8 + nbytes % bits * 8 / bits;
}

/* Find or make the feed with that key; *out is its number. */
static enum tp_status
add_feed(struct layout *l, const struct key *k, const struct tpi_feed *feed,
    uint64_t nbytes, size_t *out, struct tp_err *err)
{
	struct tp_transfer *t = l->t;
	enum tp_status rc;
	bool is_new = true;

	*out = l->n_feeds;
	if (k) {
		rc = key_intern(l, &l->feeds, k, out, &is_new, err);
		if (rc)
			return rc;
	}
	if (is_new) {
		t->feeds[l->n_feeds] = *feed;
		t->storage_nbytes[l->n_feeds++] = nbytes;
	} else if (feed->n_elems > t->feeds[*out].n_elems) {
		t->feeds[*out].n_elems = feed->n_elems;
		t->storage_nbytes[*out] = nbytes;
	}
	return TP_OK;
}

/* The feed of an item's bytes. */
static enum tp_status
feed_item(struct layout *l, struct tpi_item *it, bool whole, size_t *out,
    struct tp_err *err)
{
	const struct tp_entry *e = it->item.source;
	struct tpi_feed feed = {
	    .reader = it->reader,
	    .whole = whole,
	    .from = whole ? e->storage : it->entry,
	    .first = it,
	};
	struct key k = {.n = 0};
	uint64_t nbytes;
	enum tp_status rc = TP_OK;

	nbytes = whole ? tp_reader_storage(it->reader, e->storage)->nbytes
		       : e->nbytes;
	if (it->item.dtype != e->dtype) {
		feed.cast_from = e->dtype;
		feed.cast_to = it->item.dtype;
		feed.n_elems = whole ? storage_elems(it) : e->n_elems;
		rc = tp_dtype_nbytes(feed.cast_to, feed.n_elems, &nbytes, err);
		if (rc)
			return rc;
	}
	key_add(&k, feed.cast_from);
	key_add(&k, feed.cast_to);
	key_add(&k, whole);
	if (whole)
		key_add(&k, storage_number(l, it));
	else
		key_view(&k, storage_number(l, it), e);
	return add_feed(l, it->untie ? NULL : &k, &feed, nbytes, out, err);
}

/* The storage of a sparse item's indices, as they lie. */
static enum tp_status
feed_indices(struct layout *l, struct tpi_item *it,
    struct tp_sparse_info *sparse, struct tp_err *err)
{
	size_t storage = it->item.source->sparse->indices;
	struct tpi_feed feed = {
	    .reader = it->reader, .whole = true, .from = storage, .first = it};
	struct key k = {.n = 0};

	*sparse = *it->item.source->sparse;
	key_add(&k, TP_DTYPE_NONE);
	key_add(&k, TP_DTYPE_NONE);
	key_add(&k, true);
	key_add(&k, l->storage_base[reader_number(l, it->reader)] + storage);
	return add_feed(l, &k, &feed,
	    tp_reader_storage(it->reader, storage)->nbytes, &sparse->indices,
	    err);
}

static enum tp_how
how_of(const struct tpi_item *it, bool whole)
{
	const struct tp_entry *e = it->item.source;

	if (it->item.dtype != e->dtype)
		return TP_HOW_CAST;
	if (!whole && (e->strides || e->sparse || !tpi_entry_fills_bytes(e)))
		return TP_HOW_PACKED;
	if (tp_reader_storage(it->reader, e->storage)->encoding != TP_ENC_RAW)
		return TP_HOW_DECODED;
	return TP_HOW_COPIED;
}

/* The item as an entry of the model. */
static enum tp_status
lay_item(struct layout *l, struct tpi_item *it, struct tp_err *err)
{
	struct tp_transfer *t = l->t;
	const struct tp_entry *e = it->item.source;
	struct tp_entry *m = &t->entries[t->model.n_entries];
	bool whole = is_whole(l, it);
	size_t feed = 0;
	enum tp_status rc;

	*m = it->slot ? *it->slot : *e;
	m->name = it->item.name;
	m->dtype = it->item.dtype;
	m->rank = e->rank;
	m->shape = e->shape;
	m->n_elems = e->n_elems;
	m->strides = whole ? e->strides : NULL;
	m->first = whole ? e->first : 0;
	m->quant = NULL; /* later, when every place is known */
	m->sparse = NULL;
	rc = feed_item(l, it, whole, &feed, err);
	if (rc)
		return rc;
	m->storage = feed;
	m->nbytes = e->nbytes;
	if (m->dtype != e->dtype)
		rc = tp_dtype_nbytes(m->dtype, m->n_elems, &m->nbytes, err);
	if (!rc && whole && e->sparse) {
		struct tp_sparse_info *s = &t->sparses[l->n_sparses++];

		rc = feed_indices(l, it, s, err);
		m->sparse = s;
	}
	if (rc)
		return rc;

	it->item.nbytes = m->nbytes;
	it->item.how = how_of(it, whole);
	it->item.shared = TP_NONE;
	if (t->feeds[feed].first != it) {
		it->item.how = TP_HOW_SHARED;
		it->item.shared = (size_t)(t->feeds[feed].first - t->items);
	}
	t->item_at[t->model.n_entries] = (size_t)(it - t->items);
	it->model_entry = t->model.n_entries++;
	return TP_OK;
}

/* The place in the model of another entry of the same input, or TP_NONE. */
static size_t
place_of(const struct layout *l, const struct tpi_item *it, size_t entry)
{
	size_t i;

	if (entry == TP_NONE)
		return TP_NONE;
	i = l->item_of[l->entry_base[reader_number(l, it->reader)] + entry];
	return i == TP_NONE ? TP_NONE : l->t->items[i].model_entry;
}

/*
 * Quantizer records, with their tensors renumbered. One that a graph tells
 * stays in that graph and is no record.
 */
static enum tp_status
lay_quant(struct layout *l, struct tpi_item *it, struct tp_err *err)
{
	struct tp_transfer *t = l->t;
	const struct tp_quant_info *from = it->item.source->quant;
	struct tp_quant_info *q = &t->quants[l->n_quants];

	if (!from || from->in_graph || it->drop_quant)
		return TP_OK;
	*q = *from;
	q->scale = place_of(l, it, from->scale);
	q->zero_point = place_of(l, it, from->zero_point);
	if (q->scale == TP_NONE ||
	    (q->zero_point == TP_NONE && from->zero_point != TP_NONE)) {
		it->drop_quant = true;
		return tpi_transfer_lose(t, it, TP_LOSS_QUANTIZATION,
		    "its scale or zero point is left out",
		    "the numbers are stored without their quantizer", err);
	}
	t->entries[it->model_entry].quant = q;
	l->n_quants++;
	return TP_OK;
}

/* Number the readers, and the storages and entries of all of them. */
static enum tp_status
number_inputs(struct layout *l, struct tp_err *err)
{
	struct tp_transfer *t = l->t;
	size_t n = t->n_readers + 1, storages = 0, entries = 0;
	enum tp_status rc;

	l->storage_base = tpi_arena_array(&l->arena, n, sizeof(size_t));
	l->entry_base = tpi_arena_array(&l->arena, n, sizeof(size_t));
	if (!l->storage_base || !l->entry_base)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		struct tp_reader **r =
		    i < t->n_readers ? &t->readers[i] : &t->options.graph;

		if (!*r)
			break;
		rc = tp_map_add(&l->readers,
		    (struct tp_str){(const char *)r, sizeof(void *)}, i, NULL,
		    err);
		if (rc && rc != TP_EARG)
			return rc;
		l->storage_base[i] = storages;
		l->entry_base[i] = entries;
		storages += tp_reader_n_storages(*r);
		entries += tp_reader_n_entries(*r);
	}
	l->n_views = tpi_arena_array(&l->arena, storages, sizeof(size_t));
	l->item_of = tpi_arena_array(&l->arena, entries, sizeof(size_t));
	if (!l->n_views || !l->item_of)
		return no_memory(err);
	for (size_t i = 0; i < entries; i++)
		l->item_of[i] = TP_NONE;
	return TP_OK;
}

static enum tp_status
lay_out(struct layout *l, struct tp_err *err)
{
	struct tp_transfer *t = l->t;
	enum tp_status rc;

	rc = number_inputs(l, err);
	if (!rc)
		rc = count_views(l, err);
	t->model.n_entries = 0;
	for (size_t i = 0; !rc && i < t->n_items; i++)
		if (t->items[i].item.how != TP_HOW_LEFT_OUT)
			rc = lay_item(l, &t->items[i], err);
	for (size_t i = 0; !rc && i < t->n_items; i++)
		if (t->items[i].item.how != TP_HOW_LEFT_OUT)
			rc = lay_quant(l, &t->items[i], err);
	if (rc)
		return rc;
	t->model.entries = t->entries;
	t->model.storage_nbytes = t->storage_nbytes;
	t->model.n_storages = l->n_feeds;
	t->model.meta = t->meta;
	t->model.n_meta = t->n_meta;
	t->model.attachments = t->attachments;
	t->model.n_attachments = t->n_attachments;
	return TP_OK;
}

enum tp_status
tpi_transfer_lay(struct tp_transfer *t, struct tp_err *err)
{
	struct layout l = {.t = t};
	enum tp_status rc = TP_OK;
	size_t n = t->n_items, n2 = 0;

	/* At most one storage an item, and one for the indices if sparse. */
	if (!t->entries) {
		t->entries = tpi_arena_array(&t->arena, n, sizeof(*t->entries));
		t->quants = tpi_arena_array(&t->arena, n, sizeof(*t->quants));
		t->sparses = tpi_arena_array(&t->arena, n, sizeof(*t->sparses));
		t->item_at = tpi_arena_array(&t->arena, n, sizeof(*t->item_at));
		if (!tp_mul_size(n, 2, &n2)) {
			t->feeds =
			    tpi_arena_array(&t->arena, n2, sizeof(*t->feeds));
			t->storage_nbytes = tpi_arena_array(
			    &t->arena, n2, sizeof(*t->storage_nbytes));
		}
	}
	if (!t->entries || !t->quants || !t->sparses || !t->item_at ||
	    !t->feeds || !t->storage_nbytes)
		rc = no_memory(err);

	tpi_arena_init(&l.arena, t->alloc);
	tp_map_init(&l.readers, t->alloc);
	tp_map_init(&l.views, t->alloc);
	tp_map_init(&l.feeds, t->alloc);
	if (!rc)
		rc = lay_out(&l, err);
	tp_map_release(&l.feeds);
	tp_map_release(&l.views);
	tp_map_release(&l.readers);
	tpi_arena_release(&l.arena);
	return rc;
}
