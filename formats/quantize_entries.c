/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_entries.c - the entries of a quantized reader
 *
 * Codes, scales and zero points follow one another where the floats were.
 */
#include "quantize_reader.h"

#include <string.h>

#include "tp/shape.h"

#include "wrapped.h"

#include "banned.h"

static bool
same_recipe(const struct tp_recipe *a, const struct tp_recipe *b)
{
	return a->scheme == b->scheme && a->symmetric == b->symmetric &&
	       a->per == b->per && a->axis == b->axis && a->block == b->block &&
	       a->calibrate == b->calibrate &&
	       (a->calibrate != TP_CALIBRATE_PERCENTILE ||
		   !(a->percentile < b->percentile ||
		       a->percentile > b->percentile));
}

/* The entry whose computed storages this one can share: itself, if none. */
static size_t
twin_of(struct tpi_quantized *q, size_t i)
{
	const struct tp_entry *e = q->narrows[i].e;
	size_t *first = &q->first_of[e->storage];

	if (*first == TP_NONE)
		*first = i;
	return tpi_same_view(q->narrows[*first].e, e) &&
		       same_recipe(
			   &q->items[*first].recipe, &q->items[i].recipe)
		   ? *first
		   : i;
}

static enum tp_status
add_computed(struct tp_reader *r, struct tpi_quantized *q, size_t i,
    enum tpi_narrow_part part, struct tp_err *err)
{
	const struct tpi_narrow *n = &q->narrows[i];
	struct tp_storage_info info = {.encoding = TP_ENC_OTHER,
	    .file = q->inner->storages[n->e->storage].file};
	enum tp_status rc = tp_dtype_nbytes(tpi_narrow_dtype(n, part),
	    tpi_narrow_count(n, part), &info.nbytes, err);

	if (!rc)
		rc = tpi_reader_add_storage(r, &info, n->e->name,
		    &q->storages[i * TPI_N_PARTS + part], err);
	if (!rc)
		q->computed[q->n_computed++] = (struct tpi_computed){i, part};
	return rc;
}

/* The name of a part, where no graph gives it. */
static enum tp_status
name_part(struct tp_reader *r, const struct tpi_narrow *n,
    enum tpi_narrow_part part, struct tp_entry *e, struct tp_err *err)
{
	struct tp_str suffix =
	    part == TPI_SCALES ? TP_STR("_scale") : TP_STR("_zero_point");
	char *name = tpi_arena_array(&r->arena, e->name.len + suffix.len, 1);

	if (!name)
		return tpi_quantize_no_memory(err);
	memcpy(name, e->name.s, e->name.len);
	memcpy(name + e->name.len, suffix.s, suffix.len);
	e->name = (struct tp_str){name, e->name.len + suffix.len};
	if (tp_reader_find(n->r, e->name) == TP_NONE)
		return TP_OK;
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "tensor '%s' is there already; it would be a part of '%s'",
	    TP_BRIEF(e->name), TP_BRIEF(n->e->name));
}

/* The shape of scales and zero points, where no graph gives it. */
static void
shape_part(const struct tpi_narrow *n, unsigned *rank, int64_t *shape)
{
	*rank = n->recipe.per == TP_PER_BLOCK	  ? n->e->rank
		: n->recipe.per == TP_PER_CHANNEL ? 1
						  : 0;
	if (n->recipe.per == TP_PER_CHANNEL)
		shape[0] = (int64_t)n->groups.n_groups;
	for (unsigned d = 0; n->recipe.per == TP_PER_BLOCK && d < *rank; d++)
		shape[d] = d == n->recipe.axis ? (int64_t)n->groups.n_blocks
					       : n->e->shape[d];
}

static enum tp_status
add_part(struct tp_reader *r, struct tpi_quantized *q, size_t i, size_t twin,
    enum tpi_narrow_part part, struct tp_err *err)
{
	const struct tpi_narrow *n = &q->narrows[i];
	int64_t shape[TP_MAX_RANK];
	struct tp_entry e = {.name = n->e->name,
	    .dtype = tpi_narrow_dtype(n, part),
	    .rank = n->e->rank,
	    .shape = part == TPI_CODES ? n->e->shape : shape};
	enum tp_status rc = TP_OK;

	if (e.dtype == TP_DTYPE_NONE)
		return TP_OK;
	if (twin == i)
		rc = add_computed(r, q, i, part, err);
	if (q->graph)
		tpi_quantize_graph_name(q->graph, i, part, &e);
	else if (!rc && part != TPI_CODES)
		rc = name_part(r, n, part, &e, err);
	if (q->graph && part != TPI_CODES)
		tpi_quantize_graph_shape(q->graph, n, &e.rank, shape);
	else if (part != TPI_CODES)
		shape_part(n, &e.rank, shape);
	e.storage = q->storages[twin * TPI_N_PARTS + part];
	return rc ? rc : tpi_reader_add(r, &e, TP_NO_OFFSET, err);
}

static enum tp_status
add_kept(
    struct tp_reader *r, struct tpi_quantized *q, size_t i, struct tp_err *err)
{
	struct tp_entry e = *tp_reader_entry(q->inner, i);

	if (q->graph)
		tpi_quantize_graph_name(q->graph, i, TPI_CODES, &e);
	return tpi_reader_add(r, &e, TP_NO_OFFSET, err);
}

/* Codes, scales and zero points, one after the other. */
static enum tp_status
add_narrowed(
    struct tp_reader *r, struct tpi_quantized *q, size_t i, struct tp_err *err)
{
	const struct tpi_narrow *n = &q->narrows[i];
	struct tp_quant_info info = {.per = n->recipe.per,
	    .axis = n->recipe.axis,
	    .block = n->recipe.block,
	    .scale = r->n_entries + 1,
	    .zero_point = TP_NONE};
	size_t twin = twin_of(q, i), at = r->n_entries;
	enum tp_status rc = TP_OK;

	if (q->narrows[i].later)
		q->narrows[i].later = &q->items[twin];
	for (int part = 0; !rc && part < TPI_N_PARTS; part++)
		rc = add_part(r, q, i, twin, (enum tpi_narrow_part)part, err);
	if (rc || tpi_narrow_casts(n) || !q->options.records)
		return rc;
	if (tpi_narrow_dtype(n, TPI_ZEROS) != TP_DTYPE_NONE)
		info.zero_point = at + 2;
	return tpi_reader_set_quant(r, at, &info, err);
}

enum tp_status
tpi_quantize_add_entries(
    struct tp_reader *r, struct tpi_quantized *q, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < q->n; i++) {
		q->place[i] = r->n_entries;
		rc = q->items[i].recipe.scheme ? add_narrowed(r, q, i, err)
					       : add_kept(r, q, i, err);
	}
	/* Quantizers that were there before, their tensors renumbered. */
	for (size_t i = 0; !rc && i < q->n; i++) {
		const struct tp_quant_info *old =
		    tp_reader_entry(q->inner, i)->quant;
		struct tp_quant_info info;

		if (!old)
			continue;
		info = *old;
		info.scale = q->place[old->scale];
		if (old->zero_point != TP_NONE)
			info.zero_point = q->place[old->zero_point];
		rc = tpi_reader_set_quant(r, q->place[i], &info, err);
	}
	return rc;
}
