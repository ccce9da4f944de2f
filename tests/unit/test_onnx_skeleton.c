/* SPDX-License-Identifier: Apache-2.0 */
/* test_onnx_skeleton.c - weights back into graphs: names, shapes, forms */
#include "support/cmocka_all.h"

#include "support/fact.h"
#include "support/fail_alloc.h"
#include "support/onnx_build.h"
#include "support/onnx_files.h"
#include "tp/endian.h"

static void
assert_bytes(ProtobufCBinaryData got, const void *want, size_t n)
{
	assert_int_equal(got.len, n);
	if (n)
		assert_memory_equal(got.data, want, n);
}

/* Writes s into the skeleton; the packed skeleton is freed. */
static enum tp_status
write_graph(struct onnx_source *s, const TpOnnx__ModelProto *skeleton,
    const struct tp_create_options *options, struct tp_err *err)
{
	enum tp_status rc;
	union {
		const void *p;
		void *q;
	} u;

	onnx_source_skeleton(s, skeleton);
	rc = onnx_write(temp_path(&test_dir, "g.onnx"), s, options, err);
	u.p = s->attachment.data;
	free(u.q);
	s->m.n_attachments = 0;
	return rc;
}

static TpOnnx__ModelProto *
write_ok(struct onnx_source *s, const TpOnnx__ModelProto *skeleton)
{
	struct tp_err err = TP_ERR_INIT;

	if (write_graph(s, skeleton, NULL, &err))
		fail_msg("%s", err.msg);
	return onnx_unpack(temp_path(&test_dir, "g.onnx"));
}

static void
write_fails(struct onnx_source *s, const TpOnnx__ModelProto *skeleton,
    enum tp_status status, const char *words)
{
	struct tp_err err = TP_ERR_INIT;

	assert_int_equal(write_graph(s, skeleton, NULL, &err), status);
	if (!strstr(err.msg, words))
		fail_msg("'%s' does not say '%s'", err.msg, words);
}

static void
drop(TpOnnx__ModelProto *m)
{
	tp_onnx__model_proto__free_unpacked(m, NULL);
}

/* An initializer w of two f32 and a node that uses it. */
static TpOnnx__ModelProto *
small_skeleton(void)
{
	TpOnnx__GraphProto *g;

	build_reset();
	g = build_graph();
	BUILD_ADD(
	    g->initializer, g->n_initializer, build_tensor("w", 1, SHAPE(2)));
	BUILD_ADD(g->node, g->n_node, build_node("Add", "x w", "y"));
	return build_model(8, 17, g);
}

static void
test_everything_else_stays(void **state)
{
	/* Texts, fields that nobody knows, in every kind of message. */
	static uint8_t one[] = {1}, text[] = {3, 'a', 0, 'b'};
	TpOnnx__ModelProto *skeleton = small_skeleton(), *m;
	TpOnnx__TensorProto *t = skeleton->graph->initializer[0];
	ProtobufCMessage *all[] = {&skeleton->base, &skeleton->graph->base,
	    &t->base, &skeleton->graph->node[0]->base};
	ProtobufCMessageUnknownField unknown[] = {
	    {4001, PROTOBUF_C_WIRE_TYPE_VARINT, 1, one},
	    {536870911, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, 4, text},
	};
	struct onnx_source s = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		all[i]->n_unknown_fields = 2;
		all[i]->unknown_fields = unknown;
	}
	t->has_doc_string = skeleton->has_doc_string = 1;
	t->doc_string = build_bytes("about w");
	skeleton->doc_string = build_bytes("about the model");
	skeleton->has_model_version = 1;
	skeleton->model_version = -5;
	onnx_source_add(&s, "w", TP_DTYPE_F32, SHAPE(2), "12345678", 8);
	m = write_ok(&s, skeleton);
	assert_int_equal(m->model_version, -5);
	assert_int_equal(m->has_producer_name, 0);
	assert_bytes(m->doc_string, "about the model", 15);
	t = m->graph->initializer[0];
	assert_bytes(t->doc_string, "about w", 7);
	assert_bytes(t->raw_data, "12345678", 8);
	all[0] = &m->base;
	all[1] = &m->graph->base;
	all[2] = &t->base;
	all[3] = &m->graph->node[0]->base;
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		assert_int_equal(all[i]->n_unknown_fields, 2);
		assert_int_equal(all[i]->unknown_fields[0].tag, 4001);
		assert_memory_equal(all[i]->unknown_fields[0].data, one, 1);
		assert_int_equal(all[i]->unknown_fields[1].tag, 536870911);
		assert_int_equal(all[i]->unknown_fields[1].len, 4);
		assert_memory_equal(all[i]->unknown_fields[1].data, text, 4);
	}
	drop(m);
}

static void
test_metadata_is_the_models(void **state)
{
	TpOnnx__ModelProto *skeleton = small_skeleton(), *m;
	TpOnnx__StringStringEntryProto *p =
	    build_message(&tp_onnx__string_string_entry_proto__descriptor);
	const struct tp_meta meta[] = {
	    {TP_STR("new"), TP_STR("1")}, {TP_STR(""), TP_STR("\0")}};
	struct onnx_source s = {0};

	(void)state;
	p->has_key = p->has_value = 1;
	p->key = build_bytes("old");
	p->value = build_bytes("0");
	BUILD_ADD(skeleton->metadata_props, skeleton->n_metadata_props, p);
	onnx_source_add(&s, "w", TP_DTYPE_F32, SHAPE(2), "12345678", 8);
	m = write_ok(&s, skeleton);
	assert_int_equal(m->n_metadata_props, 0);
	drop(m);

	s.m.meta = meta;
	s.m.n_meta = 2;
	m = write_ok(&s, skeleton);
	assert_int_equal(m->n_metadata_props, 2);
	assert_bytes(m->metadata_props[0]->key, "new", 3);
	assert_bytes(m->metadata_props[1]->key, "", 0);
	assert_bytes(m->metadata_props[1]->value, "\0", 1);
	drop(m);
}

static void
test_names(void **state)
{
	TpOnnx__ModelProto *skeleton = small_skeleton();
	TpOnnx__GraphProto *g = skeleton->graph;
	struct tp_err err = TP_ERR_INIT;
	struct onnx_source s = {0};
	char name[8];

	(void)state;
	onnx_source_add(&s, "v", TP_DTYPE_F32, SHAPE(2), "12345678", 8);
	write_fails(&s, skeleton, TP_ENOTFOUND,
	    "1 of 1 tensors of the graph are missing: 'w'; "
	    "1 of 1 tensors are not in the graph: 'v'");

	/* At most ten by name. */
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "n%02d", i);
		BUILD_ADD(g->initializer, g->n_initializer,
		    build_tensor(name, 1, SHAPE(2)));
	}
	s.entries[0].name = TP_STR("w");
	assert_int_equal(write_graph(&s, skeleton, NULL, &err), TP_ENOTFOUND);
	assert_non_null(strstr(err.msg, "30 of 31"));
	assert_non_null(strstr(err.msg, "'n09'"));
	assert_null(strstr(err.msg, "'n10'"));
}

static void
test_shapes(void **state)
{
	TpOnnx__ModelProto *skeleton = small_skeleton();
	struct onnx_source s = {0};

	(void)state;
	onnx_source_add(&s, "w", TP_DTYPE_F32, SHAPE(2, 1), "12345678", 8);
	write_fails(&s, skeleton, TP_EUNSUPPORTED,
	    "'w' has shape [2, 1], the graph expects [2]");
	s = (struct onnx_source){0};
	onnx_source_add(&s, "w", TP_DTYPE_F32, SHAPE(3), "123456789abc", 12);
	write_fails(&s, skeleton, TP_EUNSUPPORTED,
	    "'w' has shape [3], the graph expects [2]");
	s = (struct onnx_source){0};
	onnx_source_add(&s, "w", TP_DTYPE_F32, SCALAR, "1234", 4);
	write_fails(&s, skeleton, TP_EUNSUPPORTED,
	    "'w' has shape [], the graph expects [2]");
}

/*
 * ---- Constant nodes ----
 */

static TpOnnx__AttributeProto *
add_constant(TpOnnx__GraphProto *g, const char *output, const char *attribute,
    int32_t type)
{
	TpOnnx__NodeProto *node = build_node("Constant", "", output);

	BUILD_ADD(g->node, g->n_node, node);
	return build_attribute(node, attribute, type);
}

/* All eight forms, without values. */
static TpOnnx__ModelProto *
constants_skeleton(void)
{
	TpOnnx__GraphProto *g;
	TpOnnx__AttributeProto *a;

	build_reset();
	g = build_graph();
	add_constant(g, "f", "value_float", 1);
	add_constant(g, "i", "value_int", 2);
	add_constant(g, "s", "value_string", 3);
	add_constant(g, "ff", "value_floats", 6);
	add_constant(g, "ii", "value_ints", 7);
	add_constant(g, "ss", "value_strings", 8);
	a = add_constant(g, "t", "value", 4);
	a->t = build_tensor(NULL, 2, SHAPE(3));
	return build_model(8, 17, g);
}

static void
fill_constants(struct onnx_source *s, uint8_t le[64])
{
	static uint8_t text[64], three[27];

	memset(le, 0, 64);
	memset(text, 0, sizeof(text));
	memset(three, 0, sizeof(three));
	tp_put_le64(le, (uint64_t)-1);
	tp_put_le64(le + 8, 300);
	tp_put_le64(le + 16, 0);
	text[0] = 2;
	memcpy(text + 8, "hi", 2);
	three[0] = 3;
	memcpy(three + 8, "abc", 3);
	*s = (struct onnx_source){0};
	onnx_source_add(s, "f", TP_DTYPE_F32, SCALAR, "\0\0\x80\x3f", 4);
	onnx_source_add(s, "i", TP_DTYPE_I64, SCALAR, le, 8);
	onnx_source_add(s, "s", TP_DTYPE_STRING, SCALAR, text, 10);
	onnx_source_add(
	    s, "ff", TP_DTYPE_F32, SHAPE(2), "\0\0\x80\x3f\0\0\0\xc0", 8);
	onnx_source_add(s, "ii", TP_DTYPE_I64, SHAPE(3), le, 24);
	/* "abc", "", "" */
	onnx_source_add(s, "ss", TP_DTYPE_STRING, SHAPE(3), three, 27);
	onnx_source_add(s, "t", TP_DTYPE_U8, SHAPE(3), "xyz", 3);
}

static void
test_constants_keep_their_form(void **state)
{
	TpOnnx__ModelProto *skeleton = constants_skeleton(), *m;
	const TpOnnx__AttributeProto *a;
	struct onnx_source s;
	uint8_t le[64];

	(void)state;
	fill_constants(&s, le);
	m = write_ok(&s, skeleton);
	assert_int_equal(m->graph->n_node, 7);
	a = m->graph->node[0]->attribute[0];
	assert_bytes(a->name, "value_float", 11);
	assert_int_equal(a->type, 1);
	assert_true(a->has_f && a->f == 1.0f);
	a = m->graph->node[1]->attribute[0];
	assert_true(a->has_i && a->i == -1);
	a = m->graph->node[2]->attribute[0];
	assert_true(a->has_s);
	assert_bytes(a->s, "hi", 2);
	a = m->graph->node[3]->attribute[0];
	assert_int_equal(a->n_floats, 2);
	assert_true(a->floats[0] == 1.0f && a->floats[1] == -2.0f);
	a = m->graph->node[4]->attribute[0];
	assert_int_equal(a->n_ints, 3);
	assert_int_equal(a->ints[0], -1);
	assert_int_equal(a->ints[1], 300);
	assert_int_equal(a->ints[2], 0);
	a = m->graph->node[5]->attribute[0];
	assert_int_equal(a->n_strings, 3);
	assert_bytes(a->strings[0], "abc", 3);
	assert_bytes(a->strings[1], "", 0);
	a = m->graph->node[6]->attribute[0];
	assert_bytes(a->t->raw_data, "xyz", 3);
	assert_int_equal(a->t->has_name, 0);
	drop(m);
}

static void
test_lists_of_any_length(void **state)
{
	TpOnnx__ModelProto *skeleton = constants_skeleton(), *m;
	struct onnx_source s;
	uint8_t le[64];
	static uint8_t many[8000];

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		tp_put_le64(many + 8 * i, i * i * i * i * i * i);
	fill_constants(&s, le);
	s.shapes[3][0] = 0;
	s.entries[3].n_elems = s.entries[3].nbytes = s.nbytes[3] = 0;
	s.shapes[4][0] = 1000;
	s.entries[4].n_elems = 1000;
	s.entries[4].nbytes = s.nbytes[4] = 8000;
	s.data[4] = many;
	m = write_ok(&s, skeleton);
	assert_int_equal(m->graph->node[3]->attribute[0]->n_floats, 0);
	assert_int_equal(m->graph->node[4]->attribute[0]->n_ints, 1000);
	for (int64_t i = 0; i < 1000; i++)
		assert_int_equal(m->graph->node[4]->attribute[0]->ints[i],
		    i * i * i * i * i * i);
	drop(m);

	/* But not of two axes, and a number stays one number. */
	s.entries[3].rank = 2;
	write_fails(&s, skeleton, TP_EUNSUPPORTED, "'ff' has shape [0, 0]");
	fill_constants(&s, le);
	s.entries[0].rank = 1;
	s.shapes[0][0] = 1;
	write_fails(&s, skeleton, TP_EUNSUPPORTED, "'f' has shape [1]");
}

static void
test_constants_become_tensors(void **state)
{
	/* Nothing uses them, so another dtype is allowed. */
	static const struct {
		size_t entry;
		enum tp_dtype dtype;
		size_t nbytes;
		int code;
	} rows[] = {
	    {0, TP_DTYPE_F16, 2, 10},
	    {1, TP_DTYPE_I32, 4, 6},
	    {3, TP_DTYPE_BF16, 4, 16},
	    {4, TP_DTYPE_U8, 3, 2},
	};
	TpOnnx__ModelProto *m;
	struct onnx_source s;
	uint8_t le[64];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const TpOnnx__AttributeProto *a;
		size_t k = rows[i].entry;

		fill_constants(&s, le);
		s.entries[k].dtype = rows[i].dtype;
		s.entries[k].nbytes = s.nbytes[k] = rows[i].nbytes;
		m = write_ok(&s, constants_skeleton());
		assert_int_equal(m->graph->node[k]->n_attribute, 1);
		a = m->graph->node[k]->attribute[0];
		assert_bytes(a->name, "value", 5);
		assert_int_equal(a->type, 4);
		assert_int_equal(a->has_f, 0);
		assert_non_null(a->t);
		assert_int_equal(a->t->data_type, rows[i].code);
		assert_int_equal(a->t->n_dims, s.entries[k].rank);
		assert_bytes(a->t->raw_data, s.data[k], rows[i].nbytes);
		drop(m);
	}
}

static void
test_constants_that_were_kept(void **state)
{
	/* One with its value says that Constants are no weights here. */
	TpOnnx__ModelProto *skeleton = constants_skeleton(), *m;
	TpOnnx__AttributeProto *a = skeleton->graph->node[4]->attribute[0];
	struct onnx_source s = {0};

	(void)state;
	BUILD_ADD(a->ints, a->n_ints, 7);
	BUILD_ADD(skeleton->graph->initializer, skeleton->graph->n_initializer,
	    build_tensor("w", 2, SHAPE(1)));
	onnx_source_add(&s, "w", TP_DTYPE_U8, SHAPE(1), "w", 1);
	m = write_ok(&s, skeleton);
	assert_int_equal(m->graph->node[4]->attribute[0]->ints[0], 7);
	assert_bytes(m->graph->initializer[0]->raw_data, "w", 1);
	drop(m);

	/* Without it their values are missing. */
	a->n_ints = 0;
	write_fails(&s, skeleton, TP_ENOTFOUND, "7 of 8 tensors");
}

/*
 * ---- sparse ----
 */

static void
make_sparse(struct onnx_source *s, size_t entry, const void *index)
{
	size_t k = s->m.n_storages++;

	s->sparse[entry] = (struct tp_sparse_info){.n_values = 1, .indices = k};
	s->entries[entry].sparse = &s->sparse[entry];
	s->nbytes[s->entries[entry].storage] = 1;
	s->nbytes[k] = 8;
	s->data[k] = index;
}

static void
test_sparse_and_dense(void **state)
{
	/* d was dense, p was sparse; and Constants of both kinds. */
	static const uint8_t two[8] = {2};
	TpOnnx__ModelProto *skeleton, *m;
	TpOnnx__GraphProto *g;
	TpOnnx__SparseTensorProto *p;
	struct onnx_source s = {0};
	const TpOnnx__AttributeProto *a;

	(void)state;
	build_reset();
	g = build_graph();
	BUILD_ADD(
	    g->initializer, g->n_initializer, build_tensor("d", 2, SHAPE(3)));
	BUILD_ADD(
	    g->initializer, g->n_initializer, build_tensor("e", 2, SHAPE(3)));
	for (int i = 0; i < 2; i++) {
		p = build_message(&tp_onnx__sparse_tensor_proto__descriptor);
		p->values = build_tensor(i ? NULL : "p", 2, SHAPE(1));
		BUILD_ADD(p->dims, p->n_dims, 3);
		if (i == 0)
			BUILD_ADD(
			    g->sparse_initializer, g->n_sparse_initializer, p);
		else
			add_constant(g, "cp", "sparse_value", 11)
			    ->sparse_tensor = p;
	}
	add_constant(g, "cd", "value", 4)->t = build_tensor(NULL, 2, SHAPE(3));
	skeleton = build_model(8, 17, g);

	onnx_source_add(&s, "d", TP_DTYPE_U8, SHAPE(3), "D", 3);
	onnx_source_add(&s, "e", TP_DTYPE_U8, SHAPE(3), "eee", 3);
	onnx_source_add(&s, "p", TP_DTYPE_U8, SHAPE(3), "ppp", 3);
	onnx_source_add(&s, "cp", TP_DTYPE_U8, SHAPE(3), "qqq", 3);
	onnx_source_add(&s, "cd", TP_DTYPE_U8, SHAPE(3), "C", 3);
	make_sparse(&s, 0, two);
	make_sparse(&s, 4, two);
	m = write_ok(&s, skeleton);

	assert_int_equal(m->graph->n_initializer, 2);
	assert_bytes(m->graph->initializer[0]->name, "e", 1);
	assert_bytes(m->graph->initializer[1]->name, "p", 1);
	assert_bytes(m->graph->initializer[1]->raw_data, "ppp", 3);
	assert_int_equal(m->graph->initializer[1]->n_dims, 1);
	assert_int_equal(m->graph->initializer[1]->dims[0], 3);
	assert_int_equal(m->graph->n_sparse_initializer, 1);
	p = m->graph->sparse_initializer[0];
	assert_bytes(p->values->name, "d", 1);
	assert_bytes(p->values->raw_data, "D", 1);
	assert_bytes(p->indices->raw_data, two, 8);
	assert_int_equal(p->dims[0], 3);

	a = m->graph->node[0]->attribute[0];
	assert_bytes(a->name, "value", 5);
	assert_int_equal(a->type, 4);
	assert_null(a->sparse_tensor);
	assert_bytes(a->t->raw_data, "qqq", 3);
	a = m->graph->node[1]->attribute[0];
	assert_bytes(a->name, "sparse_value", 12);
	assert_int_equal(a->type, 11);
	assert_null(a->t);
	assert_bytes(a->sparse_tensor->values->raw_data, "C", 1);
	drop(m);
}

/*
 * ---- where the bytes go ----
 */

static void
test_constants_stay_inside(void **state)
{
	static const struct tp_create_options always = {
	    .external = TP_EXTERNAL_ALWAYS, .external_threshold = 1};
	TpOnnx__ModelProto *skeleton = small_skeleton(), *m;
	struct tp_err err = TP_ERR_INIT;
	struct onnx_source s = {0};

	(void)state;
	add_constant(skeleton->graph, "c", "value", 4)->t =
	    build_tensor(NULL, 1, SHAPE(2));
	onnx_source_add(&s, "w", TP_DTYPE_F32, SHAPE(2), "12345678", 8);
	onnx_source_add(&s, "c", TP_DTYPE_F32, SHAPE(2), "abcdefgh", 8);
	assert_int_equal(write_graph(&s, skeleton, &always, &err), TP_OK);
	m = onnx_unpack(temp_path(&test_dir, "g.onnx"));
	assert_int_equal(m->graph->initializer[0]->data_location, 1);
	assert_bytes(
	    m->graph->node[1]->attribute[0]->t->raw_data, "abcdefgh", 8);
	drop(m);

	/* Unless they share their bytes with what lies outside. */
	s.entries[1].storage = 0;
	s.m.n_storages = 1;
	assert_int_equal(write_graph(&s, skeleton, &always, &err), TP_OK);
	m = onnx_unpack(temp_path(&test_dir, "g.onnx"));
	assert_int_equal(m->graph->node[1]->attribute[0]->t->data_location, 1);
	drop(m);
}

static void
test_old_places_are_forgotten(void **state)
{
	/* A skeleton that still speaks of a file and of other values. */
	TpOnnx__ModelProto *skeleton = small_skeleton(), *m;
	TpOnnx__TensorProto *t = skeleton->graph->initializer[0];
	TpOnnx__StringStringEntryProto *p =
	    build_message(&tp_onnx__string_string_entry_proto__descriptor);
	struct onnx_source s = {0};

	(void)state;
	p->has_key = p->has_value = 1;
	p->key = build_bytes("location");
	p->value = build_bytes("elsewhere");
	BUILD_ADD(t->external_data, t->n_external_data, p);
	BUILD_ADD(t->float_data, t->n_float_data, 1.0f);
	t->has_data_location = 1;
	t->data_location = 1;
	onnx_source_add(&s, "w", TP_DTYPE_F32, SHAPE(2), "12345678", 8);
	m = write_ok(&s, skeleton);
	t = m->graph->initializer[0];
	assert_int_equal(t->n_external_data, 0);
	assert_int_equal(t->data_location, 0);
	assert_int_equal(t->n_float_data, 0);
	assert_bytes(t->raw_data, "12345678", 8);
	drop(m);
}

/*
 * ---- skeletons that are none ----
 */

static void
test_hostile_skeletons(void **state)
{
	static uint8_t nested[4 * 20000 + 64];
	struct tp_err err = TP_ERR_INIT;
	struct onnx_source s = {0};
	size_t n = sizeof(nested), begin = n;

	(void)state;
	onnx_source_add(&s, "w", TP_DTYPE_F32, SHAPE(2), "12345678", 8);
	s.m.attachments = &s.attachment;
	s.m.n_attachments = 1;

	s.attachment =
	    (struct tp_attachment){TP_STR(TP_ATTACHMENT_ONNX), "\x3a\x7f", 2};
	assert_int_equal(
	    onnx_write(temp_path(&test_dir, "h.onnx"), &s, NULL, &err),
	    TP_EFORMAT);
	assert_non_null(strstr(err.msg, "attachment onnx.graph: "));
	s.attachment.data = "\x08\x08"; /* no graph */
	assert_int_equal(
	    onnx_write(temp_path(&test_dir, "h.onnx"), &s, NULL, &err),
	    TP_EFORMAT);
	assert_non_null(strstr(err.msg, "no graph"));

	/* graph { node { attribute { g { node … }}}} beyond any stack. */
	for (int level = 0; level < 9999; level++) {
		static const uint8_t tags[] = {0x32, 0x2a, 0x0a};
		size_t len = n - begin;
		uint8_t varint[5];
		size_t k = 0;

		for (; len >= 0x80; len >>= 7)
			varint[k++] = (uint8_t)(len | 0x80);
		varint[k++] = (uint8_t)len;
		begin -= k + 1;
		nested[begin] = tags[level % 3];
		memcpy(nested + begin + 1, varint, k);
	}
	{
		size_t len = n - begin;
		uint8_t *p = nested + begin - 6;

		p[0] = 0x3a;
		for (size_t k = 0; k < 5; k++, len >>= 7)
			p[1 + k] = (uint8_t)((len & 0x7f) | (k < 4 ? 0x80 : 0));
		s.attachment.data = p;
		s.attachment.nbytes = (size_t)(nested + n - p);
	}
	assert_int_equal(
	    onnx_write(temp_path(&test_dir, "h.onnx"), &s, NULL, &err),
	    TP_ELIMIT);
	assert_int_equal(access(temp_path(&test_dir, "h.onnx"), F_OK), -1);
}

/* A bit of everything, with the entries that it wants. */
static TpOnnx__ModelProto *
rich_skeleton(struct onnx_source *s, uint8_t le[64])
{
	TpOnnx__ModelProto *m = constants_skeleton();
	TpOnnx__GraphProto *g = m->graph, *inner = build_graph();
	TpOnnx__FunctionProto *f =
	    build_message(&tp_onnx__function_proto__descriptor);
	TpOnnx__NodeProto *node = build_node("If", "c", "r");
	TpOnnx__NodeProto *constant = build_node("Constant", "", "k");

	fill_constants(s, le);
	s->m.n_entries = s->m.n_storages = 4;
	g->n_node = 4; /* f, i, s, ff */
	BUILD_ADD(
	    g->initializer, g->n_initializer, build_tensor("w", 1, SHAPE(2)));
	BUILD_ADD(g->value_info, g->n_value_info, build_value("w", 1));
	BUILD_ADD(g->node, g->n_node, build_node("Cast", "w", "y"));
	BUILD_ADD(inner->initializer, inner->n_initializer,
	    build_tensor("w", 2, SHAPE(1)));
	build_attribute(node, "then_branch", A_GRAPH)->g = inner;
	BUILD_ADD(g->node, g->n_node, node);
	f->has_name = 1;
	f->name = build_bytes("F");
	build_attribute(constant, "value", A_TENSOR)->t =
	    build_tensor(NULL, 2, SHAPE(3));
	BUILD_ADD(f->node, f->n_node, constant);
	BUILD_ADD(m->functions, m->n_functions, f);
	onnx_source_add(s, "w", TP_DTYPE_F16, SHAPE(2), "1234", 4);
	onnx_source_add(s, "5.then_branch:w", TP_DTYPE_U8, SHAPE(1), "i", 1);
	onnx_source_add(s, "function:.F:k", TP_DTYPE_U8, SHAPE(3), "fun", 3);
	return m;
}

/* An error, or a file that can be read; true if there is a file. */
static bool
survives(struct onnx_source *s, const uint8_t *skeleton, size_t n)
{
	const struct tp_create_options options = {.sync = TP_SYNC_NEVER,
	    .external = TP_EXTERNAL_ALWAYS,
	    .external_threshold = 2};
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	s->attachment =
	    (struct tp_attachment){TP_STR(TP_ATTACHMENT_ONNX), skeleton, n};
	s->m.attachments = &s->attachment;
	s->m.n_attachments = 1;
	rc = onnx_write(temp_path(&test_dir, "d.onnx"), s, &options, &err);
	if (rc == TP_EARG || rc == TP_ENOMEM)
		fail_msg("status %d: %s", rc, err.msg);
	if (!rc)
		drop(onnx_unpack(temp_path(&test_dir, "d.onnx")));
	return !rc;
}

static void
test_damaged_skeletons(void **state)
{
	/* Every bit turned over, and an end after every byte. */
	struct onnx_source s;
	uint8_t le[64];
	TpOnnx__ModelProto *m = rich_skeleton(&s, le);
	size_t n = protobuf_c_message_get_packed_size(&m->base);
	size_t n_written = 0;
	uint8_t *bytes = malloc(n);

	(void)state;
	assert_non_null(bytes);
	protobuf_c_message_pack(&m->base, bytes);
	assert_true(survives(&s, bytes, n));
	for (size_t i = 0; i < n; i++) {
		/* A block of its own, so that reading on is seen. */
		uint8_t *part = malloc(i + 1);

		assert_non_null(part);
		memcpy(part, bytes, i);
		survives(&s, part, i);
		free(part);
		for (int bit = 0; bit < 8; bit++) {
			bytes[i] ^= (uint8_t)(1 << bit);
			n_written += survives(&s, bytes, n);
			bytes[i] ^= (uint8_t)(1 << bit);
		}
	}
	print_fact("damaged.onnx_skeleton", 9 * n);
	assert_true(n_written > 100);
	free(bytes);
}

static void
test_no_memory(void **state)
{
	static const struct tp_create_options always = {
	    .external = TP_EXTERNAL_ALWAYS, .external_threshold = 1};
	TpOnnx__ModelProto *skeleton = constants_skeleton();
	TpOnnx__GraphProto *g = skeleton->graph;
	struct onnx_source s;
	uint8_t le[64];
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	fill_constants(&s, le);
	s.entries[0].dtype = TP_DTYPE_F16;
	s.entries[0].nbytes = s.nbytes[0] = 2;
	BUILD_ADD(
	    g->initializer, g->n_initializer, build_tensor("w", 1, SHAPE(2)));
	onnx_source_add(&s, "w", TP_DTYPE_F16, SHAPE(2), "1234", 4);
	while (fail_alloc_next(&a, rc)) {
		struct tp_create_options options = always;
		struct tp_err err = TP_ERR_INIT;

		options.alloc = &a.alloc;
		rc = write_graph(&s, skeleton, &options, &err);
		if (rc && rc != TP_ENOMEM)
			fail_msg("call %zu: %s", a.fail_at, err.msg);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_everything_else_stays),
	    cmocka_unit_test(test_metadata_is_the_models),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_shapes),
	    cmocka_unit_test(test_constants_keep_their_form),
	    cmocka_unit_test(test_lists_of_any_length),
	    cmocka_unit_test(test_constants_become_tensors),
	    cmocka_unit_test(test_constants_that_were_kept),
	    cmocka_unit_test(test_sparse_and_dense),
	    cmocka_unit_test(test_constants_stay_inside),
	    cmocka_unit_test(test_old_places_are_forgotten),
	    cmocka_unit_test(test_hostile_skeletons),
	    cmocka_unit_test(test_damaged_skeletons),
	    cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
}
