/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_record.c - what belongs together, as metadata
 *
 *	{"version":1,"tensors":{NAME:{"scheme":"int8","per":"channel",
 *	    "axis":0,"scale":NAME,"zero_point":NAME},…}}
 *
 * Casts have a scheme only.
 */
#include "quantize.h"

#include <string.h>

#include "tp/json.h"

#include "banned.h"

struct text {
	const struct tp_alloc *alloc;
	char *s;
	size_t len, cap;
};

/* A tp_json_write_fn. */
static int
append(void *ctx, const char *s, size_t n)
{
	struct text *t = ctx;

	if (n > t->cap - t->len) {
		size_t cap = t->cap * 2 + n;
		char *grown = tp_mem_grow(t->alloc, t->s, t->cap, cap, 1);

		if (!grown)
			return -1;
		t->s = grown;
		t->cap = cap;
	}
	memcpy(t->s + t->len, s, n);
	t->len += n;
	return 0;
}

static void
put_narrowed(struct tp_json *j, const struct tp_reader *r, size_t at,
    const struct tpi_narrow *n)
{
	tp_json_key_str(j, n->e->name);
	tp_json_object_begin(j);
	tp_json_key(j, "scheme");
	tp_json_text(j, n->recipe.scheme->name);
	if (!tpi_narrow_casts(n)) {
		tp_json_key(j, "per");
		tp_json_text(j, tp_quant_per_name(n->recipe.per));
		if (n->recipe.per != TP_PER_TENSOR) {
			tp_json_key(j, "axis");
			tp_json_u64(j, n->recipe.axis);
		}
		if (n->recipe.per == TP_PER_BLOCK) {
			tp_json_key(j, "block");
			tp_json_u64(j, n->recipe.block);
		}
		tp_json_key(j, "scale");
		tp_json_str(j, r->entries[at + 1].name);
		if (tpi_narrow_dtype(n, TPI_ZEROS) != TP_DTYPE_NONE) {
			tp_json_key(j, "zero_point");
			tp_json_str(j, r->entries[at + 2].name);
		}
	}
	tp_json_object_end(j);
}

enum tp_status
tpi_quantize_record(struct tp_reader *r, const struct tpi_narrow *narrows,
    const size_t *place, size_t n, struct tp_err *err)
{
	struct text t = {.alloc = r->alloc};
	enum tp_status rc;
	struct tp_json j;

	tp_json_init(&j, append, &t, TP_JSON_COMPACT);
	tp_json_object_begin(&j);
	tp_json_key(&j, "version");
	tp_json_u64(&j, 1);
	tp_json_key(&j, "tensors");
	tp_json_object_begin(&j);
	for (size_t i = 0; i < n; i++)
		if (narrows[i].recipe.scheme)
			put_narrowed(&j, r, place[i], &narrows[i]);
	tp_json_object_end(&j);
	tp_json_object_end(&j);
	if (tp_json_finish(&j))
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for the record of a quantized model");
	else
		rc = tpi_reader_add_meta(r, TP_STR(TP_QUANTIZED_KEY),
		    (struct tp_str){t.s, t.len}, TP_NO_OFFSET, err);
	tp_mem_free(t.alloc, t.s, t.cap, 1);
	return rc;
}
