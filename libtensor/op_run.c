/* SPDX-License-Identifier: Apache-2.0 */
/* op_run.c - running an operator: checks, outputs, threads */
#include "op.h"

#include <stdio.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/layout.h"
#include "tp/parallel.h"

#include "tensor.h"

#include "banned.h"

/* Elements below which a second thread costs more than it gives. */
#define WORTH_A_THREAD (1 << 16)

size_t
tpi_op_parts(const struct tpi_call *c, uint64_t work, uint64_t most)
{
	uint64_t n = work / WORTH_A_THREAD;
	unsigned threads = c->n_threads;

	if (n <= 1)
		return 1;
	if (!threads)
		threads = tp_cpu_count();
	if (n > threads)
		n = threads;
	if (n > most)
		n = most;
	return n < 1 ? 1 : (size_t)n;
}

struct elementwise {
	const struct tp_iter *it;
	size_t n_parts;
	tp_loop_fn *kernel;
	void *ctx;
};

static void
run_part(void *ctx, size_t k)
{
	const struct elementwise *e = ctx;
	struct tp_iter part;

	tp_iter_part(e->it, k, e->n_parts, &part);
	tp_iter_run(&part, e->kernel, e->ctx);
}

enum tp_status
tpi_run_elementwise_with(struct tpi_call *c, void *ctx, struct tp_err *err)
{
	struct elementwise e = {.kernel = c->kernel, .ctx = ctx};
	struct tp_iter it;
	enum tp_status rc =
	    tp_iter_init(&it, &c->out[0], 1, c->in, (unsigned)c->n_in, 0, err);

	if (rc)
		return rc;
	e.it = &it;
	e.n_parts = tpi_op_parts(c, it.n_elems, (uint64_t)it.sizes[0]);
	tp_parallel(c->n_threads, e.n_parts, run_part, &e);
	return TP_OK;
}

enum tp_status
tpi_run_elementwise(struct tpi_call *c, struct tp_err *err)
{
	return tpi_run_elementwise_with(c, NULL, err);
}

enum tp_status
tpi_op_temp(const struct tpi_call *c, enum tp_dtype dtype, const int64_t *sizes,
    unsigned rank, struct tp_tensor **out, struct tp_err *err)
{
	return tpi_tensor_unwritten(c->alloc, dtype, sizes, rank, out, err);
}

void *
tpi_op_scratch(const struct tpi_call *c, size_t n, size_t size)
{
	const struct tp_alloc *a = c->alloc ? c->alloc : tp_alloc_default();
	size_t nbytes;

	if (tp_mul_size(n, size, &nbytes))
		return NULL;
	return a->alloc(a->ctx, nbytes ? nbytes : 1);
}

/* "f16, bf16, f32": what the operator takes. */
static void
list_dtypes(const struct tp_op *op, char *text, size_t size)
{
	size_t at = 0;

	text[0] = 0;
	for (int d = 0; d < TP_DTYPE_COUNT && at < size; d++)
		if (tp_op_takes(op, (enum tp_dtype)d))
			at += (size_t)snprintf(text + at, size - at, "%s%s",
			    at ? ", " : "", tp_dtype_name((enum tp_dtype)d));
}

/* Is input k of a kind that the operator takes there? */
static enum tp_status
check_kind(const struct tpi_call *c, size_t k, const struct tp_value *v,
    struct tp_err *err)
{
	if (v->kind == TP_VALUE_NONE && k < c->op->min_in)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu is missing", c->op->onnx, k);
	if (v->kind <= TP_VALUE_TENSOR || c->op->flags & TPI_OP_VALUES)
		return TP_OK;
	if (v->kind == TP_VALUE_STRINGS && c->op->strings_in & TPI_BIT(k))
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: input %zu is a %s",
	    c->op->onnx, k, tp_value_kind_name(v->kind));
}

/*
 * Complex numbers are for operators that do not look at elements, which take
 * strings too, and for those with a kernel.
 */
static bool
may_be_complex(const struct tp_op *op, size_t k)
{
	return op->flags & TPI_OP_VALUES || op->strings_in & TPI_BIT(k) ||
	       (op->kernels && k == op->kernel_of);
}

static enum tp_status
take_input(
    struct tpi_call *c, size_t k, const struct tp_value *v, struct tp_err *err)
{
	const struct tp_tensor *t = tp_value_has_tensor(v) ? v->tensor : NULL;
	enum tp_status rc = check_kind(c, k, v, err);

	if (rc)
		return rc;
	if (t && t->sparse)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: input %zu is sparse; tp_to_dense first", c->op->onnx,
		    k);
	if (t && t->batch)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: input %zu is inside tp_vmap; tp/ops.h takes it",
		    c->op->onnx, k);
	if (t && t->quantizer)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: input %zu is quantized; tp_dequantize first",
		    c->op->onnx, k);
	if (t && tp_dtype_kind(t->dtype) == TP_KIND_COMPLEX &&
	    !may_be_complex(c->op, k))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: input %zu has dtype %s", c->op->onnx, k,
		    tp_dtype_name(t->dtype));
	c->in[k] = t;
	return TP_OK;
}

/* Inputs that may be strings together are, or are not. */
static enum tp_status
check_strings(struct tpi_call *c, struct tp_err *err)
{
	size_t first = c->n_in;

	for (size_t k = 0; k < c->n_in; k++) {
		if (!(c->op->strings_in & TPI_BIT(k)) ||
		    !tp_value_has_tensor(&c->values[k]))
			continue;
		if (first == c->n_in)
			first = k;
		if (c->values[k].kind != c->values[first].kind)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu is a %s, input %zu a %s",
			    c->op->onnx, k,
			    tp_value_kind_name(c->values[k].kind), first,
			    tp_value_kind_name(c->values[first].kind));
	}
	c->moves_strings = first < c->n_in && tpi_is_strings(c, first);
	return TP_OK;
}

static enum tp_status
take_inputs(struct tpi_call *c, const struct tp_value *inputs, size_t n_in,
    size_t n_out, struct tp_err *err)
{
	const struct tp_op *op = c->op;
	enum tp_status rc = TP_OK;

	/* Absent inputs at the end are not given. */
	while (n_in > 0 && inputs[n_in - 1].kind == TP_VALUE_NONE)
		n_in--;
	if (n_in < op->min_in || (op->max_in != TP_OP_ANY && n_in > op->max_in))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu inputs, it takes %u to %u", op->onnx, n_in,
		    op->min_in, op->max_in);
	if (n_out < op->min_out ||
	    (op->max_out != TP_OP_ANY && n_out > op->max_out))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu outputs, it has %u to %u", op->onnx, n_out,
		    op->min_out, op->max_out);
	c->values = inputs;
	c->n_in = n_in;
	c->n_out = n_out;
	for (size_t k = 0; k < n_in && !rc; k++)
		rc = take_input(c, k, &inputs[k], err);
	return rc ? rc : check_strings(c, err);
}

static enum tp_status
check_attrs(const struct tpi_call *c, struct tp_err *err)
{
	for (size_t i = 0; i < c->n_attrs; i++) {
		const struct tpi_attr_spec *spec = c->op->attrs;
		const struct tp_attr *a = &c->attrs[i];

		while (spec && spec->name &&
		       tp_str_cmp(tp_str(spec->name), a->name))
			spec++;
		if (!spec || !spec->name)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s (opset %d on) has no attribute '%s'",
			    c->op->onnx, c->op->since, TP_BRIEF(a->name));
		if (spec->kind != a->kind)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: attribute '%s' is of kind %s, expected %s",
			    c->op->onnx, spec->name, tp_attr_kind_name(a->kind),
			    tp_attr_kind_name(spec->kind));
	}
	return TP_OK;
}

static enum tp_status
choose_kernel(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[c->op->kernel_of];
	enum tp_dtype dtype;
	char takes[240];

	if ((!c->op->kernels && !c->op->dtypes) || !t)
		return TP_OK;
	dtype = tpi_is_strings(c, c->op->kernel_of) ? TP_DTYPE_STRING
		: tpi_op_widens(c)		    ? c->moves
						    : t->dtype;
	if (c->op->kernels)
		c->kernel = c->op->kernels[t->dtype];
	if (c->op->kernels ? c->kernel != NULL : tp_op_takes(c->op, dtype))
		return TP_OK;
	list_dtypes(c->op, takes, sizeof(takes));
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "%s of dtype %s; it is implemented for %s", c->op->onnx,
	    tp_dtype_name(dtype), takes);
}

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
	enum tp_status rc = check_attrs(c, err);

	if (!rc)
		rc = choose_kernel(c, err);
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
		rc = take_inputs(&c, inputs, n_in, n_out, err);
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
		rc = take_inputs(&c, inputs, n_in, n_out, err);
	if (!rc)
		rc = check_attrs(&c, err);
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
