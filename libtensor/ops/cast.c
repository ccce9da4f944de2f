/* SPDX-License-Identifier: Apache-2.0 */
/* cast.c - Cast, CastLike and BitCast */
#include "cast.h"
#include "chunk.h"

#include <inttypes.h>

#include "tp/layout.h"
#include "tp/onnx_dtype.h"

#include "../tensor.h"

#include "../banned.h"

static enum tp_status
find_rounding(
    const struct tpi_call *c, enum tpi_scale_round *round, struct tp_err *err)
{
	static const char *const names[] = {
	    [TPI_SCALE_UP] = "up",
	    [TPI_SCALE_DOWN] = "down",
	    [TPI_SCALE_NEAREST] = "nearest",
	};
	const struct tp_attr *a = tpi_attr_find(c, "round_mode");

	*round = TPI_SCALE_UP;
	if (!a)
		return TP_OK;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (tp_str_cmp(a->s, tp_str(names[i])) == 0) {
			*round = (enum tpi_scale_round)i;
			return TP_OK;
		}
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: round_mode '%s', expected up, down or nearest", c->op->onnx,
	    TP_BRIEF(a->s));
}

/* The dtype of the attribute `to`: a name in opset 1, then a number. */
static enum tp_status
find_to(const struct tpi_call *c, enum tp_dtype *to, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "to");

	if (!a)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: attribute 'to' is missing", c->op->onnx);
	*to = a->kind == TP_ATTR_INT ? tp_onnx_dtype(a->i)
				     : tp_onnx_dtype_named(a->s);
	if (*to)
		return TP_OK;
	if (a->kind == TP_ATTR_INT)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: attribute 'to' is %" PRId64 ", which is no dtype",
		    c->op->onnx, a->i);
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: attribute 'to' is '%s', which is no dtype", c->op->onnx,
	    TP_BRIEF(a->s));
}

static enum tp_status
check_pair(const struct tpi_call *c, enum tp_dtype to, struct tp_err *err)
{
	enum tp_dtype from = c->in[0]->dtype;
	bool from_complex = tp_dtype_kind(from) == TP_KIND_COMPLEX;
	bool to_complex = tp_dtype_kind(to) == TP_KIND_COMPLEX;
	bool is_text = tpi_is_strings(c, 0) || to == TP_DTYPE_STRING;

	if (from_complex ? !to_complex || is_text : to_complex && is_text)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: %s to %s", c->op->onnx,
		    tpi_is_strings(c, 0) ? "string" : tp_dtype_name(from),
		    tp_dtype_name(to));
	return TP_OK;
}

struct cast {
	struct tpi_cast how;
	struct tp_strided from;
	struct tp_tensor *y;
};

static void
cast_chunk(void *ctx, uint64_t from, size_t n)
{
	const struct cast *t = ctx;
	union tpi_chunk room;

	tpi_cast_numbers(&t->how, t->from.dtype,
	    tpi_chunk_read(&t->from, from, n, &room), n,
	    tpi_chunk_place(t->y, from));
}

/* Input 0 into y, which is packed. */
static enum tp_status
cast_into(struct tpi_call *c, enum tp_dtype to, struct tp_tensor *y,
    struct tp_err *err)
{
	struct cast t = {
	    .how = {.to = to,
		.saturate = tpi_attr_int(c, "saturate", 1) != 0,
		.cuts_bf16 = c->op->since < 19},
	    .from = tp_tensor_strided(c->in[0]),
	    .y = y,
	};
	enum tp_status rc = find_rounding(c, &t.how.round, err);

	if (rc)
		return rc;
	if (tpi_is_strings(c, 0) && to == TP_DTYPE_STRING)
		return tp_tensor_assign(y, c->in[0], TP_OVERFLOW_INF, err);
	if (tpi_is_strings(c, 0))
		return tpi_parse_numbers(c, c->in[0], &t.how, y, err);
	if (to == TP_DTYPE_STRING)
		return tpi_print_numbers(c, c->in[0], y, err);
	tpi_for_chunks(c, y->n_elems, cast_chunk, &t);
	return TP_OK;
}

static enum tp_status
infer_cast(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_status rc;

	infos[0] = tpi_info_of(c->in[0]);
	rc = find_to(c, &infos[0].dtype, err);
	return rc ? rc : check_pair(c, infos[0].dtype, err);
}

static enum tp_status
run_cast(struct tpi_call *c, struct tp_err *err)
{
	enum tp_dtype to;
	enum tp_status rc = find_to(c, &to, err);

	return rc ? rc : cast_into(c, to, c->out[0], err);
}

/* Only the dtype of input 1 matters, and whether it is strings. */
static enum tp_status
run_cast_like(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[0], *like = c->in[1];
	struct tp_tensor *y = NULL;
	enum tp_dtype to;
	enum tp_status rc;

	for (size_t k = 0; k < 2; k++)
		if (!c->in[k])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu is a %s, expected a tensor",
			    c->op->onnx, k,
			    tp_value_kind_name(c->values[k].kind));
	to = tpi_is_strings(c, 1) ? TP_DTYPE_STRING : like->dtype;
	rc = check_pair(c, to, err);
	if (!rc)
		rc = tpi_op_temp(c, to == TP_DTYPE_STRING ? TP_DTYPE_U64 : to,
		    tp_tensor_sizes(t), t->rank, &y, err);
	if (!rc)
		rc = cast_into(c, to, y, err);
	if (rc) {
		tp_tensor_free(y);
		return rc;
	}
	c->results[0] = tp_value_of(y);
	if (to == TP_DTYPE_STRING)
		c->results[0].kind = TP_VALUE_STRINGS;
	return TP_OK;
}

static enum tp_status
run_bit_cast(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[0];
	enum tp_dtype to;
	enum tp_status rc = find_to(c, &to, err);

	if (rc)
		return rc;
	if (tp_dtype_bits(to) != tp_dtype_bits(t->dtype))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s has %u bits, %s has %u", c->op->onnx,
		    tp_dtype_name(t->dtype), tp_dtype_bits(t->dtype),
		    tp_dtype_name(to), tp_dtype_bits(to));
	rc = tpi_tensor_derive(t, tp_tensor_sizes(t), tp_tensor_strides(t),
	    t->rank, t->first, &c->out[0], err);
	if (!rc)
		c->out[0]->dtype = to;
	return rc;
}

static const struct tpi_attr_spec cast_attrs[] = {
    {"to", TP_ATTR_INT},
    {"saturate", TP_ATTR_INT},
    {"round_mode", TP_ATTR_STRING},
    {NULL, 0},
};
static const struct tpi_attr_spec attrs_19[] = {
    {"to", TP_ATTR_INT}, {"saturate", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec old_attrs[] = {
    {"to", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec oldest_attrs[] = {
    {"to", TP_ATTR_STRING}, {NULL, 0}};

#define CAST(FROM, TO, ATTRS)                                                  \
	{                                                                      \
		.name = "cast", .onnx = "Cast", .since = FROM, .until = TO,    \
		.min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,          \
		.strings_in = TPI_BIT(0), .attrs = ATTRS, .infer = infer_cast, \
		.run = run_cast                                                \
	}
#define CAST_LIKE(FROM, TO, ATTRS)                                      \
	{                                                               \
		.name = "cast_like", .onnx = "CastLike", .since = FROM, \
		.until = TO, .min_in = 2, .max_in = 2, .min_out = 1,    \
		.max_out = 1, .flags = TPI_OP_VALUES, .attrs = ATTRS,   \
		.run = run_cast_like                                    \
	}

const struct tp_op tpi_cast_ops[] = {
    CAST(24, 0, cast_attrs),
    CAST(19, 23, attrs_19),
    CAST(6, 18, old_attrs),
    CAST(1, 5, oldest_attrs),
    CAST_LIKE(24, 0, cast_attrs + 1),
    CAST_LIKE(19, 23, attrs_19 + 1),
    CAST_LIKE(15, 18, NULL),
    {
	.name = "bit_cast",
	.onnx = "BitCast",
	.since = 26,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.flags = TPI_OP_MAKES,
	.attrs = old_attrs,
	.run = run_bit_cast,
    },
    {.name = NULL},
};
