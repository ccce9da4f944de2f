/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_narrow.c - elements narrower than a byte, for operators that move elements
 *
 *	i4 [3, -2]  ->  i8 [3, -2]  -> run ->  i8 [-2, 3]  ->  i4 [-2, 3]
 *
 * An operator of TPI_OP_MOVES sees them one a byte: integers as their values,
 * floats as their codes. Its results are packed again, modulo their width.
 */
#include "op.h"

#include "tp/copy.h"

#include "packed.h"
#include "tensor.h"

#include "banned.h"

bool
tpi_op_widens(const struct tpi_call *c)
{
	unsigned bits = tp_dtype_bits(c->moves);

	return c->op->flags & TPI_OP_MOVES && bits > 0 && bits < 8;
}

enum tp_dtype
tpi_op_wide(enum tp_dtype narrow)
{
	return tp_dtype_kind(narrow) == TP_KIND_INT ? TP_DTYPE_I8 : TP_DTYPE_U8;
}

static enum tp_status
widen(const struct tpi_call *c, const struct tp_tensor *narrow,
    struct tp_tensor **out, struct tp_err *err)
{
	unsigned bits = tp_dtype_bits(narrow->dtype), sign;
	struct tp_tensor *packed = NULL;
	const uint8_t *from;
	uint8_t *to;
	enum tp_status rc;

	rc = tpi_op_temp(c, tpi_op_wide(narrow->dtype), tp_tensor_sizes(narrow),
	    narrow->rank, out, err);
	if (!rc)
		rc = tp_tensor_contiguous(narrow, &packed, err);
	if (rc)
		return rc;
	from = tp_tensor_data(packed);
	to = tp_tensor_data_mut(*out);
	sign =
	    tp_dtype_kind(narrow->dtype) == TP_KIND_INT ? 1u << (bits - 1) : 0;
	for (size_t i = 0; i < narrow->n_elems; i++)
		to[i] =
		    (uint8_t)((tpi_packed_get(from, i, bits) ^ sign) - sign);
	tp_tensor_free(packed);
	return TP_OK;
}

static enum tp_status
narrow(const struct tpi_call *c, const struct tp_tensor *wide,
    struct tp_tensor **out, struct tp_err *err)
{
	unsigned bits = tp_dtype_bits(c->moves);
	struct tp_tensor *packed = NULL;
	const uint8_t *from;
	uint8_t *to;
	enum tp_status rc;

	rc = tpi_op_temp(
	    c, c->moves, tp_tensor_sizes(wide), wide->rank, out, err);
	if (!rc)
		rc = tp_tensor_contiguous(wide, &packed, err);
	if (rc)
		return rc;
	from = tp_tensor_data(packed);
	to = tp_tensor_data_mut(*out);
	for (size_t i = 0; i < wide->n_elems; i++)
		tpi_packed_put(to, i, bits, from[i] & ((1u << bits) - 1));
	tp_tensor_free(packed);
	return TP_OK;
}

/* What is moved together has one dtype, which becomes c->moves. */
static enum tp_status
check_moved(struct tpi_call *c, struct tp_err *err)
{
	size_t first = c->n_in;

	for (size_t k = 0; k < c->n_in; k++) {
		if (!c->in[k] || !(c->op->strings_in & TPI_BIT(k)))
			continue;
		if (first == c->n_in)
			first = k;
		if (c->in[k]->dtype != c->in[first]->dtype)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has dtype %s, input %zu has %s",
			    c->op->onnx, k, tp_dtype_name(c->in[k]->dtype),
			    first, tp_dtype_name(c->in[first]->dtype));
	}
	if (first < c->n_in)
		c->moves =
		    c->moves_strings ? TP_DTYPE_STRING : c->in[first]->dtype;
	return TP_OK;
}

enum tp_status
tpi_op_widen(struct tpi_call *c, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	if (c->op->flags & TPI_OP_MOVES)
		rc = check_moved(c, err);
	if (rc || !tpi_op_widens(c))
		return rc;
	c->widened = tp_mem_array(c->alloc, c->n_in, sizeof(*c->widened));
	if (!c->widened)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu inputs", c->op->onnx, c->n_in);
	for (size_t k = 0; k < c->n_in && !rc; k++)
		if (c->in[k] && c->op->strings_in & TPI_BIT(k)) {
			rc = widen(c, c->in[k], &c->widened[k], err);
			c->in[k] = c->widened[k];
		}
	return rc;
}

enum tp_status
tpi_op_narrow(struct tpi_call *c, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < c->n_out && !rc && tpi_op_widens(c); k++) {
		struct tp_tensor *packed = NULL;

		if (!c->out[k] || !(c->op->strings_out & TPI_BIT(k)))
			continue;
		rc = narrow(c, c->out[k], &packed, err);
		tp_tensor_free(c->out[k]);
		c->out[k] = packed;
	}
	return rc;
}

void
tpi_op_drop_widened(struct tpi_call *c)
{
	for (size_t k = 0; k < c->n_in && c->widened; k++)
		tp_tensor_free(c->widened[k]);
	if (c->widened)
		tp_mem_free(c->alloc, c->widened, c->n_in, sizeof(*c->widened));
}
