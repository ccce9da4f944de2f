/* SPDX-License-Identifier: Apache-2.0 */
/* mutate.c - damage to models: bytes, nodes, attributes, values */
#include "mutate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/op.h"

#include "support/random.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Numbers that code is wrong about. */
static const int64_t numbers[] = {0, 1, -1, 2, -2, 3, 5, 7, 8, 16, 31, 32, 63,
    64, 65, 255, 256, 1000, 65535, 65536, 1000000, INT32_MAX, INT32_MIN,
    (int64_t)1 << 32, (int64_t)1 << 40, (int64_t)1 << 62, -((int64_t)1 << 62),
    INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1};

static const double reals[] = {
    0, -0.0, 1, -1, 0.5, 2, 1e-320, 1e308, -1e308, 1e18, 3e9, -3e9};

static const char *const texts[] = {"", "linear", "nearest", "cubic", "edge",
    "wrap", "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "bidirectional",
    "reverse", "none", "mean", "sum", "add", "mul", "ij,jk->ik", "...ii->...i",
    "->", "i,i,i,i,i,i,i,i->i", "DCR", "CRD", "\xff\xfe", "Tanh", "Relu",
    "((((((((((a*)*)*)*)*)*)*)*)*)*b", "[", "\\"};

void
mutation_init(struct mutation *m, uint64_t seed, uint64_t number)
{
	*m = (struct mutation){
	    .random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^
		      (number + 1) * UINT64_C(0xbf58476d1ce4e5b9)};
	if (!m->random)
		m->random = 1;
	for (int i = 0; i < 8; i++)
		random_next(&m->random);
}

void
mutation_release(struct mutation *m)
{
	for (size_t i = 0; i < m->n_blocks; i++)
		free(m->blocks[i]);
	for (size_t i = 0; i < m->n_values; i++)
		tp_value_release(&m->values[i]);
}

size_t
mutation_below(struct mutation *m, size_t n)
{
	return n ? (size_t)(random_next(&m->random) >> 11) % n : 0;
}

#define ONE_OF(m, array) (array)[mutation_below(m, COUNT_OF(array))]

static void *
take(struct mutation *m, size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p || m->n_blocks == COUNT_OF(m->blocks))
		abort();
	return m->blocks[m->n_blocks++] = p;
}

static void *
copy(struct mutation *m, const void *from, size_t n, size_t more, size_t size)
{
	char *to = take(m, n + more, size);

	if (n)
		memcpy(to, from, n * size);
	return to;
}

static uint8_t *
read_bytes(struct mutation *m, const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 ||
	    fseek(f, 0, SEEK_SET))
		abort();
	bytes = take(m, (size_t)size + 16, 1);
	*n = fread(bytes, 1, (size_t)size, f);
	fclose(f);
	return bytes;
}

static void
mutate_byte(struct mutation *m, uint8_t *bytes, size_t *n)
{
	size_t at = mutation_below(m, *n);

	switch (mutation_below(m, 5)) {
	case 0:
		bytes[at] ^= (uint8_t)(1 << mutation_below(m, 8));
		break;
	case 1:
		bytes[at] = (uint8_t)mutation_below(m, 256);
		break;
	case 2: /* one less */
		if (*n > 1) {
			memmove(bytes + at, bytes + at + 1, *n - at - 1);
			--*n;
		}
		break;
	case 3: /* the end is missing */
		if (mutation_below(m, 8) == 0)
			*n = at;
		break;
	default: /* somewhere else once more */
		bytes[at] = bytes[mutation_below(m, *n)];
		break;
	}
}

uint8_t *
mutate_bytes(struct mutation *m, const char *path, size_t *n)
{
	uint8_t *bytes = read_bytes(m, path, n);

	for (size_t i = 1 + mutation_below(m, 4); i > 0 && *n; i--)
		mutate_byte(m, bytes, n);
	return bytes;
}

/* A tensor of any dtype and shape, not large. */
static struct tp_value
random_tensor(struct mutation *m)
{
	static const int64_t sizes_of[] = {0, 1, 1, 2, 2, 3, 4, 5, 8, 17};
	int64_t sizes[8];
	unsigned rank = (unsigned)mutation_below(m, 6);
	struct tp_tensor *t = NULL;
	struct tp_value v;
	uint8_t *data;
	size_t nbytes;

	for (unsigned d = 0; d < rank; d++)
		sizes[d] = ONE_OF(m, sizes_of);
	if (tp_tensor_empty(NULL,
		(enum tp_dtype)mutation_below(m, TP_DTYPE_COUNT), sizes, rank,
		&t, NULL))
		return tp_value_of(NULL);
	v = tp_value_of(t);
	nbytes = tp_storage_nbytes(tp_tensor_storage(t));
	data = tp_storage_data_mut(tp_tensor_storage(t));
	for (size_t i = 0; i + 8 <= nbytes; i += 8)
		memcpy(data + i, &ONE_OF(m, numbers), 8);
	if (mutation_below(m, 2))
		for (size_t i = 0; i < nbytes; i++)
			data[i] = (uint8_t)mutation_below(m, 256);
	if (tp_tensor_dtype(t) == TP_DTYPE_U64 && mutation_below(m, 2))
		v.kind = TP_VALUE_STRINGS;
	return v;
}

/* A tensor, or a sequence or an optional of some. */
static struct tp_value
random_value(struct mutation *m)
{
	struct tp_type type = {
	    TP_VALUE_SEQUENCE, TP_VALUE_TENSOR, TP_DTYPE_F32};
	size_t n = mutation_below(m, 4);
	struct tp_value items[4], v;

	if (mutation_below(m, 4))
		return random_tensor(m);
	if (mutation_below(m, 2)) {
		type.kind = TP_VALUE_OPTIONAL;
		n = mutation_below(m, 2);
	}
	for (size_t i = 0; i < n; i++)
		items[i] = random_tensor(m);
	if (tp_list_new(NULL, type, items, n, &v, NULL))
		return tp_value_of(NULL);
	return v;
}

/* A value that the mutation owns. */
static struct tp_value *
keep_value(struct mutation *m, struct tp_value v)
{
	if (m->n_values == COUNT_OF(m->values))
		abort();
	m->values[m->n_values] = v;
	return &m->values[m->n_values++];
}

/* Give an attribute another value of its kind. */
static void
mutate_payload(struct mutation *m, struct tp_attr *a)
{
	size_t at = mutation_below(m, a->n);
	struct tp_str *strings;
	int64_t *ints;
	double *floats;

	switch (a->kind) {
	case TP_ATTR_INT:
		a->i = ONE_OF(m, numbers);
		break;
	case TP_ATTR_FLOAT:
		a->f = mutation_below(m, 8) ? ONE_OF(m, reals) : NAN;
		break;
	case TP_ATTR_STRING:
		a->s = tp_str(ONE_OF(m, texts));
		break;
	case TP_ATTR_INTS:
		ints = copy(m, a->ints, a->n, 2, sizeof(*ints));
		ints[at] = ONE_OF(m, numbers);
		a->ints = ints;
		if (mutation_below(m, 4) == 0)
			a->n = mutation_below(m, a->n + 2);
		break;
	case TP_ATTR_FLOATS:
		floats = copy(m, a->floats, a->n, 2, sizeof(*floats));
		floats[at] = ONE_OF(m, reals);
		a->floats = floats;
		if (mutation_below(m, 4) == 0)
			a->n = mutation_below(m, a->n + 2);
		break;
	case TP_ATTR_STRINGS:
		strings = copy(m, a->strings, a->n, 2, sizeof(*strings));
		strings[at] = tp_str(ONE_OF(m, texts));
		a->strings = strings;
		if (mutation_below(m, 4) == 0)
			a->n = mutation_below(m, a->n + 2);
		break;
	case TP_ATTR_TENSOR:
		a->tensor = keep_value(m, random_tensor(m));
		break;
	case TP_ATTR_GRAPH:
		break;
	case TP_ATTR_TYPE:
		a->type.dtype =
		    (enum tp_dtype)mutation_below(m, TP_DTYPE_COUNT);
		break;
	}
}

/* A value of another kind: nothing that another kind points to is there. */
static void
mutate_kind(struct mutation *m, struct tp_attr *a)
{
	struct tp_str name = a->name;

	*a = (struct tp_attr){.name = name,
	    .kind = (enum tp_attr_kind)mutation_below(m, TP_ATTR_TENSOR + 1)};
	a->ints = take(m, 4, sizeof(struct tp_str));
	mutate_payload(m, a);
	if (a->kind == TP_ATTR_INTS || a->kind == TP_ATTR_FLOATS ||
	    a->kind == TP_ATTR_STRINGS)
		a->n = mutation_below(m, 3);
}

static void mutate_graph(
    struct mutation *m, struct tp_graph *g, unsigned depth);

static void
mutate_attr(struct mutation *m, struct tp_node *node, unsigned depth)
{
	struct tp_attr *attrs =
	    copy(m, node->attrs, node->n_attrs, 1, sizeof(*attrs));
	size_t at = mutation_below(m, node->n_attrs);
	struct tp_graph *inner;

	if (!node->n_attrs)
		return;
	node->attrs = attrs;
	if (attrs[at].kind == TP_ATTR_GRAPH && depth < 4) {
		inner = copy(m, attrs[at].graph, 1, 0, sizeof(*inner));
		mutate_graph(m, inner, depth + 1);
		attrs[at].graph = inner;
		return;
	}
	switch (mutation_below(m, 8)) {
	case 0:
		mutate_kind(m, &attrs[at]);
		break;
	case 1: /* not there */
		attrs[at] = attrs[--node->n_attrs];
		break;
	case 2: /* there twice */
		attrs[node->n_attrs] = attrs[at];
		mutate_payload(m, &attrs[node->n_attrs++]);
		break;
	default:
		mutate_payload(m, &attrs[at]);
		break;
	}
}

/* Some name that the graph knows. */
static struct tp_str
any_name(struct mutation *m, const struct tp_graph *g)
{
	const struct tp_node *node =
	    g->n_nodes ? &g->nodes[mutation_below(m, g->n_nodes)] : NULL;

	switch (mutation_below(m, 4)) {
	case 0:
		if (g->n_constants)
			return g->constants[mutation_below(m, g->n_constants)]
			    .name;
		break;
	case 1:
		if (node && node->n_outputs)
			return node
			    ->outputs[mutation_below(m, node->n_outputs)];
		break;
	case 2:
		if (g->n_inputs)
			return g->inputs[mutation_below(m, g->n_inputs)].name;
		break;
	default:
		break;
	}
	return TP_STR("");
}

static void
mutate_names(struct mutation *m, const struct tp_graph *g,
    const struct tp_str **names, size_t *n)
{
	struct tp_str *all = copy(m, *names, *n, 1, sizeof(*all));
	size_t at = mutation_below(m, *n);

	*names = all;
	switch (mutation_below(m, 4)) {
	case 0:
		if (*n)
			--*n;
		break;
	case 1:
		all[(*n)++] = any_name(m, g);
		break;
	default:
		if (*n)
			all[at] = any_name(m, g);
		break;
	}
}

/* Another operator, of ONNX's own domain or whichever. */
static void
mutate_operator(struct mutation *m, struct tp_node *node)
{
	size_t n = 0;
	struct tp_op_info info;

	while (tp_op_at(n))
		n++;
	info = tp_op_info(tp_op_at(mutation_below(m, n)));
	node->op = tp_str(info.onnx);
	node->domain = tp_str(info.domain);
	if (mutation_below(m, 2))
		node->n_attrs = 0;
}

static void
mutate_node(struct mutation *m, struct tp_graph *g, unsigned depth)
{
	struct tp_node *nodes =
			   copy(m, g->nodes, g->n_nodes, 0, sizeof(*nodes)),
		       other;
	size_t at = mutation_below(m, g->n_nodes);
	struct tp_node *node = &nodes[at];

	if (!g->n_nodes)
		return;
	g->nodes = nodes;
	switch (mutation_below(m, 16)) {
	case 0:
		mutate_operator(m, node);
		break;
	case 1:
	case 2:
		mutate_names(m, g, &node->outputs, &node->n_outputs);
		break;
	case 3:
	case 4:
	case 5:
	case 6:
		mutate_names(m, g, &node->inputs, &node->n_inputs);
		break;
	case 7: /* out of order */
		other = *node;
		*node = nodes[0];
		nodes[0] = other;
		break;
	default:
		mutate_attr(m, node, depth);
		break;
	}
}

static void
mutate_constant(struct mutation *m, struct tp_graph *g)
{
	struct tp_constant *constants =
	    copy(m, g->constants, g->n_constants, 0, sizeof(*constants));

	if (g->n_constants)
		constants[mutation_below(m, g->n_constants)].value =
		    *keep_value(m, random_tensor(m));
	g->constants = constants;
}

static void
mutate_graph(struct mutation *m, struct tp_graph *g, unsigned depth)
{
	switch (mutation_below(m, 8)) {
	case 0:
		mutate_constant(m, g);
		break;
	case 1:
		if (g->n_inputs && depth > 0)
			g->n_inputs--;
		break;
	case 2:
		if (g->n_outputs > 1)
			g->n_outputs--;
		break;
	default:
		mutate_node(m, g, depth);
		break;
	}
}

static void
mutate_opset(struct mutation *m, struct tp_graph_model *model)
{
	struct tp_opset *opsets =
	    copy(m, model->opsets, model->n_opsets, 0, sizeof(*opsets));

	if (model->n_opsets)
		opsets[mutation_below(m, model->n_opsets)].version =
		    1 + (int64_t)mutation_below(m, 28);
	model->opsets = opsets;
}

static void
mutate_input(struct mutation *m, struct tp_value *in, size_t n_in)
{
	size_t at = mutation_below(m, n_in);

	if (!n_in)
		return;
	tp_value_release(&in[at]);
	in[at] = random_value(m);
}

void
mutate_model(struct mutation *m, struct tp_graph_model *model,
    struct tp_value *in, size_t n_in)
{
	for (size_t i = 1 + mutation_below(m, 3); i > 0; i--)
		switch (mutation_below(m, 8)) {
		case 0:
			mutate_opset(m, model);
			break;
		case 1:
		case 2:
		case 3:
			mutate_input(m, in, n_in);
			break;
		default:
			mutate_graph(m, &model->graph, 0);
			break;
		}
}
