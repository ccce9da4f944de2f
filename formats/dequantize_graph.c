/* SPDX-License-Identifier: Apache-2.0 */
/* dequantize_graph.c - the graph of a dequantized reader */
#include "dequantize_graph.h"

#include "onnx_dequantize.h"

#include "banned.h"

struct tpi_dequantize_graph {
	struct tpi_onnx_edit edit;
	struct tpi_onnx_widening widening;
};

enum tp_status
tpi_dequantize_graph_open(struct tpi_dequantize_graph **out,
    struct tp_reader *inner, struct tpi_arena *arena, struct tp_err *err)
{
	struct tpi_dequantize_graph *g = tpi_arena_array(arena, 1, sizeof(*g));
	enum tp_status rc;

	*out = NULL;
	if (!g)
		return tpi_onnx_edit_no_memory(err);
	rc = tpi_onnx_edit_open(&g->edit, inner, err);
	if (rc)
		return rc;
	*out = g;
	return tpi_onnx_widening_open(
	    &g->widening, &g->edit, inner, arena, err);
}

void
tpi_dequantize_graph_close(struct tpi_dequantize_graph *g)
{
	if (!g)
		return;
	tpi_onnx_widening_release(&g->widening);
	tpi_onnx_edit_close(&g->edit);
}

const struct tpi_onnx_wide *
tpi_dequantize_graph_about(const struct tpi_dequantize_graph *g, size_t entry)
{
	size_t slot = g->edit.slot_of[entry];

	return slot == TP_NONE ? NULL : &g->widening.slots[slot];
}

enum tp_status
tpi_dequantize_graph_change(struct tpi_dequantize_graph *g,
    const struct tpi_widen *widens, struct tp_err *err)
{
	for (size_t i = 0; i < g->edit.slots.n_items; i++)
		g->widening.slots[i].chosen =
		    widens[g->edit.entry_of[i]].chosen;
	return tpi_onnx_widen(&g->widening, err);
}

void
tpi_dequantize_graph_name(
    const struct tpi_dequantize_graph *g, size_t entry, struct tp_entry *e)
{
	size_t slot = g->edit.slot_of[entry];

	if (slot != TP_NONE)
		tpi_onnx_edit_name_entry(&g->edit,
		    tpi_onnx_edit_weight(&g->edit.slots.items[slot]), e);
}

enum tp_status
tpi_dequantize_graph_attach(const struct tpi_dequantize_graph *g,
    struct tpi_arena *arena, struct tp_attachment *out, struct tp_err *err)
{
	return tpi_onnx_edit_pack(&g->edit, arena, out, err);
}
