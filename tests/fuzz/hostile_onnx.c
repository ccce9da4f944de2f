/* SPDX-License-Identifier: Apache-2.0 */
/* hostile_onnx.c - models: fields, then messages, then what is in them */
#include "hostile_text.h"

#include <stdio.h>

static void
put_varint(struct text *t, uint64_t v)
{
	for (; v > 127; v >>= 7)
		put(t, (uint8_t[]){(uint8_t)(v | 128)}, 1);
	put(t, (uint8_t[]){(uint8_t)v}, 1);
}

static void
put_int(struct text *t, unsigned field, uint64_t v)
{
	put_varint(t, (uint64_t)field << 3);
	put_varint(t, v);
}

static void
put_bytes(struct text *t, unsigned field, const void *p, size_t n)
{
	put_varint(t, (uint64_t)field << 3 | 2);
	put_varint(t, n);
	put(t, p, n);
}

static void
put_string(struct text *t, unsigned field, const char *s)
{
	put_bytes(t, field, s, strlen(s));
}

/* The short name of number i. */
static void
put_name(struct text *t, unsigned field, size_t i)
{
	char name[24];

	snprintf(name, sizeof(name), "%zx", i);
	put_string(t, field, name);
}

/* Messages within messages: one buffer for each level. */
enum level { MODEL, GRAPH, NODE, PART, LEVELS };
static struct text levels[LEVELS];

static void
close_level(enum level inner, unsigned field)
{
	struct text *t = &levels[inner];

	put_bytes(&levels[inner - 1], field, t->b, t->n);
	t->n = 0;
}

/* Room for one more of so many bytes beside what closes the model. */
static bool
more(enum level level, size_t nbytes)
{
	return levels[level].n + nbytes + 64 < HOSTILE_BYTES - levels[MODEL].n;
}

static void
put_opset(const char *domain, uint64_t version)
{
	put_string(&levels[GRAPH], 1, domain);
	put_int(&levels[GRAPH], 2, version);
	close_level(GRAPH, 8);
}

static void
begin_model(void)
{
	for (size_t i = 0; i < LEVELS; i++)
		levels[i].n = 0;
	put_int(&levels[MODEL], 1, 8);
	put_opset("", 21);
}

static void
put_node(const char *op_type, size_t input, size_t output)
{
	put_name(&levels[NODE], 1, input);
	put_name(&levels[NODE], 1, input);
	put_name(&levels[NODE], 2, output);
	put_string(&levels[NODE], 4, op_type);
	close_level(NODE, 1);
}

/* A u8 tensor; dims and data as they are. */
static void
put_tensor(enum level level, unsigned field, size_t name, uint64_t dim)
{
	struct text *t = &levels[level + 1];

	put_int(t, 1, dim);
	put_int(t, 2, 2);
	put_name(t, 8, name);
	put_bytes(t, 9, "\0\0\0\0", dim > 4 ? 4 : (size_t)dim);
	close_level(level + 1, field);
}

static void
empty_nodes(void)
{
	while (more(GRAPH, 2))
		put_bytes(&levels[GRAPH], 1, "", 0);
}

static void
chain(void)
{
	for (size_t i = 0; more(GRAPH, 32); i++)
		put_node("Add", i, i + 1);
}

static void
chain_reversed(void)
{
	for (size_t i = 4000; i > 0 && more(GRAPH, 32); i--)
		put_node("Add", i, i + 1);
}

static void
cycle(void)
{
	for (size_t i = 0; more(GRAPH, 32); i++)
		put_node("Add", i, (i + 1999) % 2000);
}

static void
same_outputs(void)
{
	while (more(GRAPH, 32))
		put_node("Add", 1, 1);
}

static void
initializers(void)
{
	for (size_t i = 0; more(GRAPH, 32); i++)
		put_tensor(GRAPH, 5, i, 0);
}

static void
one_initializer_for_all(void)
{
	put_tensor(GRAPH, 5, 0, 4);
	for (size_t i = 1; more(GRAPH, 32); i++)
		put_node("MatMul", 0, i);
}

static void
sizes(void)
{
	while (more(NODE, 2))
		put_int(&levels[NODE], 1, 1);
	put_int(&levels[NODE], 2, 2);
	close_level(NODE, 5);
}

/* Inputs and outputs of the same names. */
static void
values(void)
{
	for (size_t i = 0; more(GRAPH, 40); i++) {
		put_name(&levels[NODE], 1, i);
		close_level(NODE, 11);
		put_name(&levels[NODE], 1, i);
		close_level(NODE, 12);
		put_name(&levels[NODE], 1, i);
		close_level(NODE, 13);
	}
}

static void
opsets(void)
{
	char domain[24];

	for (size_t i = 0; levels[MODEL].n + 40 < HOSTILE_BYTES; i++) {
		snprintf(domain, sizeof(domain), "%zx", i);
		put_opset(domain, 1);
	}
}

static void
opsets_and_nodes(void)
{
	char domain[24];

	for (size_t i = 0; i < 2500; i++) {
		snprintf(domain, sizeof(domain), "%zx", i);
		put_opset(domain, 1);
	}
	while (more(GRAPH, 16)) {
		put_string(&levels[NODE], 7, "9c3");
		close_level(NODE, 1);
	}
}

static void
properties(void)
{
	for (size_t i = 0; levels[MODEL].n + 40 < HOSTILE_BYTES; i++) {
		put_name(&levels[GRAPH], 1, i);
		close_level(GRAPH, 14);
	}
}

static void
attributes(void)
{
	for (size_t i = 0; more(NODE, 40); i++) {
		put_name(&levels[PART], 1, i);
		put_int(&levels[PART], 20, 2);
		close_level(PART, 5);
	}
	close_level(NODE, 1);
}

/* Tensors in files of their own, none of which is there. */
static void
external(void)
{
	struct text entry;

	for (size_t i = 0; more(GRAPH, 64); i++) {
		entry.n = 0;
		put_string(&entry, 1, "location");
		put_name(&entry, 2, i);
		put_int(&levels[NODE], 1, 1);
		put_int(&levels[NODE], 2, 2);
		put_name(&levels[NODE], 8, i);
		put_bytes(&levels[NODE], 13, entry.b, entry.n);
		put_int(&levels[NODE], 14, 1);
		close_level(NODE, 5);
	}
}

static void
put_sparse(size_t name, uint64_t dim)
{
	put_tensor(NODE, 1, name, 1);
	put_int(&levels[PART], 1, 1);
	put_int(&levels[PART], 2, 7);
	put_bytes(&levels[PART], 9, "\0\0\0\0\0\0\0\0", 8);
	close_level(PART, 2);
	put_int(&levels[NODE], 3, dim);
	close_level(NODE, 15);
}

static void
sparse_huge(void)
{
	put_sparse(0, UINT64_C(1) << 40);
}

static void
sparse_many(void)
{
	for (size_t i = 0; more(GRAPH, 64); i++)
		put_sparse(i, 1 << 14);
}

static void
strings(void)
{
	size_t n = 0;

	for (; more(NODE, 2); n++)
		put_bytes(&levels[NODE], 6, "", 0);
	put_int(&levels[NODE], 1, n);
	put_int(&levels[NODE], 2, 8);
	close_level(NODE, 5);
}

static void
constants(void)
{
	for (size_t i = 0; more(GRAPH, 64); i++) {
		put_string(&levels[PART], 1, "value_int");
		put_int(&levels[PART], 3, 1);
		put_int(&levels[PART], 20, 2);
		close_level(PART, 5);
		put_name(&levels[NODE], 2, i);
		put_string(&levels[NODE], 4, "Constant");
		close_level(NODE, 1);
	}
}

/* What is in the graph goes into one inside it, so many times. */
static void
nest(size_t n)
{
	static struct text graph;

	for (; n > 0 && more(GRAPH, 64); n--) {
		graph = levels[GRAPH];
		levels[GRAPH].n = 0;
		put_string(&levels[PART], 1, "then_branch");
		put_bytes(&levels[PART], 6, graph.b, graph.n);
		put_int(&levels[PART], 20, 5);
		close_level(PART, 5);
		put_string(&levels[NODE], 4, "If");
		close_level(NODE, 1);
	}
}

static void
deep_tensors(void)
{
	for (size_t i = 0; i < 4000 && more(GRAPH, 2048); i++)
		put_tensor(GRAPH, 5, i, 0);
	nest(30);
}

static void
deep_uses(void)
{
	for (size_t i = 0; more(GRAPH, 2048); i++)
		put_node("Add", i, i + 100000);
	nest(30);
}

/* f0 calls f1 twice, and so on: 2^n calls, or round and round. */
static void
functions(size_t n, size_t first_again)
{
	put_opset("l", 1);
	put_string(&levels[NODE], 4, "f0");
	put_string(&levels[NODE], 7, "l");
	close_level(NODE, 1);
	for (size_t i = 0; i < n; i++) {
		char name[24], next[24];

		snprintf(name, sizeof(name), "f%zu", i);
		snprintf(next, sizeof(next), "f%zu",
		    i + 1 < n ? i + 1 : first_again);
		put_string(&levels[NODE], 1, name);
		for (int call = 0; call < 2; call++) {
			put_string(&levels[PART], 4, next);
			put_string(&levels[PART], 7, "l");
			close_level(PART, 7);
		}
		put_string(&levels[PART], 1, "l");
		put_int(&levels[PART], 2, 1);
		close_level(PART, 9);
		put_string(&levels[NODE], 10, "l");
		put_bytes(&levels[MODEL], 25, levels[NODE].b, levels[NODE].n);
		levels[NODE].n = 0;
	}
}

static void
functions_doubling(void)
{
	functions(90, 90);
}

static void
functions_ring(void)
{
	functions(900, 0);
}

/* Attributes of a function, and references to the last of them. */
static void
references(void)
{
	for (size_t i = 0; i < 3000; i++)
		put_name(&levels[NODE], 6, i);
	while (more(NODE, 40)) {
		static struct text attribute;

		attribute.n = 0;
		put_string(&attribute, 1, "a");
		put_name(&attribute, 21, 2999);
		put_int(&attribute, 20, 2);
		put_bytes(&levels[PART], 5, attribute.b, attribute.n);
		close_level(PART, 7);
	}
	put_bytes(&levels[MODEL], 25, levels[NODE].b, levels[NODE].n);
}

static const struct {
	const char *name;
	void (*make)(void);
} models[] = {
    {"empty nodes", empty_nodes},
    {"a chain", chain},
    {"a chain from its end", chain_reversed},
    {"a cycle", cycle},
    {"one name for all outputs", same_outputs},
    {"initializers", initializers},
    {"one initializer for all nodes", one_initializer_for_all},
    {"sizes of a tensor", sizes},
    {"inputs and outputs", values},
    {"domains", opsets},
    {"domains and nodes of the last", opsets_and_nodes},
    {"properties", properties},
    {"attributes of a node", attributes},
    {"files that are not there", external},
    {"a huge sparse tensor", sparse_huge},
    {"sparse tensors", sparse_many},
    {"strings", strings},
    {"constants", constants},
    {"tensors deep inside", deep_tensors},
    {"uses deep inside", deep_uses},
    {"functions that double", functions_doubling},
    {"functions in a ring", functions_ring},
    {"references to a late parameter", references},
};

void
hostile_onnx(hostile_fn *fn)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
		struct text *m = &levels[MODEL];

		begin_model();
		models[i].make();
		close_level(GRAPH, 7);
		fn(models[i].name, m->b, m->n);
	}
}
