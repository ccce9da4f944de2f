/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_summary.c: the facts of a graph, and graphs that lie */
#include "support/cmocka_all.h"

#include <string.h>

#include "tp/onnx.h"

#include "formats/plugin.h"
#include "support/fail_alloc.h"
#include "support/fake_reader.h"
#include "support/temp_dir.h"
#include "support/wire.h"

/* ValueInfoProto of a tensor [size, param, unknown]. */
static void
put_value(struct wire *graph, uint32_t number, const char *name)
{
	struct wire dim = {.n = 0}, shape = {.n = 0}, tensor = {.n = 0};
	struct wire type = {.n = 0}, value = {.n = 0};

	wire_int(&dim, 1, 3);
	wire_msg(&shape, 1, &dim);
	dim.n = 0;
	wire_str(&dim, 2, "batch");
	wire_msg(&shape, 1, &dim);
	dim.n = 0;
	wire_msg(&shape, 1, &dim);
	wire_int(&tensor, 1, 1);
	wire_msg(&tensor, 2, &shape);
	wire_msg(&type, 1, &tensor);
	wire_str(&value, 1, name);
	wire_msg(&value, 2, &type);
	wire_msg(graph, number, &value);
}

static void
put_node(struct wire *graph, uint32_t number, const char *op,
    const char *domain, const struct wire *body)
{
	struct wire node = {.n = 0}, attribute = {.n = 0};

	if (body) {
		wire_str(&attribute, 1, "body");
		wire_msg(&attribute, 6, body);
		wire_msg(&node, 5, &attribute);
	}
	wire_str(&node, 4, op);
	if (domain)
		wire_str(&node, 7, domain);
	wire_msg(graph, number, &node);
}

/* A model with a loop in which there is a branch, a function, training. */
static void
make_model(struct wire *model)
{
	struct wire inner = {.n = 0}, body = {.n = 0}, graph = {.n = 0};
	struct wire opset = {.n = 0}, function = {.n = 0}, sequence = {.n = 0};
	struct wire training = {.n = 0}, value = {.n = 0};

	put_node(&inner, 1, "Add", NULL, NULL);
	put_value(&inner, 11, "not an input of the model");
	put_node(&body, 1, "Add", "ai.onnx", NULL);
	put_node(&body, 1, "If", NULL, &inner);
	wire_str(&graph, 2, "main");
	put_node(&graph, 1, "Loop", NULL, &body);
	put_node(&graph, 1, "Add", "custom", NULL);
	put_value(&graph, 11, "x");
	wire_msg(&sequence, 4, &(struct wire){.n = 0});
	wire_str(&value, 1, "y");
	wire_msg(&value, 2, &sequence);
	wire_msg(&graph, 12, &value);
	wire_str(&opset, 1, "custom");
	wire_int(&opset, 2, 7);
	put_node(&function, 7, "Mul", NULL, NULL);
	wire_msg(&training, 2, &inner);

	wire_int(model, 1, 8);
	wire_str(model, 2, "by hand");
	wire_str(model, 3, "1.0");
	wire_int(model, 5, 42);
	wire_str(model, 6, "words");
	wire_msg(model, 8, &opset);
	wire_msg(model, 7, &graph);
	wire_msg(model, 20, &training);
	wire_msg(model, 25, &function);
}

/* A reader whose model has this graph, or none. */
static struct tp_reader *
reader_of(const struct tp_alloc *alloc, struct temp_dir *dir,
    const struct wire *graph)
{
	struct tp_reader *r =
	    fake_reader(alloc, temp_path(dir, "model"), "", 0);

	if (graph) {
		assert_int_equal(tpi_reader_add_attachment(
				     r, TP_STR(TP_ATTACHMENT_ONNX), NULL),
		    TP_OK);
		r->attachments[0].data = graph->b;
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
	struct wire model = {.n = 0};
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
	struct wire model = {.n = 0};
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
	struct wire graphs[2] = {{.n = 0}, {.n = 0}}, model = {.n = 0};
	struct tp_onnx_summary *s = NULL;
	struct tp_reader *r;

	for (unsigned i = 0; i < 101; i++) {
		graphs[(i + 1) % 2].n = 0;
		put_node(&graphs[(i + 1) % 2], 1, "If", NULL, &graphs[i % 2]);
	}
	wire_msg(&model, 7, &graphs[101 % 2]);
	r = reader_of(NULL, *state, &model);
	assert_int_equal(tp_onnx_summary_new(r, &s, NULL), TP_ELIMIT);
	assert_null(s);
	tp_close(r);
}

static void
no_memory_is_clean(void **state)
{
	struct wire model = {.n = 0};
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
