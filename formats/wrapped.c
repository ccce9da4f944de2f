/* SPDX-License-Identifier: Apache-2.0 */
/* wrapped.c - what a reader over a reader hands on, and tells apart */
#include "wrapped.h"

#include <string.h>

#include "tp/quantized.h"

#include "banned.h"

struct tp_reader *
tpi_wrapped_new(const struct tp_reader *inner, const struct tp_format *format,
    const struct tp_alloc *alloc)
{
	const struct tp_open_options open = {.alloc = alloc,
	    .flags = inner->flags,
	    .limits = inner->limits,
	    .warn = inner->warn,
	    .warn_ctx = inner->warn_ctx};
	struct tp_reader *r = tpi_reader_new(&open);

	if (r)
		r->format = format;
	return r;
}

enum tp_status
tpi_wrapped_copy_files(
    struct tp_reader *r, const struct tp_reader *inner, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < inner->n_sources; i++) {
		struct tpi_source *source = NULL;
		size_t index;

		rc = tpi_source_again(inner->sources[i], &source, err);
		if (!rc)
			rc = tpi_reader_adopt_source(r, source, &index, err);
	}
	for (size_t i = 0; !rc && i < inner->n_storages; i++) {
		size_t index;

		rc = tpi_reader_add_storage(
		    r, &inner->storages[i], TP_STR(""), &index, err);
	}
	for (size_t i = 0; !rc && i < inner->n_meta; i++)
		if (tp_str_cmp(inner->meta[i].key, TP_STR(TP_QUANTIZED_KEY)))
			rc = tpi_reader_add_meta(r, inner->meta[i].key,
			    inner->meta[i].value, TP_NO_OFFSET, err);
	return rc;
}

bool
tpi_wrapped_is_graph(const struct tp_reader *r, size_t attachment)
{
	return !tp_str_cmp(
	    r->attachments[attachment].name, TP_STR(TP_ATTACHMENT_ONNX));
}

enum tp_status
tpi_wrapped_add_attachments(struct tp_reader *r, const struct tp_reader *inner,
    bool with_graph, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < inner->n_attachments; i++)
		if (with_graph || !tpi_wrapped_is_graph(inner, i))
			rc = tpi_reader_add_attachment(
			    r, inner->attachments[i].name, err);
	return rc;
}

enum tp_status
tpi_wrapped_attach(
    struct tp_reader *r, struct tp_reader *inner, size_t i, struct tp_err *err)
{
	size_t k = 0;

	while (tp_str_cmp(
	    tp_reader_attachment_name(inner, k), r->attachments[i].name))
		k++;
	return tp_reader_attachment(inner, k, &r->attachments[i], err);
}

bool
tpi_same_view(const struct tp_entry *a, const struct tp_entry *b)
{
	size_t dims = a->rank * sizeof(int64_t);

	return a->storage == b->storage && a->dtype == b->dtype &&
	       a->first == b->first && a->rank == b->rank && !a->sparse &&
	       !b->sparse && !a->strides == !b->strides &&
	       (!dims ||
		   (!memcmp(a->shape, b->shape, dims) &&
		       (!a->strides || !memcmp(a->strides, b->strides, dims))));
}
