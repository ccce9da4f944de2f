/* SPDX-License-Identifier: Apache-2.0 */
/* stack.c - tensors of one shape that become the rows of another */
#include "stack.h"

#include <string.h>

#include "tp/checked.h"
#include "tp/layout.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

/* Rows there is room for at first. */
#define FEW_ROWS 8

static enum tp_status
make_rows(const struct tpi_stack *s, enum tp_dtype dtype, const int64_t *sizes,
    unsigned rank, int64_t room, struct tp_tensor **out, struct tp_err *err)
{
	int64_t all[TP_MAX_RANK];

	if (rank >= TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: output %zu would have rank %u, the largest is %u",
		    s->c->op->onnx, s->number, rank + 1, TP_MAX_RANK);
	all[0] = room;
	if (rank)
		memcpy(&all[1], sizes, rank * sizeof(*sizes));
	return tp_tensor_empty(s->c->alloc, dtype, all, rank + 1, out, err);
}

/* The first n rows in room of another size. */
static enum tp_status
move_rows(struct tpi_stack *s, int64_t n, int64_t room, struct tp_err *err)
{
	struct tp_tensor *old = NULL, *place = NULL, *rows = NULL;
	enum tp_status rc;

	rc = make_rows(s, s->rows->dtype, tp_tensor_sizes(s->rows) + 1,
	    s->rows->rank - 1, room, &rows, err);
	if (!rc)
		rc = tp_tensor_narrow(s->rows, 0, 0, n, &old, err);
	if (!rc)
		rc = tp_tensor_narrow(rows, 0, 0, n, &place, err);
	if (!rc)
		rc = tp_tensor_assign(place, old, TP_OVERFLOW_INF, err);
	tp_tensor_free(old);
	tp_tensor_free(place);
	if (rc) {
		tp_tensor_free(rows);
		return rc;
	}
	tp_tensor_free(s->rows);
	s->rows = rows;
	return TP_OK;
}

static enum tp_status
grow(struct tpi_stack *s, int64_t row, struct tp_err *err)
{
	int64_t have = tp_tensor_sizes(s->rows)[0], room;

	if (row < have)
		return TP_OK;
	if (tp_mul_i64(have, 2, &room))
		room = INT64_MAX;
	if (s->most && room > s->most)
		room = s->most;
	if (room <= row)
		room = row + 1;
	return move_rows(s, have, room, err);
}

static enum tp_status
begin(struct tpi_stack *s, int64_t row, const struct tp_value *v,
    struct tp_err *err)
{
	const struct tp_tensor *t = v->tensor;
	int64_t room =
	    s->most && s->most < FEW_ROWS ? s->most : (int64_t)FEW_ROWS;

	s->kind = v->kind;
	return make_rows(s, t->dtype, tp_tensor_sizes(t), t->rank,
	    row < room ? room : row + 1, &s->rows, err);
}

static bool
has_shape_of_row(const struct tpi_stack *s, const struct tp_tensor *t)
{
	return t->rank + 1 == s->rows->rank &&
	       (!t->rank ||
		   !memcmp(tp_tensor_sizes(t), tp_tensor_sizes(s->rows) + 1,
		       t->rank * sizeof(int64_t)));
}

static enum tp_status
check_row(
    const struct tpi_stack *s, const struct tp_value *v, struct tp_err *err)
{
	const struct tp_tensor *t = v->tensor;

	if (!tp_value_has_tensor(v))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: what its graph makes of output %zu is a value of kind "
		    "'%s', expected a tensor",
		    s->c->op->onnx, s->number, tp_value_kind_name(v->kind));
	if (!s->rows)
		return TP_OK;
	if (v->kind != s->kind || t->dtype != s->rows->dtype ||
	    !has_shape_of_row(s, t))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: output %zu has dtype %s and shape %s this time, "
		    "%s and %s before",
		    s->c->op->onnx, s->number, tp_dtype_name(t->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
		    tp_dtype_name(s->rows->dtype),
		    TP_SHAPE_TEXT(
			tp_tensor_sizes(s->rows) + 1, s->rows->rank - 1));
	return TP_OK;
}

enum tp_status
tpi_stack_put(struct tpi_stack *s, int64_t row, const struct tp_value *v,
    struct tp_err *err)
{
	struct tp_tensor *place = NULL;
	enum tp_status rc = check_row(s, v, err);

	if (!rc)
		rc = s->rows ? grow(s, row, err) : begin(s, row, v, err);
	if (!rc)
		rc = tp_tensor_select(s->rows, 0, row, &place, err);
	if (!rc)
		rc = tp_tensor_assign(place, v->tensor, TP_OVERFLOW_INF, err);
	tp_tensor_free(place);
	return rc;
}

/* n rows of zeros, of what the graph declares. */
static enum tp_status
make_undone(struct tpi_stack *s, int64_t n, struct tp_err *err)
{
	const struct tp_binding *b = s->binding;
	enum tp_dtype dtype = b->type.dtype;
	int64_t sizes[TP_MAX_RANK] = {0};
	unsigned rank = b->has_shape ? b->rank : 0;

	if (b->type.kind != TP_VALUE_TENSOR || dtype == TP_DTYPE_NONE ||
	    rank >= TP_MAX_RANK)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: its graph never ran and does not declare what output "
		    "%zu is",
		    s->c->op->onnx, s->number);
	for (unsigned d = 0; d < rank; d++)
		sizes[d] = b->sizes[d] < 0 ? 0 : b->sizes[d];
	s->kind = dtype == TP_DTYPE_STRING ? TP_VALUE_STRINGS : TP_VALUE_TENSOR;
	return make_rows(s, dtype == TP_DTYPE_STRING ? TP_DTYPE_U64 : dtype,
	    sizes, rank, n, &s->rows, err);
}

enum tp_status
tpi_stack_take(
    struct tpi_stack *s, int64_t n, struct tp_value *out, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	int64_t have;

	if (!s->rows)
		rc = make_undone(s, n, err);
	have = rc ? n : tp_tensor_sizes(s->rows)[0];
	if (!rc && have != n)
		rc = move_rows(s, have < n ? have : n, n, err);
	if (rc)
		return rc;
	*out = tp_value_of(s->rows);
	out->kind = s->kind;
	s->rows = NULL;
	return TP_OK;
}

void
tpi_stack_drop(struct tpi_stack *s)
{
	tp_tensor_free(s->rows);
	s->rows = NULL;
}
