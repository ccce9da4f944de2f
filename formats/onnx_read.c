/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_read.c - open an ONNX model
 */
#include "onnx_read.h"

#include "banned.h"

static enum tp_status
add_metadata(
    struct tp_reader *r, const TpOnnx__ModelProto *m, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < m->n_metadata_props && !rc; i++)
		rc = tpi_reader_add_meta(r,
		    tpi_onnx_str(m->metadata_props[i]->key),
		    tpi_onnx_str(m->metadata_props[i]->value), TP_NO_OFFSET,
		    err);
	return rc;
}

static enum tp_status
add_all(struct tp_reader *r, const TpOnnx__ModelProto *m, struct tp_err *err)
{
	bool constants = !(r->flags & TP_OPEN_KEEP_CONSTANTS);
	struct tpi_onnx_slots slots;
	const struct tpi_onnx_slot *slot;
	enum tp_status rc;

	rc = tpi_onnx_slots_find(
	    &slots, r->alloc, m, constants, &r->limits, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < slots.n_items && !rc; i++) {
		slot = &slots.items[i];
		rc =
		    tpi_onnx_add_slot(r, slot, &slots.scopes[slot->scope], err);
	}
	if (!rc)
		rc = tpi_onnx_add_quantizers(r, &slots, err);
	if (!rc)
		rc = add_metadata(r, m, err);
	if (!rc)
		rc = tpi_reader_add_attachment(
		    r, tp_str(TP_ATTACHMENT_ONNX), err);
	tpi_onnx_slots_release(&slots);
	return rc;
}

enum tp_status
tpi_onnx_reader_init(struct tp_reader *r, struct tp_err *err)
{
	struct tpi_onnx_reader *o = tp_mem_array(r->alloc, 1, sizeof(*o));

	if (!o)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for a reader");
	r->priv = o;
	tp_map_init(&o->locations, r->alloc);
	tp_map_init(&o->places, r->alloc);
	o->skim.alloc = r->alloc;
	return TP_OK;
}

enum tp_status
tpi_onnx_open(struct tp_reader *r, struct tp_err *err)
{
	struct tpi_onnx_tree tree;
	struct tpi_onnx_reader *o;
	enum tp_status rc;

	rc = tpi_onnx_reader_init(r, err);
	if (rc)
		return rc;
	o = r->priv;
	rc =
	    tpi_onnx_tree_read(&tree, r->alloc, r->sources[0], &r->limits, err);
	if (rc)
		return rc;
	o->skim = tree.skim;
	tree.skim = (struct tpi_skim){.alloc = r->alloc};
	rc = add_all(r, tree.model, err);
	tpi_onnx_tree_release(&tree);

	/* The keys of this one were in the tree. */
	tp_map_release(&o->locations);
	return rc;
}

void
tpi_onnx_close(struct tp_reader *r)
{
	struct tpi_onnx_reader *o = r->priv;

	if (!o)
		return;
	tpi_skim_release(&o->skim);
	tp_map_release(&o->locations);
	tp_map_release(&o->places);
	tp_mem_free(r->alloc, o->origins, o->cap_origins, sizeof(*o->origins));
	tp_mem_free(r->alloc, o->digests, o->cap_digests, sizeof(*o->digests));
	tp_mem_free(r->alloc, o, 1, sizeof(*o));
	r->priv = NULL;
}
