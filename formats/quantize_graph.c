/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_graph.c - the graph of a quantized reader */
#include "quantize_graph.h"

#include "onnx_half.h"
#include "onnx_quantize.h"

#include "banned.h"

struct tpi_quantize_graph {
	struct tpi_onnx_edit edit;
	struct tpi_onnx_weight *weights; /* of each entry */
	const void **addresses;		 /* of each entry and part */
	size_t n;
	int64_t opset;
	bool is_half;
	struct tpi_onnx_half half;
};

bool
tpi_has_graph(const struct tp_reader *r)
{
	for (size_t i = 0; i < tp_reader_n_attachments(r); i++)
		if (!tp_str_cmp(tp_reader_attachment_name(r, i),
			TP_STR(TP_ATTACHMENT_ONNX)))
			return true;
	return false;
}

/* Every f32 weight becomes f16 that is not needed as it is. */
static enum tp_status
open_half(
    struct tpi_quantize_graph *g, struct tp_reader *inner, struct tp_err *err)
{
	enum tp_status rc = tpi_onnx_half_open(&g->half, &g->edit, inner, err);

	for (size_t i = 0; !rc && i < g->edit.slots.n_items; i++) {
		size_t entry = g->edit.entry_of[i];

		if (!g->half.half[i])
			g->weights[entry].why =
			    tp_reader_entry(inner, entry)->dtype == TP_DTYPE_F32
				? "only operators use it that keep computing "
				  "with f32"
				: "its numbers are not f32";
	}
	return rc;
}

enum tp_status
tpi_quantize_graph_open(struct tpi_quantize_graph **out,
    struct tp_reader *inner, bool half, struct tpi_arena *arena,
    struct tp_err *err)
{
	struct tpi_quantize_graph *g = tpi_arena_array(arena, 1, sizeof(*g));
	size_t n = tp_reader_n_entries(inner);
	enum tp_status rc;

	*out = NULL;
	if (!g)
		return tpi_onnx_edit_no_memory(err);
	g->n = n;
	g->weights = tpi_arena_array(arena, n, sizeof(*g->weights));
	g->addresses =
	    tpi_arena_array(arena, n, TPI_N_PARTS * sizeof(*g->addresses));
	if (!g->weights || !g->addresses)
		return tpi_onnx_edit_no_memory(err);
	rc = tpi_onnx_edit_open(&g->edit, inner, err);
	if (rc)
		return rc;
	*out = g;
	g->opset = tpi_onnx_edit_opset(&g->edit);
	for (size_t i = 0; i < g->edit.slots.n_items; i++)
		g->addresses[g->edit.entry_of[i] * TPI_N_PARTS] =
		    tpi_onnx_edit_weight(&g->edit.slots.items[i]);
	g->is_half = half;
	return half ? open_half(g, inner, err)
		    : tpi_onnx_find_weights(
			  &g->edit, inner, arena, g->weights, err);
}

void
tpi_quantize_graph_close(struct tpi_quantize_graph *g)
{
	if (!g)
		return;
	tpi_onnx_half_release(&g->half);
	tpi_onnx_edit_close(&g->edit);
}

const char *
tpi_quantize_graph_why(const struct tpi_quantize_graph *g, size_t entry)
{
	return g->weights[entry].why;
}

unsigned
tpi_quantize_graph_axis(
    const struct tpi_quantize_graph *g, size_t entry, enum tp_quant_per per)
{
	return per == TP_PER_BLOCK ? g->weights[entry].block_axis
				   : g->weights[entry].channel_axis;
}

enum tp_status
tpi_quantize_graph_check(struct tpi_quantize_graph *g,
    const struct tp_recipe *recipe, struct tp_err *err)
{
	int64_t opset;

	return tpi_onnx_needed_opset(&g->edit, recipe, &opset, err);
}

/* The opset that all of them need. */
static enum tp_status
raise(struct tpi_quantize_graph *g, const struct tpi_narrow *narrows, size_t n,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < n; i++) {
		int64_t opset = 0;

		if (!narrows[i].recipe.scheme)
			continue;
		rc = tpi_onnx_needed_opset(
		    &g->edit, &narrows[i].recipe, &opset, err);
		g->opset = opset > g->opset ? opset : g->opset;
	}
	for (size_t i = 0; !rc && i < n; i++)
		if (narrows[i].recipe.scheme)
			tpi_onnx_set_versions(&g->edit, g->opset,
			    narrows[i].recipe.scheme->dtype);
	return rc;
}

/* Which slots those are was decided when it was opened. */
static enum tp_status
change_half(struct tpi_quantize_graph *g, struct tp_err *err)
{
	enum tp_status rc = tpi_onnx_half_apply(&g->half, err);

	for (size_t i = 0; !rc && i < g->edit.slots.n_items; i++)
		if (g->half.tensors[i])
			g->addresses[g->edit.entry_of[i] * TPI_N_PARTS] =
			    g->half.tensors[i];
	return rc;
}

enum tp_status
tpi_quantize_graph_change(struct tpi_quantize_graph *g,
    const struct tpi_narrow *narrows, size_t n, struct tp_err *err)
{
	struct tpi_onnx_edit *e = &g->edit;
	struct tpi_onnx_narrowed *items =
	    tpi_arena_array(&e->arena, e->slots.n_items, sizeof(*items));
	size_t n_items = 0;
	enum tp_status rc;

	if (g->is_half)
		return change_half(g, err);
	if (!items)
		return tpi_onnx_edit_no_memory(err);
	rc = raise(g, narrows, n, err);
	for (size_t i = 0; i < e->slots.n_items; i++) {
		size_t entry = e->entry_of[i];

		if (narrows[entry].recipe.scheme)
			items[n_items++] = (struct tpi_onnx_narrowed){.slot = i,
			    .n = &narrows[entry],
			    .w = &g->weights[entry]};
	}
	if (!rc)
		rc = tpi_onnx_narrow_weights(e, items, n_items, err);
	for (size_t i = 0; !rc && i < n_items; i++)
		for (int part = 0; part < TPI_N_PARTS; part++)
			g->addresses[e->entry_of[items[i].slot] * TPI_N_PARTS +
				     (size_t)part] = items[i].parts[part];
	return rc ? rc : tpi_onnx_edit_finish(e, err);
}

void
tpi_quantize_graph_name(const struct tpi_quantize_graph *g, size_t entry,
    enum tpi_narrow_part part, struct tp_entry *e)
{
	tpi_onnx_edit_name_entry(
	    &g->edit, g->addresses[entry * TPI_N_PARTS + (size_t)part], e);
}

void
tpi_quantize_graph_shape(const struct tpi_quantize_graph *g,
    const struct tpi_narrow *n, unsigned *rank, int64_t *shape)
{
	tpi_onnx_part_shape(n, g->opset, rank, shape);
}

enum tp_status
tpi_quantize_graph_attach(const struct tpi_quantize_graph *g,
    struct tpi_arena *arena, struct tp_attachment *out, struct tp_err *err)
{
	return tpi_onnx_edit_pack(&g->edit, arena, out, err);
}
