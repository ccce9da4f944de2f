/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_check_values.c - what is declared of values, and what they are
 */
#include "onnx_check.h"

#include <inttypes.h>
#include <stdio.h>

#include "tp/onnx_dtype.h"

#include "onnx_slots.h"

#include "banned.h"

/* An initializer as far as its type goes. */
struct initializer {
	struct tp_str name;
	int32_t type;
	const int64_t *dims;
	size_t n_dims;
};

static struct initializer
initializer_of(const TpOnnx__GraphProto *g, size_t i)
{
	struct initializer x = {.name = TP_STR("")};
	const TpOnnx__SparseTensorProto *sparse;
	const TpOnnx__TensorProto *t;

	if (i < g->n_initializer) {
		t = g->initializer[i];
		x.dims = t->dims;
		x.n_dims = t->n_dims;
	} else {
		sparse = g->sparse_initializer[i - g->n_initializer];
		t = sparse->values;
		x.dims = sparse->dims;
		x.n_dims = sparse->n_dims;
	}
	if (t) {
		x.name = tpi_onnx_str(t->name);
		x.type = t->data_type;
	}
	return x;
}

struct tp_str
tpi_check_initializer_name(const TpOnnx__GraphProto *g, size_t i)
{
	return initializer_of(g, i).name;
}

/* "f32", or a number that has no name here. */
static const char *
type_name(int32_t type, char buf[24])
{
	enum tp_dtype dtype = tp_onnx_dtype(type);

	if (dtype != TP_DTYPE_NONE)
		return tp_dtype_name(dtype);
	snprintf(buf, 24, "type %" PRId32, type);
	return buf;
}

static void
check_dims(struct tpi_check *c, struct tpi_check_scope *s, const char *what,
    const struct initializer *x, const TpOnnx__TensorShapeProto *shape)
{
	if (shape->n_dim != x->n_dims) {
		tpi_check_say(c, s, true,
		    "initializer '%s' has %zu axes, as %s it is declared with "
		    "%zu",
		    TP_BRIEF(x->name), x->n_dims, what, shape->n_dim);
		return;
	}
	for (size_t d = 0; d < x->n_dims; d++)
		if (shape->dim[d]->has_dim_value &&
		    shape->dim[d]->dim_value != x->dims[d]) {
			tpi_check_say(c, s, true,
			    "initializer '%s' has size %" PRId64
			    " on axis %zu, as %s it is declared with %" PRId64,
			    TP_BRIEF(x->name), x->dims[d], d, what,
			    shape->dim[d]->dim_value);
			return;
		}
}

static void
check_value(struct tpi_check *c, struct tpi_check_scope *s,
    const TpOnnx__GraphProto *g, const TpOnnx__ValueInfoProto *v,
    const char *what)
{
	const TpOnnx__TypeProto__Tensor *type = NULL;
	struct tp_str name = tpi_onnx_str(v->name);
	struct initializer x;
	char one[24], two[24];
	size_t i;

	if (!name.len || !v->type || !tp_map_find(&s->initializers, name, &i))
		return;
	x = initializer_of(g, i);
	type = v->type->tensor_type ? v->type->tensor_type
				    : v->type->sparse_tensor_type;
	if (!type) {
		if (v->type->sequence_type || v->type->map_type ||
		    v->type->optional_type)
			tpi_check_say(c, s, true,
			    "initializer '%s' is declared as something else "
			    "than a tensor",
			    TP_BRIEF(name));
		return;
	}
	if (type->elem_type && type->elem_type != x.type)
		tpi_check_say(c, s, true,
		    "initializer '%s' is %s, as %s it is declared as %s",
		    TP_BRIEF(name), type_name(x.type, one), what,
		    type_name(type->elem_type, two));
	if (type->shape)
		check_dims(c, s, what, &x, type->shape);
}

void
tpi_check_values(
    struct tpi_check *c, struct tpi_check_scope *s, const TpOnnx__GraphProto *g)
{
	bool is_main = !s->path_of;

	for (size_t i = 0; i < g->n_input; i++) {
		struct tp_str name = tpi_onnx_str(g->input[i]->name);

		if (is_main && name.len && !g->input[i]->type)
			tpi_check_say(c, s, true, "input '%s' has no type",
			    TP_BRIEF(name));
		check_value(c, s, g, g->input[i], "input");
	}
	for (size_t i = 0; i < g->n_output; i++)
		check_value(c, s, g, g->output[i], "output");
	for (size_t i = 0; i < g->n_value_info; i++)
		check_value(c, s, g, g->value_info[i], "value");
}

/* The types of values that an attribute holds, as bits by their number. */
static unsigned
values_of(const TpOnnx__AttributeProto *a)
{
	const bool there[] = {
	    [1] = a->has_f,
	    [2] = a->has_i,
	    [3] = a->has_s,
	    [4] = a->t != NULL,
	    [5] = a->g != NULL,
	    [6] = a->n_floats > 0,
	    [7] = a->n_ints > 0,
	    [8] = a->n_strings > 0,
	    [9] = a->n_tensors > 0,
	    [10] = a->n_graphs > 0,
	    [11] = a->sparse_tensor != NULL,
	    [12] = a->n_sparse_tensors > 0,
	    [13] = a->tp != NULL,
	    [14] = a->n_type_protos > 0,
	};
	unsigned bits = 0;

	for (unsigned i = 1; i < sizeof(there) / sizeof(there[0]); i++)
		if (there[i])
			bits |= 1u << i;
	return bits;
}

static void
check_attribute(struct tpi_check *c, struct tpi_check_scope *s,
    const TpOnnx__AttributeProto *a)
{
	struct tp_str name = tpi_onnx_str(a->name);
	struct tp_str parameter = tpi_onnx_str(a->ref_attr_name);
	unsigned values = values_of(a);
	size_t i;

	if (!name.len)
		tpi_check_say(c, s, true,
		    "node %zu has an attribute without a name", s->at);
	if (parameter.len) {
		if (!c->function)
			tpi_check_say(c, s, true,
			    "node %zu: attribute '%s' is that of a function, "
			    "outside of one",
			    s->at, TP_BRIEF(name));
		else if (!tp_map_find(&c->parameters, parameter, &i))
			tpi_check_say(c, s, true,
			    "node %zu: attribute '%s' is '%s' of the function, "
			    "which has none of that name",
			    s->at, TP_BRIEF(name), TP_BRIEF(parameter));
		return;
	}
	if (a->type < 1 || a->type > 14)
		tpi_check_say(c, s, c->model->ir_version >= 2,
		    "node %zu: attribute '%s' has no type", s->at,
		    TP_BRIEF(name));
	else if (values & ~(1u << a->type))
		tpi_check_say(c, s, true,
		    "node %zu: attribute '%s' holds another value than its "
		    "type says",
		    s->at, TP_BRIEF(name));
}

void
tpi_check_attributes(struct tpi_check *c, struct tpi_check_scope *s,
    const TpOnnx__NodeProto *node)
{
	struct tp_map names;

	tp_map_init(&names, c->alloc);
	for (size_t i = 0; i < node->n_attribute; i++) {
		struct tp_str name = tpi_onnx_str(node->attribute[i]->name);
		enum tp_status rc = tp_map_add(&names, name, i, NULL, NULL);

		if (rc == TP_EARG)
			tpi_check_say(c, s, true,
			    "node %zu has attribute '%s' twice", s->at,
			    TP_BRIEF(name));
		else
			c->no_memory |= rc != TP_OK;
		check_attribute(c, s, node->attribute[i]);
	}
	tp_map_release(&names);
}
