/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_slots.c: which weights a model has, in which order, by which names */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "formats/onnx_slots.h"
#include "formats/proto_alloc.h"
#include "formats/proto_skim.h"
#include "support/fail_alloc.h"
#include "support/wire.h"

struct found {
	ProtobufCMessage *m;
	struct tpi_onnx_slots slots;
	struct tp_err err;
};

static enum tp_status
find(struct found *f, const struct wire *graph, const struct wire *rest,
    bool constants, const struct tp_limits *limits,
    const struct tp_alloc *alloc)
{
	const struct tp_limits usual = tp_limits_default();
	struct wire m = {.n = 0};
	enum tp_status rc;

	memset(f, 0, sizeof(*f));
	wire_msg(&m, 7, graph);
	if (rest)
		wire_raw(&m, rest->b, rest->n);
	assert_int_equal(
	    tpi_skim_unpack(NULL, m.b, m.n, &tp_onnx__model_proto__descriptor,
		&usual, &f->m, NULL),
	    TP_OK);
	rc = tpi_onnx_slots_find(&f->slots, alloc, (TpOnnx__ModelProto *)f->m,
	    constants, limits ? limits : &usual, &f->err);
	if (rc) {
		assert_null(f->slots.items);
		assert_null(f->slots.scopes);
		tpi_proto_free(NULL, f->m);
	}
	return rc;
}

static void
drop(struct found *f)
{
	tpi_onnx_slots_release(&f->slots);
	tpi_proto_free(NULL, f->m);
}

static void
fails(const struct wire *graph, const struct wire *rest, const char *words)
{
	struct found f;

	assert_int_equal(find(&f, graph, rest, true, NULL, NULL), TP_EFORMAT);
	if (!strstr(f.err.msg, words))
		fail_msg("\"%s\" lacks \"%s\"", f.err.msg, words);
}

static void
add_tensor(struct wire *graph, const char *name)
{
	struct wire t = {.n = 0};

	wire_str(&t, 8, name);
	wire_msg(graph, 5, &t);
}

static void
add_sparse(struct wire *graph, const char *name)
{
	struct wire t = {.n = 0}, s = {.n = 0};

	wire_str(&t, 8, name);
	wire_msg(&s, 1, &t);
	wire_msg(graph, 15, &s);
}

/* A Constant with one attribute, whose value does not matter here. */
static void
add_constant(struct wire *w, unsigned field, const char *output,
    const char *attribute, unsigned type)
{
	struct wire a = {.n = 0}, n = {.n = 0};

	wire_str(&a, 1, attribute);
	if (type)
		wire_int(&a, 20, type);
	wire_str(&n, 2, output);
	wire_str(&n, 4, "Constant");
	wire_msg(&n, 5, &a);
	wire_msg(w, field, &n);
}

/* A node with a graph as its attribute; list: as one of several. */
static void
add_inner(struct wire *w, unsigned field, const char *attribute, bool list,
    const struct wire *inner)
{
	struct wire a = {.n = 0}, n = {.n = 0};

	wire_str(&a, 1, attribute);
	wire_msg(&a, list ? 11 : 6, inner);
	if (list)
		wire_msg(&a, 11, inner);
	wire_str(&n, 4, "Other");
	wire_msg(&n, 5, &a);
	wire_msg(w, field, &n);
}

/* Names in a tree are not followed by a NUL. */
static void
is(struct tp_str s, const char *expected)
{
	assert_int_equal(tp_str_cmp(s, tp_str(expected)), 0);
}

static void
check_names(const struct found *f, const char *const *names, size_t n)
{
	assert_int_equal(f->slots.n_items, n);
	for (size_t i = 0; i < n; i++)
		is(f->slots.items[i].name, names[i]);
}

/* Everything that may hold a weight, in the order that is promised. */
static void
test_order(void **state)
{
	static const char *const names[] = {"a", "s", "0.body:in", "0.body:k",
	    "0.body/1.then:deep", "c", "2.bodies[0]:w", "2.bodies[1]:w", "last",
	    "function:dom.F:fk", "function:dom.F/1.g:fw",
	    "training[0].initialization:ti", "training[0].algorithm:ta"};
	struct wire deep = {.n = 0}, body = {.n = 0}, w = {.n = 0},
		    g = {.n = 0}, f = {.n = 0}, t = {.n = 0}, rest = {.n = 0};
	struct found k;

	(void)state;
	add_tensor(&deep, "deep");
	add_tensor(&body, "in");
	add_constant(&body, 1, "k", "value_ints", 7);
	add_inner(&body, 1, "then", false, &deep);
	add_tensor(&w, "w");
	add_inner(&g, 1, "body", false, &body);
	add_constant(&g, 1, "c", "value", 4);
	add_inner(&g, 1, "bodies", true, &w);
	add_constant(&g, 1, "last", "sparse_value", 11);
	add_tensor(&g, "a");
	add_sparse(&g, "s");

	wire_str(&f, 10, "dom");
	wire_str(&f, 1, "F");
	add_constant(&f, 7, "fk", "value_string", 3);
	w.n = 0;
	add_tensor(&w, "fw");
	add_inner(&f, 7, "g", false, &w);
	wire_msg(&rest, 25, &f);
	w.n = 0;
	add_tensor(&w, "ti");
	wire_msg(&t, 1, &w);
	w.n = 0;
	add_tensor(&w, "ta");
	wire_msg(&t, 2, &w);
	wire_msg(&rest, 20, &t);

	assert_int_equal(find(&k, &g, &rest, true, NULL, NULL), TP_OK);
	check_names(&k, names, COUNT_OF(names));
	drop(&k);
}

static void
test_kinds_and_scopes(void **state)
{
	struct wire w = {.n = 0}, g = {.n = 0};
	const struct tpi_onnx_slot *slot;
	struct found k;

	(void)state;
	add_tensor(&w, "w");
	add_sparse(&w, "sw");
	add_inner(&g, 1, "body", false, &w);
	add_constant(&g, 1, "f", "value_float", 1);
	add_constant(&g, 1, "untyped", "value_floats", 0);
	assert_int_equal(find(&k, &g, NULL, true, NULL, NULL), TP_OK);
	assert_int_equal(k.slots.n_items, 4);
	assert_int_equal(k.slots.n_scopes, 2);
	assert_int_equal(k.slots.scopes[0].parent, TP_NONE);
	assert_int_equal(k.slots.scopes[1].parent, 0);
	is(k.slots.scopes[1].path, "0.body");
	slot = &k.slots.items[0];
	assert_int_equal(slot->kind, TPI_SLOT_INITIALIZER);
	assert_non_null(slot->tensor);
	assert_int_equal(slot->scope, 1);
	is(slot->local, "w");
	slot = &k.slots.items[1];
	assert_int_equal(slot->kind, TPI_SLOT_SPARSE_INITIALIZER);
	assert_non_null(slot->sparse);
	slot = &k.slots.items[2];
	assert_int_equal(slot->kind, TPI_SLOT_VALUE_FLOAT);
	assert_non_null(slot->attribute);
	assert_non_null(slot->node);
	assert_int_equal(k.slots.items[3].kind, TPI_SLOT_VALUE_FLOATS);
	drop(&k);

	/* Without Constants. */
	assert_int_equal(find(&k, &g, NULL, false, NULL, NULL), TP_OK);
	assert_int_equal(k.slots.n_items, 2);
	drop(&k);
}

/* The main graph keeps its names, inner ones give way. */
static void
test_collisions(void **state)
{
	static const char *const names[] = {"a", "0.g:v", "0.g:v#2",
	    "function:d.f:k", "function:d.f:k#2", "function:d.f:k#3"};
	struct wire w = {.n = 0}, g = {.n = 0}, f = {.n = 0}, rest = {.n = 0};
	struct found k;

	(void)state;
	/* Node 0 has two attributes called g, and functions are overloaded. */
	wire_str(&f, 1, "g");
	add_tensor(&w, "v");
	wire_msg(&f, 6, &w);
	wire_msg(&rest, 5, &f);
	wire_msg(&rest, 5, &f);
	wire_msg(&g, 1, &rest);
	add_tensor(&g, "a");
	rest.n = f.n = 0;
	wire_str(&f, 1, "f");
	wire_str(&f, 10, "d");
	add_constant(&f, 7, "k", "value", 4);
	for (int i = 0; i < 3; i++)
		wire_msg(&rest, 25, &f);
	assert_int_equal(find(&k, &g, &rest, true, NULL, NULL), TP_OK);
	check_names(&k, names, COUNT_OF(names));
	drop(&k);

	/* An inner name that is taken by the main graph, and its next too. */
	g.n = w.n = 0;
	add_tensor(&w, "w");
	add_inner(&g, 1, "g", false, &w);
	add_tensor(&g, "0.g:w#2");
	add_tensor(&g, "0.g:w");
	assert_int_equal(find(&k, &g, NULL, true, NULL, NULL), TP_OK);
	check_names(
	    &k, (const char *const[]){"0.g:w#2", "0.g:w", "0.g:w#3"}, 3);
	drop(&k);
}

static void
test_refused(void **state)
{
	struct wire g = {.n = 0}, w = {.n = 0}, t = {.n = 0}, a = {.n = 0},
		    n = {.n = 0};
	struct found k;

	(void)state;
	wire_msg(&g, 5, &t);
	fails(&g, NULL, "initializer 0 of the main graph has no name");
	g.n = 0;
	add_tensor(&g, "");
	fails(&g, NULL, "has no name");
	g.n = 0;
	wire_msg(&g, 15, &t);
	fails(&g, NULL, "sparse initializer 0");
	g.n = 0;
	add_tensor(&g, "w");
	add_constant(&g, 1, "w", "value", 4);
	fails(&g, NULL, "'w' appears twice in the main graph");
	g.n = 0;
	add_tensor(&w, "w");
	add_tensor(&w, "w");
	add_inner(&g, 1, "body", false, &w);
	fails(&g, NULL, "'w' appears twice in 0.body");

	/* A Constant has one output and one value of the right type. */
	g.n = 0;
	add_constant(&g, 1, "", "value", 4);
	fails(&g, NULL, "without an output");
	g.n = 0;
	add_constant(&g, 1, "c", "no_value", 4);
	fails(&g, NULL, "'c': Constant with 0 values");
	g.n = 0;
	add_constant(&g, 1, "c", "value_int", 1);
	fails(&g, NULL, "type 1, expected 2");
	g.n = 0;
	wire_str(&a, 1, "value");
	wire_str(&n, 2, "c");
	wire_str(&n, 4, "Constant");
	wire_msg(&n, 5, &a);
	wire_msg(&n, 5, &a);
	wire_msg(&g, 1, &n);
	fails(&g, NULL, "with 2 values");

	/* Another domain's Constant is no Constant; a reference no value. */
	wire_str(&n, 7, "com.example");
	g.n = 0;
	wire_msg(&g, 1, &n);
	n.n = a.n = 0;
	wire_str(&a, 1, "value");
	wire_str(&a, 21, "alpha");
	wire_str(&n, 2, "c");
	wire_str(&n, 4, "Constant");
	wire_msg(&n, 5, &a);
	wire_msg(&g, 1, &n);
	assert_int_equal(find(&k, &g, NULL, true, NULL, NULL), TP_OK);
	assert_int_equal(k.slots.n_items, 0);
	drop(&k);
}

static void
test_limits(void **state)
{
	struct tp_limits limits = tp_limits_default();
	struct wire w = {.n = 0}, g = {.n = 0}, f = {.n = 0}, rest = {.n = 0};
	struct found k;
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	add_tensor(&w, "some name");
	add_inner(&g, 1, "an attribute", false, &w);
	limits.directory_bytes = 16;
	assert_int_equal(find(&k, &g, NULL, true, &limits, NULL), TP_ELIMIT);

	wire_str(&f, 1, "f");
	add_constant(&f, 7, "k", "value", 4);
	wire_msg(&rest, 25, &f);
	wire_msg(&rest, 25, &f);
	while (fail_alloc_next(&a, rc)) {
		rc = find(&k, &g, &rest, true, NULL, &a.alloc);
		if (!rc)
			drop(&k);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_kinds_and_scopes),
	    cmocka_unit_test(test_collisions),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
