/* SPDX-License-Identifier: Apache-2.0 */
/* op_run.c - running an operator: its outputs, and where they are wanted */
#include "op_run.h"

#include <string.h>

#include "tp/layout.h"

#include "tensor.h"

#include "banned.h"

static bool
same_elements(const struct tp_tensor *a, const struct tp_tensor *b)
{
	size_t nbytes = a->rank * sizeof(int64_t);

	return a->dtype == b->dtype && a->rank == b->rank &&
	       a->first == b->first &&
	       (!nbytes ||
		   (!memcmp(tp_tensor_sizes(a), tp_tensor_sizes(b), nbytes) &&
		       !memcmp(tp_tensor_strides(a), tp_tensor_strides(b),
			   nbytes)));
}

/* May output 0 be written while the inputs are read? */
static bool
is_safe_target(const struct tpi_call *c, const struct tp_tensor *into)
{
	if (c->op->flags & (TPI_OP_MAKES | TPI_OP_VALUES | TPI_OP_ON_ZEROS) ||
	    tpi_op_widens(c))
		return false;
	/* Other operators than these are promised packed outputs. */
	if (!(c->op->flags & TPI_OP_ELEMENTWISE) &&
	    !tp_tensor_is_row_major(into))
		return false;
	for (size_t k = 0; k < c->n_in; k++)
		if (c->in[k] && c->in[k]->storage == into->storage &&
		    !((c->op->flags & TPI_OP_ELEMENTWISE) &&
			same_elements(c->in[k], into)))
			return false;
	return true;
}

static enum tp_status
check_target(const struct tpi_call *c, const struct tpi_info *info,
    const struct tp_tensor *into, struct tp_err *err)
{
	if (into->dtype != info->dtype || into->rank != info->rank ||
	    (info->rank && memcmp(tp_tensor_sizes(into), info->sizes,
			       info->rank * sizeof(info->sizes[0]))))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: the result has dtype %s and shape %s, its place has "
		    "%s and %s",
		    c->op->onnx, tp_dtype_name(info->dtype),
		    TP_SHAPE_TEXT(info->sizes, info->rank),
		    tp_dtype_name(into->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(into), into->rank));
	return tp_tensor_check_write(into, err);
}

/* infer sees what narrow elements are held as; the result is what they are. */
static void
name_moved(const struct tpi_call *c, struct tpi_info *infos)
{
	for (size_t k = 0; k < c->n_out && tpi_op_widens(c); k++)
		if (c->op->strings_out & TPI_BIT(k))
			infos[k].dtype = c->moves;
}

/* Strings are held as their numbers, narrow elements one a byte. */
static enum tp_dtype
held_as(const struct tpi_call *c, size_t k, enum tp_dtype dtype)
{
	if (tpi_op_widens(c) && c->op->strings_out & TPI_BIT(k))
		return tpi_op_wide(dtype);
	return dtype == TP_DTYPE_STRING ? TP_DTYPE_U64 : dtype;
}

/* Most operators write all of what they make. */
static enum tp_status
make_output(struct tpi_call *c, size_t k, const struct tpi_info *info,
    struct tp_tensor **out, struct tp_err *err)
{
	enum tp_dtype dtype = held_as(c, k, info->dtype);

	if (c->op->flags & TPI_OP_ON_ZEROS)
		return tp_tensor_empty(
		    c->alloc, dtype, info->sizes, info->rank, out, err);
	return tpi_tensor_unwritten(
	    c->alloc, dtype, info->sizes, info->rank, out, err);
}

static enum tp_status
make_outputs(struct tpi_call *c, const struct tpi_info *infos,
    struct tp_tensor *direct, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	if (c->op->flags & (TPI_OP_MAKES | TPI_OP_VALUES))
		return TP_OK;
	for (size_t k = 0; k < c->n_out && !rc; k++)
		rc = k == 0 && direct
			 ? tp_tensor_alias(direct, &c->out[0], err)
			 : make_output(c, k, &infos[k], &c->out[k], err);
	return rc;
}

/* The result of TPI_OP_VALUES, if it is a tensor that fits its place. */
static enum tp_status
take_result(
    struct tpi_call *c, const struct tp_tensor *into, struct tp_err *err)
{
	struct tpi_info info;

	if (c->results[0].kind != TP_VALUE_TENSOR)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: the result is a %s, its place a tensor", c->op->onnx,
		    tp_value_kind_name(c->results[0].kind));
	c->out[0] = c->results[0].tensor;
	c->results[0] = tp_value_of(NULL);
	info = tpi_info_of(c->out[0]);
	return check_target(c, &info, into, err);
}

/* Bring output 0 to where it is wanted, by way of a copy if need be. */
static enum tp_status
settle_target(struct tpi_call *c, struct tp_tensor *into, bool is_direct,
    struct tp_err *err)
{
	enum tp_status rc;

	if (is_direct) {
		tp_tensor_bump_version(into);
		return TP_OK;
	}
	if (c->op->flags & TPI_OP_VALUES) {
		rc = take_result(c, into, err);
		if (rc)
			return rc;
	}
	rc = tp_tensor_assign(into, c->out[0], TP_OVERFLOW_INF, err);
	tp_tensor_free(c->out[0]);
	c->out[0] = NULL;
	return rc ? rc : tp_tensor_alias(into, &c->out[0], err);
}

static enum tp_status
compute(struct tpi_call *c, struct tpi_info *infos, struct tp_tensor *into,
    struct tp_err *err)
{
	bool is_direct = into && is_safe_target(c, into);
	enum tp_status rc = tpi_op_check_attrs(c, err);

	if (!rc)
		rc = tpi_op_choose_kernel(c, err);
	if (!rc && c->op->infer)
		rc = c->op->infer(c, infos, err);
	if (!rc)
		name_moved(c, infos);
	if (!rc && into && c->op->infer)
		rc = check_target(c, &infos[0], into, err);
	if (!rc)
		rc = make_outputs(c, infos, is_direct ? into : NULL, err);
	if (!rc)
		rc = c->op->run(c, err);
	if (!rc)
		rc = tpi_op_narrow(c, err);
	if (!rc && into)
		rc = settle_target(c, into, is_direct, err);
	return rc;
}

/* Inputs, outputs and their shapes: few on the stack, many on the heap. */
struct slots {
	const struct tp_tensor *in[TPI_OP_FEW];
	struct tp_tensor *out[TPI_OP_FEW];
	struct tpi_info infos[TPI_OP_FEW];
	struct tpi_info *all_infos;
};

static enum tp_status
take_slots(struct tpi_call *c, struct slots *s, size_t n_in, size_t n_out,
    struct tp_err *err)
{
	memset(s, 0, sizeof(*s));
	c->in = s->in;
	c->out = s->out;
	s->all_infos = s->infos;
	if (n_in > TPI_OP_FEW)
		c->in = tp_mem_array(c->alloc, n_in, sizeof(*c->in));
	if (n_out > TPI_OP_FEW) {
		c->out = tp_mem_array(c->alloc, n_out, sizeof(*c->out));
		s->all_infos =
		    tp_mem_array(c->alloc, n_out, sizeof(*s->all_infos));
	}
	if (!c->in || !c->out || !s->all_infos)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu inputs and %zu outputs", c->op->onnx,
		    n_in, n_out);
	return TP_OK;
}

static void
drop_slots(struct tpi_call *c, struct slots *s, size_t n_in, size_t n_out)
{
	if (c->in != s->in)
		tp_mem_free(c->alloc, (void *)c->in, n_in, sizeof(*c->in));
	if (c->out != s->out)
		tp_mem_free(c->alloc, c->out, n_out, sizeof(*c->out));
	if (s->all_infos != s->infos)
		tp_mem_free(
		    c->alloc, s->all_infos, n_out, sizeof(*s->all_infos));
}

/* Tensors become values; run may have made values already. */
static void
give_outputs(
    struct tpi_call *c, const struct tpi_info *infos, struct tp_value *outputs)
{
	for (size_t k = 0; k < c->n_out; k++) {
		bool moved =
		    c->moves_strings && c->op->strings_out & TPI_BIT(k);

		if (!c->out[k])
			continue;
		outputs[k] = tp_value_of(c->out[k]);
		if (moved || infos[k].dtype == TP_DTYPE_STRING)
			outputs[k].kind = TP_VALUE_STRINGS;
	}
}

static void
drop_outputs(struct tpi_call *c)
{
	for (size_t k = 0; k < c->n_out; k++) {
		tp_tensor_free(c->out[k]);
		tp_value_release(&c->results[k]);
	}
}

enum tp_status
tp_op_run(const struct tp_op *op, const struct tp_attr *attrs, size_t n_attrs,
    const struct tp_value *inputs, size_t n_in, struct tp_value *outputs,
    size_t n_out, const struct tp_op_opts *opts, struct tp_err *err)
{
	static const struct tp_op_opts no_opts;
	struct tpi_call c = {.op = op, .attrs = attrs, .n_attrs = n_attrs};
	struct slots slots;
	enum tp_status rc;

	for (size_t k = 0; k < n_out; k++)
		outputs[k] = tp_value_of(NULL);
	c.opts = opts ? opts : &no_opts;
	c.alloc = c.opts->alloc;
	c.n_threads = c.opts->n_threads;
	c.results = outputs;
	rc = take_slots(&c, &slots, n_in, n_out, err);
	if (!rc)
		rc = tpi_op_take_inputs(&c, inputs, n_in, n_out, err);
	if (!rc)
		rc = tpi_op_widen(&c, err);
	if (!rc)
		rc = compute(&c, slots.all_infos, c.opts->into, err);
	if (rc)
		drop_outputs(&c);
	else
		give_outputs(&c, slots.all_infos, outputs);
	tpi_op_drop_widened(&c);
	drop_slots(&c, &slots, n_in, n_out);
	return rc;
}

enum tp_status
tpi_op_infer(const struct tp_op *op, const struct tp_attr *attrs,
    size_t n_attrs, const struct tp_value *inputs, size_t n_in,
    struct tpi_info *infos, size_t n_out, const struct tp_op_opts *opts,
    struct tp_err *err)
{
	struct tpi_call c = {.op = op, .attrs = attrs, .n_attrs = n_attrs};
	struct slots slots;
	enum tp_status rc;

	c.opts = opts;
	c.alloc = opts->alloc;
	c.n_threads = opts->n_threads;
	rc = take_slots(&c, &slots, n_in, n_out, err);
	if (!rc)
		rc = tpi_op_take_inputs(&c, inputs, n_in, n_out, err);
	if (!rc)
		rc = tpi_op_check_attrs(&c, err);
	if (!rc && !op->infer)
		rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: shapes depend on values", op->onnx);
	if (!rc)
		rc = op->infer(&c, infos, err);
	if (!rc)
		name_moved(&c, infos);
	drop_slots(&c, &slots, n_in, n_out);
	return rc;
}
