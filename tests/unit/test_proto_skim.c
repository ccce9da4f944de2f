/* SPDX-License-Identifier: Apache-2.0 */
/* proto_wire.c, proto_skim.c, proto_alloc.c: structure apart from payloads */
#include "support/cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "formats/onnx_slots.h"
#include "formats/proto_alloc.h"
#include "formats/proto_skim.h"
#include "support/fail_alloc.h"
#include "support/temp_dir.h"
#include "support/wire.h"

#include "onnx.pb-c.h"

struct skimmed {
	struct tpi_skim s;
	TpOnnx__ModelProto *m;
	struct tp_err err;
};

/* Skim a model that lies in memory and unpack what comes out. */
static enum tp_status
skim(struct skimmed *k, const struct wire *w, const struct tp_alloc *alloc)
{
	const struct tp_limits limits = tp_limits_default();
	ProtobufCMessage *m = NULL;
	struct tpi_wire in;
	enum tp_status rc;

	memset(k, 0, sizeof(*k));
	tpi_wire_memory(&in, w->b, w->n);
	rc =
	    tpi_skim(&k->s, alloc, &in, w->n, &tp_onnx__model_proto__descriptor,
		TPI_SKIM_PAYLOADS, &limits, &k->err);
	if (rc)
		return rc;
	rc = tpi_proto_unpack(alloc, &tp_onnx__model_proto__descriptor,
	    k->s.copy.data, k->s.copy.n, &m, &k->err);
	if (rc)
		tpi_skim_release(&k->s);
	k->m = (TpOnnx__ModelProto *)m;
	return rc;
}

static void
drop(struct skimmed *k, const struct tp_alloc *alloc)
{
	if (k->m)
		tpi_proto_free(alloc, &k->m->base);
	tpi_skim_release(&k->s);
}

static const struct tpi_payload *
payload(const struct skimmed *k, const TpOnnx__TensorProto *t)
{
	uint32_t i;

	assert_int_equal(t->raw_data.len, 4);
	i = (uint32_t)t->raw_data.data[0] | (uint32_t)t->raw_data.data[1] << 8;
	assert_true(i < k->s.n_payloads);
	return &k->s.payloads[i];
}

static void
fails(const struct wire *w, enum tp_status status, const char *words)
{
	struct skimmed k;

	assert_int_equal(skim(&k, w, NULL), status);
	if (!strstr(k.err.msg, words))
		fail_msg("\"%s\" lacks \"%s\"", k.err.msg, words);
	assert_null(k.s.copy.data);
	assert_null(k.s.payloads);
}

/* A model with one graph. */
static struct wire
model_of(const struct wire *graph)
{
	struct wire m = {.n = 0};

	wire_int(&m, 1, 8);
	wire_msg(&m, 7, graph);
	return m;
}

static struct wire
model_of_tensor(const struct wire *tensor)
{
	struct wire g = {.n = 0};

	wire_msg(&g, 5, tensor);
	return model_of(&g);
}

static void
test_raw(void **state)
{
	struct wire t = {.n = 0}, m;
	struct skimmed k;
	const struct tpi_payload *p;
	TpOnnx__TensorProto *w;

	(void)state;
	wire_int(&t, 1, 3);
	wire_int(&t, 2, 2);
	wire_str(&t, 8, "w");
	wire_str(&t, 9, "abc");
	wire_str(&t, 12, "text");
	m = model_of_tensor(&t);
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	assert_int_equal(k.m->graph->n_initializer, 1);
	w = k.m->graph->initializer[0];
	assert_int_equal(w->n_dims, 1);
	assert_int_equal(w->dims[0], 3);
	assert_int_equal(w->data_type, 2);
	assert_memory_equal(w->name.data, "w", 1);
	assert_memory_equal(w->doc_string.data, "text", 4);
	p = payload(&k, w);
	assert_int_equal(p->fields, 1 << TPI_RAW_DATA);
	assert_true(p->single);
	assert_int_equal(p->nbytes, 3);
	assert_memory_equal(m.b + p->offset, "abc", 3);
	drop(&k, NULL);
}

/* The last raw_data counts, also an empty one; presence is told apart. */
static void
test_raw_twice(void **state)
{
	struct wire t = {.n = 0}, m;
	struct skimmed k;
	const struct tpi_payload *p;

	(void)state;
	wire_str(&t, 9, "abc");
	wire_str(&t, 9, "defg");
	m = model_of_tensor(&t);
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	p = payload(&k, k.m->graph->initializer[0]);
	assert_true(p->single);
	assert_int_equal(p->nbytes, 4);
	assert_memory_equal(m.b + p->offset, "defg", 4);
	drop(&k, NULL);

	wire_str(&t, 9, "");
	m = model_of_tensor(&t);
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	p = payload(&k, k.m->graph->initializer[0]);
	assert_int_equal(p->fields, 1 << TPI_RAW_DATA);
	assert_int_equal(p->nbytes, 0);
	drop(&k, NULL);

	t.n = 0;
	m = model_of_tensor(&t);
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	assert_int_equal(payload(&k, k.m->graph->initializer[0])->fields, 0);
	drop(&k, NULL);
}

static void
test_typed(void **state)
{
	struct wire t = {.n = 0}, m;
	struct skimmed k;
	const struct tpi_payload *p;

	(void)state;
	wire_bytes(&t, 4, "\0\0\x80\x3f\0\0\0\x40", 8);
	m = model_of_tensor(&t);
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	p = payload(&k, k.m->graph->initializer[0]);
	assert_int_equal(p->fields, 1 << TPI_FLOAT_DATA);
	assert_true(p->single);
	assert_int_equal(p->nbytes, 8);
	assert_memory_equal(m.b + p->offset, "\0\0\x80\x3f\0\0\0\x40", 8);
	assert_int_equal(k.m->graph->initializer[0]->n_float_data, 0);
	drop(&k, NULL);

	/* One more, unpacked: the data is no longer one piece. */
	wire_fixed32(&t, 4, 0x40400000);
	m = model_of_tensor(&t);
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	p = payload(&k, k.m->graph->initializer[0]);
	assert_false(p->single);
	assert_int_equal(p->n_fields, 2);
	drop(&k, NULL);

	/* And another kind. */
	wire_int(&t, 5, 1);
	m = model_of_tensor(&t);
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	p = payload(&k, k.m->graph->initializer[0]);
	assert_int_equal(p->fields, 1 << TPI_FLOAT_DATA | 1 << TPI_INT32_DATA);
	drop(&k, NULL);
}

/* AttributeProto.t given twice is one tensor with one record. */
static void
test_merged_tensor(void **state)
{
	struct wire t1 = {.n = 0}, t2 = {.n = 0}, a = {.n = 0}, n = {.n = 0},
		    g = {.n = 0}, m;
	struct skimmed k;
	const struct tpi_payload *p;
	TpOnnx__NodeProto *node;

	(void)state;
	wire_int(&t1, 1, 4);
	wire_str(&t1, 8, "first");
	wire_int(&t1, 5, 1);
	wire_int(&t2, 2, 6);
	wire_int(&t2, 5, 2);
	wire_msg(&a, 5, &t1);
	wire_msg(&a, 5, &t2);
	wire_msg(&n, 5, &a);
	a.n = 0;
	wire_msg(&a, 5, &t2);
	wire_msg(&n, 5, &a);
	wire_msg(&g, 1, &n);
	m = model_of(&g);
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	node = k.m->graph->node[0];
	assert_int_equal(node->n_attribute, 2);
	assert_int_equal(node->attribute[0]->t->data_type, 6);
	assert_int_equal(node->attribute[0]->t->dims[0], 4);
	assert_memory_equal(node->attribute[0]->t->name.data, "first", 5);
	p = payload(&k, node->attribute[0]->t);
	assert_int_equal(p->n_fields, 2);
	assert_int_equal(k.s.pieces[p->first].next, p->last);
	assert_int_equal(k.s.pieces[p->last].next, TP_NONE);

	/* The tensor of the next attribute is another one. */
	assert_ptr_not_equal(payload(&k, node->attribute[1]->t), p);
	assert_int_equal(k.s.n_payloads, 2);
	drop(&k, NULL);
}

/* SparseTensorProto in two pieces, values in both. */
static void
test_merged_sparse(void **state)
{
	struct wire t = {.n = 0}, s = {.n = 0}, a = {.n = 0}, n = {.n = 0},
		    g = {.n = 0}, m;
	struct skimmed k;
	TpOnnx__SparseTensorProto *sp;

	(void)state;
	wire_int(&t, 7, 1);
	wire_int(&t, 4001, 1);
	wire_msg(&s, 1, &t);
	wire_msg(&s, 2, &t);
	wire_msg(&a, 22, &s);
	wire_str(&a, 1, "between");
	wire_msg(&a, 22, &s);
	wire_msg(&n, 5, &a);
	wire_msg(&g, 1, &n);
	wire_msg(&g, 15, &s);
	m = model_of(&g);
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	sp = k.m->graph->node[0]->attribute[0]->sparse_tensor;
	assert_int_equal(payload(&k, sp->values)->n_fields, 2);
	assert_int_equal(payload(&k, sp->indices)->n_fields, 2);
	assert_int_equal(sp->values->base.n_unknown_fields, 2);
	assert_int_equal(k.m->graph->node[0]->attribute[0]->name.len, 7);
	sp = k.m->graph->sparse_initializer[0];
	assert_int_equal(payload(&k, sp->values)->n_fields, 1);
	assert_int_equal(k.s.n_payloads, 4);
	drop(&k, NULL);
}

static void
test_unknown(void **state)
{
	struct wire t = {.n = 0}, m;
	struct skimmed k;
	TpOnnx__TensorProto *w;

	(void)state;
	wire_int(&t, 4001, 7);
	wire_tag(&t, 99, 3);
	wire_int(&t, 1, 5);
	wire_tag(&t, 98, 3);
	wire_tag(&t, 98, 4);
	wire_tag(&t, 99, 4);
	wire_str(&t, 536870911, "kept");
	wire_str(&t, 2, "a data_type of the wrong wire type");
	m = model_of_tensor(&t);
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	w = k.m->graph->initializer[0];
	assert_int_equal(w->n_dims, 0);
	assert_false(w->has_data_type);
	assert_int_equal(w->base.n_unknown_fields, 2);
	assert_int_equal(w->base.unknown_fields[0].tag, 4001);
	assert_int_equal(w->base.unknown_fields[1].tag, 536870911);
	assert_memory_equal(w->base.unknown_fields[1].data, "\4kept", 5);
	drop(&k, NULL);
}

/* Each of the ways in which bytes are no message. */
static void
test_malformed(void **state)
{
	struct wire w = {.n = 0}, t = {.n = 0}, m;

	(void)state;
	wire_raw(&w, "\x3a\x05\x0a", 3);
	fails(&w, TP_EFORMAT, "ends at byte 7, but the file at 3");
	w.n = 0;
	wire_raw(&w, "\x08\x80\x80", 3);
	fails(&w, TP_EFORMAT, "varint does not end");
	w.n = 0;
	wire_raw(&w, "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\0", 12);
	fails(&w, TP_EFORMAT, "more than 10 bytes");
	w.n = 0;
	wire_raw(&w, "\0\0", 2);
	fails(&w, TP_EFORMAT, "field number 0");
	w.n = 0;
	wire_raw(&w, "\x0e\0", 2);
	fails(&w, TP_EFORMAT, "wire type 6");
	w.n = 0;
	wire_raw(&w, "\x0c", 1);
	fails(&w, TP_EFORMAT, "never began");
	w.n = 0;
	wire_raw(&w, "\x0b\x08\x01", 3);
	fails(&w, TP_EFORMAT, "without end");
	w.n = 0;
	wire_raw(&w, "\x0b\x13\x0c\x14", 4);
	fails(&w, TP_EFORMAT, "never began");
	w.n = 0;
	wire_raw(&w, "\xf5\xff\xff\xff\xff\x01", 6);
	fails(&w, TP_EFORMAT, "more than 32 bits");
	w.n = 0;
	wire_raw(&w, "\x0d\0\0\0", 4);
	fails(&w, TP_EFORMAT, "truncated");
	w.n = 0;
	wire_raw(&w, "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	fails(&w, TP_EFORMAT, "18446744073709551615 bytes");

	/* Inside a tensor its name is told. */
	wire_str(&t, 8, "heavy");
	wire_raw(&t, "\x4a\x05xxxx", 6);
	m = model_of_tensor(&t);
	fails(&m, TP_EFORMAT, "tensor 'heavy': truncated");
	t.n = 0;
	wire_raw(&t, "\x0a\x02\x80\x80", 4);
	m = model_of_tensor(&t);
	fails(&m, TP_EFORMAT, "varint does not end");
}

static void
test_truncated_everywhere(void **state)
{
	struct wire t = {.n = 0}, m, cut;
	struct skimmed k;

	(void)state;
	wire_int(&t, 1, 300);
	wire_str(&t, 8, "w");
	wire_bytes(&t, 4, "12345678", 8);
	wire_fixed32(&t, 50, 1);
	m = model_of_tensor(&t);
	cut = m;
	for (cut.n = 0; cut.n < m.n; cut.n++) {
		enum tp_status rc = skim(&k, &cut, NULL);

		/* After the ir_version, and before it, a message ends. */
		if (cut.n == 0 || cut.n == 2) {
			assert_int_equal(rc, TP_OK);
			drop(&k, NULL);
		} else {
			assert_int_equal(rc, TP_EFORMAT);
		}
	}
}

/* model { graph { input { type { sequence { type …, so many messages deep. */
static struct wire
nested(size_t levels)
{
	struct wire w, inner = {.n = 0};

	for (size_t i = levels - 3; i > 0; i--) {
		w = inner;
		inner.n = 0;
		wire_msg(&inner, i % 2 ? 4 : 1, &w);
	}
	w.n = 0;
	wire_msg(&w, 2, &inner);
	inner.n = 0;
	wire_msg(&inner, 11, &w);
	return model_of(&inner);
}

static void
test_depth(void **state)
{
	struct wire m = nested(100);
	struct skimmed k;

	(void)state;
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	drop(&k, NULL);
	m = nested(101);
	fails(&m, TP_ELIMIT, "nested more than 100 deep");
	m = nested(4000);
	fails(&m, TP_ELIMIT, "nested more than 100 deep");
	m.n = 0;
	for (size_t i = 0; i < 8000; i++)
		wire_tag(&m, 1, 3);
	fails(&m, TP_ELIMIT, "groups nested more than 100 deep");
}

/* Unknown fields of both pieces survive, and lists are joined. */
static void
test_merged_graph(void **state)
{
	struct wire t = {.n = 0}, g = {.n = 0}, m = {.n = 0};
	struct skimmed k;

	(void)state;
	wire_str(&m, 2, "producer");
	wire_str(&t, 8, "a");
	wire_msg(&g, 5, &t);
	wire_int(&g, 4001, 1);
	wire_str(&g, 2, "first");
	wire_msg(&m, 7, &g);
	wire_str(&m, 4003, "between the pieces");
	g.n = t.n = 0;
	wire_str(&t, 8, "b");
	wire_msg(&g, 5, &t);
	wire_int(&g, 4002, 2);
	wire_msg(&m, 7, &g);
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	assert_int_equal(k.m->graph->n_initializer, 2);
	assert_memory_equal(k.m->graph->initializer[0]->name.data, "a", 1);
	assert_memory_equal(k.m->graph->initializer[1]->name.data, "b", 1);
	assert_memory_equal(k.m->graph->name.data, "first", 5);
	assert_int_equal(k.m->graph->base.n_unknown_fields, 2);
	assert_int_equal(k.m->base.n_unknown_fields, 1);
	assert_int_equal(k.m->producer_name.len, 8);
	drop(&k, NULL);
}

static void
test_many_merges(void **state)
{
	struct wire m = {.n = 0};
	struct skimmed k;

	(void)state;
	for (size_t i = 0; i <= 100; i++)
		wire_str(&m, 7, "");
	assert_int_equal(skim(&k, &m, NULL), TP_OK);
	drop(&k, NULL);
	wire_str(&m, 7, "");
	fails(&m, TP_ELIMIT, "merged");
}

/* The limit counts what messages take unpacked, not what they take here. */
static void
test_budget(void **state)
{
	struct tp_limits limits = tp_limits_default();
	struct wire g = {.n = 0}, m;
	struct tp_err err = TP_ERR_INIT;
	struct tpi_skim s;
	struct tpi_wire in;

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		wire_str(&g, 1, "");
	m = model_of(&g);
	limits.directory_bytes = 1000 * sizeof(TpOnnx__NodeProto);
	tpi_wire_memory(&in, m.b, m.n);
	assert_int_equal(
	    tpi_skim(&s, NULL, &in, m.n, &tp_onnx__model_proto__descriptor,
		TPI_SKIM_PAYLOADS, &limits, &err),
	    TP_ELIMIT);
	limits.directory_bytes *= 3;
	tpi_wire_memory(&in, m.b, m.n);
	assert_int_equal(
	    tpi_skim(&s, NULL, &in, m.n, &tp_onnx__model_proto__descriptor,
		TPI_SKIM_PAYLOADS, &limits, &err),
	    TP_OK);
	tpi_skim_release(&s);
}

static void
test_whole(void **state)
{
	const struct tp_limits limits = tp_limits_default();
	struct wire t = {.n = 0}, m;
	TpOnnx__ModelProto *model;
	ProtobufCMessage *out;

	(void)state;
	wire_str(&t, 9, "bytes");
	wire_bytes(&t, 5, "\x01\xff\x01", 3);
	wire_int(&t, 5, 3);
	wire_tag(&t, 70, 3);
	wire_tag(&t, 70, 4);
	m = model_of_tensor(&t);
	assert_int_equal(
	    tpi_skim_unpack(NULL, m.b, m.n, &tp_onnx__model_proto__descriptor,
		&limits, &out, NULL),
	    TP_OK);
	model = (TpOnnx__ModelProto *)out;
	assert_int_equal(model->graph->initializer[0]->raw_data.len, 5);
	assert_int_equal(model->graph->initializer[0]->n_int32_data, 3);
	assert_int_equal(model->graph->initializer[0]->int32_data[1], 255);
	tpi_proto_free(NULL, out);
	assert_int_equal(
	    tpi_skim_unpack(NULL, m.b, m.n - 1,
		&tp_onnx__model_proto__descriptor, &limits, &out, NULL),
	    TP_EFORMAT);
	assert_null(out);
}

static void
test_no_memory(void **state)
{
	struct wire t = {.n = 0}, a = {.n = 0}, n = {.n = 0}, g = {.n = 0}, m;
	struct fail_alloc f = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	wire_str(&t, 8, "w");
	wire_str(&t, 9, "abc");
	wire_str(&t, 77, "unknown");
	wire_msg(&a, 5, &t);
	wire_msg(&a, 5, &t);
	wire_msg(&n, 5, &a);
	wire_msg(&g, 5, &t);
	wire_msg(&g, 1, &n);
	m = model_of(&g);
	while (fail_alloc_next(&f, rc)) {
		struct skimmed k;

		rc = skim(&k, &m, &f.alloc);
		if (!rc)
			drop(&k, &f.alloc);
	}
}

/* Payloads of a file are passed by: a hole of 1 GiB costs nothing. */
static void
test_file_with_hole(void **state)
{
	const struct tp_limits limits = tp_limits_default();
	const uint64_t hole = (uint64_t)1 << 30;
	struct wire t = {.n = 0}, g = {.n = 0}, m = {.n = 0}, tail = {.n = 0};
	struct temp_dir dir;
	struct fail_alloc f;
	struct tpi_source *src = NULL;
	struct tpi_skim s;
	struct tpi_wire in;
	const char *path;
	int fd;

	(void)state;
	wire_str(&tail, 8, "big");
	wire_tag(&t, 9, 2);
	wire_varint(&t, hole);
	wire_tag(&g, 5, 2);
	wire_varint(&g, t.n + hole + tail.n);
	wire_tag(&m, 7, 2);
	wire_varint(&m, g.n + t.n + hole + tail.n);
	wire_raw(&m, g.b, g.n);
	wire_raw(&m, t.b, t.n);

	temp_dir_make(&dir);
	path = temp_path(&dir, "big.onnx");
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, m.b, m.n), m.n);
	assert_int_equal(
	    pwrite(fd, tail.b, tail.n, (off_t)(m.n + hole)), tail.n);
	close(fd);
	fail_alloc_init(&f, 0);
	assert_int_equal(tpi_source_open(&f.alloc, path, &src, NULL), TP_OK);
	assert_int_equal(src->size, m.n + hole + tail.n);
	assert_int_equal(
	    tpi_wire_open(&in, &f.alloc, src, src->size, NULL), TP_OK);
	assert_int_equal(tpi_skim(&s, &f.alloc, &in, src->size,
			     &tp_onnx__model_proto__descriptor,
			     TPI_SKIM_PAYLOADS, &limits, NULL),
	    TP_OK);
	assert_int_equal(s.n_payloads, 1);
	assert_int_equal(s.payloads[0].offset, m.n);
	assert_int_equal(s.payloads[0].nbytes, hole);
	assert_true(f.peak < 256 << 10);
	tpi_skim_release(&s);
	tpi_wire_close(&in);
	tpi_source_close(src);
	assert_int_equal(f.n_live, 0);
	temp_dir_remove(&dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_raw),
	    cmocka_unit_test(test_raw_twice),
	    cmocka_unit_test(test_typed),
	    cmocka_unit_test(test_merged_tensor),
	    cmocka_unit_test(test_merged_sparse),
	    cmocka_unit_test(test_unknown),
	    cmocka_unit_test(test_malformed),
	    cmocka_unit_test(test_truncated_everywhere),
	    cmocka_unit_test(test_depth),
	    cmocka_unit_test(test_merged_graph),
	    cmocka_unit_test(test_many_merges),
	    cmocka_unit_test(test_budget),
	    cmocka_unit_test(test_whole),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_file_with_hole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
