/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string_normalizer.c - StringNormalizer: stopwords go, letters change case
 */
#include "text.h"

#include <string.h>

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/map.h"

#include "../letter_case.h"
#include "../tensor.h"
#include "indices.h"

#include "../banned.h"

struct normalizer {
	bool changes, upper, is_sensitive;
	struct tp_map stopwords; /* in small letters unless sensitive */
	struct tpi_scratch scratch;
};

/* The number of a text in another case. */
static enum tp_status
recase(const struct tpi_call *c, struct normalizer *z, struct tp_str text,
    bool upper, uint64_t *number, struct tp_err *err)
{
	struct tp_str changed;
	size_t room;
	enum tp_status rc;

	rc = tp_mul_size(text.len, TPI_CASE_ROOM(1), &room)
		 ? TP_ELIMIT
		 : tpi_scratch_room(c, &z->scratch, room, err);
	if (rc)
		return rc;
	changed.s = z->scratch.s;
	changed.len = tpi_change_case(text, upper, z->scratch.s);
	return tp_strings_add(c->opts->strings, changed, number, err);
}

static enum tp_status
find_change(const struct tpi_call *c, struct normalizer *z, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "case_change_action");

	z->is_sensitive = tpi_attr_int(c, "is_case_sensitive", 0) != 0;
	z->upper = a && tp_str_cmp(a->s, TP_STR("UPPER")) == 0;
	z->changes = z->upper || (a && !tp_str_cmp(a->s, TP_STR("LOWER")));
	if (a && !z->changes && tp_str_cmp(a->s, TP_STR("NONE")))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: case_change_action '%s'", c->op->onnx, TP_BRIEF(a->s));
	return TP_OK;
}

/* Words as they are compared: numbers of the pool, whose texts stay. */
static enum tp_status
add_stopwords(
    const struct tpi_call *c, struct normalizer *z, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "stopwords");
	enum tp_status rc = TP_OK;

	for (size_t i = 0; a && i < a->n && !rc; i++) {
		size_t taken;
		uint64_t number = 0;
		struct tp_str word;

		rc = z->is_sensitive
			 ? tp_strings_add(
			       c->opts->strings, a->strings[i], &number, err)
			 : recase(c, z, a->strings[i], false, &number, err);
		if (rc)
			break;
		word = tp_strings_at(c->opts->strings, number);
		if (!tp_map_find(&z->stopwords, word, &taken))
			rc = tp_map_add(&z->stopwords, word, 0, NULL, err);
	}
	return rc;
}

static enum tp_status
normalize(const struct tpi_call *c, struct normalizer *z,
    const uint64_t *numbers, size_t n, struct tpi_indices *kept,
    struct tp_err *err)
{
	struct tp_strings *pool = c->opts->strings;
	enum tp_status rc = tpi_indices_make(c, kept, n + 1, err);

	kept->n = 0;
	for (size_t i = 0; i < n && !rc; i++) {
		uint64_t number = numbers[i];
		size_t value;

		if (!z->is_sensitive)
			rc = recase(c, z, tp_strings_at(pool, number), false,
			    &number, err);
		if (rc || tp_map_find(&z->stopwords,
			      tp_strings_at(pool, number), &value))
			continue;
		number = numbers[i];
		if (z->changes)
			rc = recase(c, z, tp_strings_at(pool, number), z->upper,
			    &number, err);
		kept->at[kept->n++] = (int64_t)number;
	}
	/* If nothing is left: one empty string. */
	if (!rc && kept->n == 0)
		kept->at[kept->n++] = 0;
	return rc;
}

static enum tp_status
run_string_normalizer(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct normalizer z = {.changes = false};
	struct tp_tensor *packed = NULL;
	struct tpi_indices kept = {0};
	int64_t sizes[2] = {1, 1};
	enum tp_status rc = tpi_check_strings(c, 0, err);

	tp_map_init(&z.stopwords, c->alloc);
	if (!rc && x->rank != 1 && (x->rank != 2 || tp_tensor_sizes(x)[0] != 1))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input of shape %s, expected [C] or [1, C]",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
	if (!rc)
		rc = find_change(c, &z, err);
	if (!rc)
		rc = add_stopwords(c, &z, err);
	if (!rc)
		rc = tp_tensor_contiguous(x, &packed, err);
	if (!rc)
		rc = normalize(c, &z, tp_tensor_data(packed),
		    (size_t)x->n_elems, &kept, err);
	sizes[x->rank == 2] = (int64_t)kept.n;
	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_U64, sizes, x->rank, &c->out[0], err);
	if (!rc)
		memcpy(tp_tensor_data_mut(c->out[0]), kept.at,
		    kept.n * sizeof(*kept.at));
	tpi_indices_release(&kept);
	tp_map_release(&z.stopwords);
	tpi_scratch_release(c, &z.scratch);
	tp_tensor_free(packed);
	return rc;
}

static const struct tpi_attr_spec normalizer_attrs[] = {
    {"case_change_action", TP_ATTR_STRING}, {"is_case_sensitive", TP_ATTR_INT},
    {"locale", TP_ATTR_STRING}, {"stopwords", TP_ATTR_STRINGS}, {NULL, 0}};

const struct tp_op tpi_string_normalizer_ops[] = {
    {.name = "string_normalizer",
	.onnx = "StringNormalizer",
	.since = 10,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.flags = TPI_OP_MAKES,
	.strings_in = TPI_BIT(0),
	.dtypes = TPI_BIT(TP_DTYPE_STRING),
	.strings_out = TPI_BIT(0),
	.attrs = normalizer_attrs,
	.run = run_string_normalizer},
    {.name = NULL},
};
