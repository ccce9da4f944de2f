/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_summary.c: the facts of a graph, and graphs that lie */
#include "support/cmocka_all.h"

#include <string.h>

#include "tp/onnx.h"

#include "formats/plugin.h"
#include "support/fail_alloc.h"
#include "support/fake_reader.h"
#include "support/temp_dir.h"

/* A message under construction; big enough for all that is made here. */
struct message {
	uint8_t data[4096];
	size_t n;
};

static void
put_varint(struct message *m, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		m->data[m->n++] = (uint8_t)(v | 0x80);
	m->data[m->n++] = (uint8_t)v;
}

static void
put_int(struct message *m, uint32_t number, uint64_t v)
{
	put_varint(m, number << 3);
	put_varint(m, v);
}

static void
put_bytes(struct message *m, uint32_t number, const void *data, size_t n)
{
	put_varint(m, number << 3 | 2);
	put_varint(m, n);
	memcpy(m->data + m->n, data, n);
	m->n += n;
}

static void
put_text(struct message *m, uint32_t number, const char *text)
{
	put_bytes(m, number, text, strlen(text));
}

static void
put_message(struct message *m, uint32_t number, const struct message *sub)
{
	put_bytes(m, number, sub->data, sub->n);
}

/* ValueInfoProto of a tensor [size, param, unknown]. */
static void
put_value(struct message *graph, uint32_t number, const char *name)
{
	struct message dim = {.n = 0}, shape = {.n = 0}, tensor = {.n = 0};
	struct message type = {.n = 0}, value = {.n = 0};

	put_int(&dim, 1, 3);
	put_message(&shape, 1, &dim);
	dim.n = 0;
	put_text(&dim, 2, "batch");
	put_message(&shape, 1, &dim);
	dim.n = 0;
	put_message(&shape, 1, &dim);
	put_int(&tensor, 1, 1);
	put_message(&tensor, 2, &shape);
	put_message(&type, 1, &tensor);
	put_text(&value, 1, name);
	put_message(&value, 2, &type);
	put_message(graph, number, &value);
}

static void
put_node(struct message *graph, uint32_t number, const char *op,
    const char *domain, const struct message *body)
{
	struct message node = {.n = 0}, attribute = {.n = 0};

	if (body) {
		put_text(&attribute, 1, "body");
		put_message(&attribute, 6, body);
		put_message(&node, 5, &attribute);
	}
	put_text(&node, 4, op);
	if (domain)
		put_text(&node, 7, domain);
	put_message(graph, number, &node);
}

/* A model with a loop in which there is a branch, a function, training. */
static void
make_model(struct message *model)
{
	struct message inner = {.n = 0}, body = {.n = 0}, graph = {.n = 0};
	struct message opset = {.n = 0}, function = {.n = 0},
		       sequence = {.n = 0};
	struct message training = {.n = 0}, value = {.n = 0};

	put_node(&inner, 1, "Add", NULL, NULL);
	put_value(&inner, 11, "not an input of the model");
	put_node(&body, 1, "Add", "ai.onnx", NULL);
	put_node(&body, 1, "If", NULL, &inner);
	put_text(&graph, 2, "main");
	put_node(&graph, 1, "Loop", NULL, &body);
	put_node(&graph, 1, "Add", "custom", NULL);
	put_value(&graph, 11, "x");
	put_message(&sequence, 4, &(struct message){.n = 0});
	put_text(&value, 1, "y");
	put_message(&value, 2, &sequence);
	put_message(&graph, 12, &value);
	put_text(&opset, 1, "custom");
	put_int(&opset, 2, 7);
	put_node(&function, 7, "Mul", NULL, NULL);
	put_message(&training, 2, &inner);

	put_int(model, 1, 8);
	put_text(model, 2, "by hand");
	put_text(model, 3, "1.0");
	put_int(model, 5, 42);
	put_text(model, 6, "words");
	put_message(model, 8, &opset);
	put_message(model, 7, &graph);
	put_message(model, 20, &training);
	put_message(model, 25, &function);
}

/* A reader whose model has this graph, or none. */
static struct tp_reader *
reader_of(const struct tp_alloc *alloc, struct temp_dir *dir,
    const struct message *graph)
{
	struct tp_reader *r =
	    fake_reader(alloc, temp_path(dir, "model"), "", 0);

	if (graph) {
		assert_int_equal(tpi_reader_add_attachment(
				     r, TP_STR(TP_ATTACHMENT_ONNX), NULL),
		    TP_OK);
		r->attachments[0].data = graph->data;
		r->attachments[0].nbytes = graph->n;
	}
	return r;
}

static void
assert_text(struct tp_str s, const char *expected)
{
	assert_int_equal(s.len, strlen(expected));
	assert_memory_equal(s.s, expected, s.len);
}

static void
assert_op(const struct tp_onnx_summary *s, size_t i, const char *domain,
    const char *op, uint64_t count)
{
	assert_text(tp_onnx_summary_op(s, i)->domain, domain);
	assert_text(tp_onnx_summary_op(s, i)->op_type, op);
	assert_int_equal(tp_onnx_summary_op(s, i)->count, count);
}

static void
facts_of_a_model(void **state)
{
	struct message model = {.n = 0};
	struct tp_onnx_summary *s = NULL;
	const struct tp_onnx_model *m;
	const struct tp_onnx_value *x;
	struct tp_reader *r;

	make_model(&model);
	r = reader_of(NULL, *state, &model);
	assert_int_equal(tp_onnx_summary_new(r, &s, NULL), TP_OK);
	m = tp_onnx_summary_model(s);
	assert_int_equal(m->ir_version, 8);
	assert_int_equal(m->model_version, 42);
	assert_text(m->producer_name, "by hand");
	assert_text(m->producer_version, "1.0");
	assert_text(m->doc_string, "words");
	assert_text(m->graph_name, "main");
	assert_text(m->domain, "");
	assert_int_equal(m->n_nodes, 7);
	assert_int_equal(m->n_subgraphs, 2);
	assert_int_equal(m->n_functions, 1);
	assert_int_equal(m->n_training, 1);
	assert_int_equal(m->n_opsets, 1);
	assert_text(tp_onnx_summary_opset(s, 0)->domain, "custom");
	assert_int_equal(tp_onnx_summary_opset(s, 0)->version, 7);

	assert_int_equal(m->n_inputs, 1);
	x = tp_onnx_summary_input(s, 0);
	assert_text(x->name, "x");
	assert_int_equal(x->kind, TP_ONNX_TENSOR);
	assert_int_equal(x->dtype, TP_DTYPE_F32);
	assert_true(x->has_shape);
	assert_int_equal(x->rank, 3);
	assert_true(x->dims[0].has_size);
	assert_int_equal(x->dims[0].size, 3);
	assert_text(x->dims[1].param, "batch");
	assert_false(x->dims[2].has_size);
	assert_int_equal(x->dims[2].param.len, 0);
	assert_int_equal(m->n_outputs, 1);
	assert_int_equal(tp_onnx_summary_output(s, 0)->kind, TP_ONNX_SEQUENCE);

	/* By count, then name, then domain. */
	assert_int_equal(m->n_ops, 5);
	assert_op(s, 0, "", "Add", 3);
	assert_op(s, 1, "custom", "Add", 1);
	assert_op(s, 2, "", "If", 1);
	assert_op(s, 3, "", "Loop", 1);
	assert_op(s, 4, "", "Mul", 1);
	tp_onnx_summary_free(s);
	tp_close(r);
}

static void
no_graph_is_not_found(void **state)
{
	struct tp_reader *r = reader_of(NULL, *state, NULL);
	struct tp_onnx_summary *s = (void *)&r;

	assert_int_equal(tp_onnx_summary_new(r, &s, NULL), TP_ENOTFOUND);
	assert_null(s);
	tp_close(r);
}

/* Every beginning of a model is either a model or refused. */
static void
cut_models_are_refused(void **state)
{
	struct message model = {.n = 0};
	size_t n_refused = 0, whole;

	make_model(&model);
	whole = model.n;
	for (model.n = 0; model.n < whole; model.n++) {
		struct tp_reader *r = reader_of(NULL, *state, &model);
		struct tp_onnx_summary *s = NULL;
		struct tp_err err = TP_ERR_INIT;
		enum tp_status rc = tp_onnx_summary_new(r, &s, &err);

		if (rc) {
			assert_int_equal(rc, TP_EFORMAT);
			assert_true(err.msg[0] != '\0');
			assert_null(s);
			n_refused++;
		}
		tp_onnx_summary_free(s);
		tp_close(r);
	}
	/* It ends between fields at nine places, the beginning included. */
	assert_int_equal(n_refused, whole - 9);
}

static void
deep_graphs_are_refused(void **state)
{
	struct message graphs[2] = {{.n = 0}, {.n = 0}}, model = {.n = 0};
	struct tp_onnx_summary *s = NULL;
	struct tp_reader *r;

	for (unsigned i = 0; i < 101; i++) {
		graphs[(i + 1) % 2].n = 0;
		put_node(&graphs[(i + 1) % 2], 1, "If", NULL, &graphs[i % 2]);
	}
	put_message(&model, 7, &graphs[101 % 2]);
	r = reader_of(NULL, *state, &model);
	assert_int_equal(tp_onnx_summary_new(r, &s, NULL), TP_ELIMIT);
	assert_null(s);
	tp_close(r);
}

static void
no_memory_is_clean(void **state)
{
	struct message model = {.n = 0};
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	make_model(&model);
	while (fail_alloc_next(&a, rc)) {
		struct tp_reader *r = reader_of(NULL, *state, &model);
		struct tp_onnx_summary *s = NULL;
		const struct tp_alloc *own = r->alloc;

		r->alloc = &a.alloc;
		rc = tp_onnx_summary_new(r, &s, NULL);
		assert_true((rc == TP_OK) == (s != NULL));
		tp_onnx_summary_free(s);
		r->alloc = own;
		tp_close(r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(facts_of_a_model),
	    cmocka_unit_test(no_graph_is_not_found),
	    cmocka_unit_test(cut_models_are_refused),
	    cmocka_unit_test(deep_graphs_are_refused),
	    cmocka_unit_test(no_memory_is_clean),
	};

	return cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
}
