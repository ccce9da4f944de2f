/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_test.c - an ONNX model and its data sets from a few lines
 *
 *	onnx_test FOLDER < LINES	FOLDER/model.onnx, test_data_set_N/…
 *
 *	opset [DOMAIN] N
 *	input NAME TYPE			TYPE: DTYPE SHAPE | seq DTYPE | opt DTYPE
 *	output NAME TYPE		SHAPE: 2,3 | - (scalar) | ? (not said);
 *					a size may be a name
 *	init NAME DTYPE SHAPE = VALUE…
 *	node OP INPUT… -> OUTPUT… [: NAME] [K=V…]
 *	in NAME DTYPE SHAPE = VALUE…	the next input of the data set
 *	in NAME seq DTYPE SHAPE = V… / SHAPE = V…
 *	in NAME opt [DTYPE SHAPE = V…]
 *	out …				the next output
 *	set				another data set
 *	graph NAME … end		for an attribute K=@NAME
 *	function DOMAIN NAME INPUT… -> OUTPUT… … end	node lines only
 *
 * "_" is the empty name. V is an integer, a float if it has a point, text
 * otherwise, [1,2] a list of integers. A DTYPE is one of the list below.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tp/endian.h"

#include "support/onnx_build.h"

static const struct dtype {
	const char *name;
	int32_t code;
	unsigned size; /* of raw_data; 0: strings */
} dtypes[] = {
    {"f32", 1, 4},
    {"u8", 2, 1},
    {"u16", 4, 2},
    {"i32", 6, 4},
    {"i64", 7, 8},
    {"string", 8, 0},
    {"bool", 9, 1},
    {"f64", 11, 8},
    {"bf16", 16, 2},
};

#define MAX_WORDS 256
#define MAX_GRAPHS 8

static const char *folder;
static TpOnnx__ModelProto *model;
static TpOnnx__GraphProto *at;		/* the graph that lines are about */
static TpOnnx__FunctionProto *function; /* … whose nodes these are, or NULL */
static struct {
	char *name;
	TpOnnx__GraphProto *graph;
} graphs[MAX_GRAPHS];
static size_t n_graphs;
static unsigned set, n_in, n_out;

static void
die(const char *what, const char *about)
{
	fprintf(stderr, "onnx_test: %s: %s\n", what, about);
	exit(2);
}

static ProtobufCBinaryData
name_of(const char *word)
{
	return build_bytes(strcmp(word, "_") ? word : "");
}

static const struct dtype *
dtype_of(const char *word)
{
	for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
		if (!strcmp(dtypes[i].name, word))
			return &dtypes[i];
	die("no dtype", word);
	return NULL;
}

/* One value at p. */
static void
put_value(const struct dtype *d, const char *word, uint8_t *p)
{
	double x = strtod(word, NULL);
	float f = (float)x;
	uint64_t bits = (uint64_t)strtoll(word, NULL, 0);
	uint32_t single;

	if (d->code == 1) {
		memcpy(&single, &f, 4);
		tp_put_le32(p, single);
	} else if (d->code == 11) {
		memcpy(&bits, &x, 8);
		tp_put_le64(p, bits);
	} else {
		for (unsigned i = 0; i < d->size; i++)
			p[i] = (uint8_t)(bits >> 8 * i);
	}
}

/* DTYPE SHAPE = VALUE…; returns how many words were taken. */
static size_t
parse_tensor(
    char **words, size_t n, const char *name, TpOnnx__TensorProto **out)
{
	const struct dtype *d = dtype_of(words[0]);
	TpOnnx__TensorProto *t = build_tensor(name, d->code, 0, NULL);
	size_t i = 3, n_values = 0;

	for (char *s = words[1]; *s && strcmp(words[1], "-");) {
		BUILD_ADD(t->dims, t->n_dims, strtoll(s, &s, 10));
		s += *s == ',';
	}
	if (n < 3 || strcmp(words[2], "="))
		die("no values", words[1]);
	for (; i + n_values < n && strcmp(words[i + n_values], "/");)
		n_values++;
	if (d->size) {
		t->has_raw_data = 1;
		t->raw_data.len = n_values * d->size;
		t->raw_data.data = build_take(t->raw_data.len + 1);
	}
	for (size_t k = 0; k < n_values; k++)
		if (d->size)
			put_value(
			    d, words[i + k], t->raw_data.data + k * d->size);
		else
			BUILD_ADD(t->string_data, t->n_string_data,
			    build_bytes(words[i + k]));
	*out = t;
	return i + n_values;
}

static TpOnnx__TypeProto *
tensor_type(char **words, size_t n)
{
	TpOnnx__TypeProto *t = build_message(&tp_onnx__type_proto__descriptor);
	TpOnnx__TensorShapeProto *shape;

	t->tensor_type =
	    build_message(&tp_onnx__type_proto__tensor__descriptor);
	t->tensor_type->has_elem_type = 1;
	t->tensor_type->elem_type = dtype_of(words[0])->code;
	if (n < 2 || !strcmp(words[1], "?"))
		return t;
	shape = build_message(&tp_onnx__tensor_shape_proto__descriptor);
	t->tensor_type->shape = shape;
	for (char *s = strtok(words[1], ","); s && strcmp(s, "-");
	     s = strtok(NULL, ",")) {
		TpOnnx__TensorShapeProto__Dimension *d = build_message(
		    &tp_onnx__tensor_shape_proto__dimension__descriptor);

		d->has_dim_value = isdigit((unsigned char)*s) != 0;
		d->has_dim_param = !d->has_dim_value;
		d->dim_value = strtoll(s, NULL, 10);
		d->dim_param = build_bytes(s);
		BUILD_ADD(shape->dim, shape->n_dim, d);
	}
	return t;
}

static TpOnnx__ValueInfoProto *
value_of(char **words, size_t n)
{
	TpOnnx__ValueInfoProto *v =
	    build_message(&tp_onnx__value_info_proto__descriptor);
	TpOnnx__TypeProto *outer;

	v->has_name = 1;
	v->name = name_of(words[0]);
	if (n < 2)
		return v;
	v->type = outer = build_message(&tp_onnx__type_proto__descriptor);
	if (!strcmp(words[1], "seq")) {
		outer->sequence_type =
		    build_message(&tp_onnx__type_proto__sequence__descriptor);
		outer->sequence_type->elem_type = tensor_type(words + 2, 1);
	} else if (!strcmp(words[1], "opt")) {
		outer->optional_type =
		    build_message(&tp_onnx__type_proto__optional__descriptor);
		outer->optional_type->elem_type = tensor_type(words + 2, 1);
	} else {
		v->type = tensor_type(words + 1, n - 1);
	}
	return v;
}

static void
add_attribute(TpOnnx__NodeProto *node, char *word)
{
	char *value = strchr(word, '='), *end;
	TpOnnx__AttributeProto *a;

	*value++ = '\0';
	a = build_attribute(node, word, 3);
	strtoll(value, &end, 10);
	if (*value == '@') {
		a->type = 5;
		for (size_t i = 0; i < n_graphs; i++)
			if (!strcmp(graphs[i].name, value + 1))
				a->g = graphs[i].graph;
		if (!a->g)
			die("no graph", value);
	} else if (*value == '[') {
		a->type = 7;
		for (char *s = value + 1; *s && *s != ']'; s += *s == ',')
			BUILD_ADD(a->ints, a->n_ints, strtoll(s, &s, 10));
	} else if (end != value && !*end) {
		a->type = 2;
		a->has_i = 1;
		a->i = strtoll(value, NULL, 10);
	} else if (end != value && *end == '.') {
		a->type = 1;
		a->has_f = 1;
		a->f = strtof(value, NULL);
	} else {
		a->has_s = 1;
		a->s = build_bytes(value);
	}
}

static void
parse_node(char **words, size_t n)
{
	TpOnnx__NodeProto *node =
	    build_message(&tp_onnx__node_proto__descriptor);
	char *dot = strrchr(words[0], '.');
	size_t i = 1;

	if (dot) {
		*dot = '\0';
		node->has_domain = 1;
		node->domain = build_bytes(words[0]);
	}
	node->has_op_type = 1;
	node->op_type = build_bytes(dot ? dot + 1 : words[0]);
	for (; i < n && strcmp(words[i], "->"); i++)
		BUILD_ADD(node->input, node->n_input, name_of(words[i]));
	for (i++; i < n && !strchr(words[i], '=') && strcmp(words[i], ":"); i++)
		BUILD_ADD(node->output, node->n_output, name_of(words[i]));
	if (i + 1 < n && !strcmp(words[i], ":")) {
		node->has_name = 1;
		node->name = build_bytes(words[i + 1]);
		i += 2;
	}
	for (; i < n; i++)
		add_attribute(node, words[i]);
	BUILD_ADD(at->node, at->n_node, node);
}

static void
write_message(const char *path, const void *message)
{
	size_t n = protobuf_c_message_get_packed_size(message);
	uint8_t *data = malloc(n + 1);
	FILE *f = fopen(path, "wb");

	if (!data || !f)
		die("cannot write", path);
	protobuf_c_message_pack(message, data);
	if (fwrite(data, 1, n, f) != n || fclose(f))
		die("cannot write", path);
	free(data);
}

/* NAME, and what a data file holds. */
static const void *
parse_data(char **words, size_t n)
{
	TpOnnx__SequenceProto *s;
	TpOnnx__OptionalProto *o;
	TpOnnx__TensorProto *t;

	if (n > 1 && !strcmp(words[1], "seq")) {
		s = build_message(&tp_onnx__sequence_proto__descriptor);
		s->has_elem_type = 1;
		s->elem_type = 1;
		for (size_t i = 3; i < n; i++) {
			char *rest[MAX_WORDS] = {words[2]};

			memcpy(rest + 1, words + i, (n - i) * sizeof(*rest));
			i += parse_tensor(rest, n - i + 1, words[0], &t) - 1;
			BUILD_ADD(s->tensor_values, s->n_tensor_values, t);
		}
		return s;
	}
	if (n > 1 && !strcmp(words[1], "opt")) {
		o = build_message(&tp_onnx__optional_proto__descriptor);
		o->has_elem_type = n > 2;
		o->elem_type = n > 2;
		if (n > 2)
			parse_tensor(
			    words + 2, n - 2, words[0], &o->tensor_value);
		return o;
	}
	parse_tensor(words + 1, n - 1, words[0], &t);
	return t;
}

static void
add_data(const char *what, unsigned number, char **words, size_t n)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/test_data_set_%u", folder, set);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/test_data_set_%u/%s_%u.pb", folder,
	    set, what, number);
	write_message(path, parse_data(words, n));
}

static void
add_opset(char **words, size_t n)
{
	TpOnnx__OperatorSetIdProto *o =
	    build_message(&tp_onnx__operator_set_id_proto__descriptor);

	o->has_version = 1;
	o->version = strtoll(words[n - 1], NULL, 10);
	o->has_domain = n > 1;
	if (n > 1)
		o->domain = build_bytes(words[0]);
	BUILD_ADD(model->opset_import, model->n_opset_import, o);
}

static void
begin_function(char **words, size_t n)
{
	TpOnnx__FunctionProto *f =
	    build_message(&tp_onnx__function_proto__descriptor);
	size_t i = 2;

	f->has_domain = f->has_name = 1;
	f->domain = build_bytes(words[0]);
	f->name = build_bytes(words[1]);
	for (; i < n && strcmp(words[i], "->"); i++)
		BUILD_ADD(f->input, f->n_input, name_of(words[i]));
	for (i++; i < n; i++)
		BUILD_ADD(f->output, f->n_output, name_of(words[i]));
	f->n_opset_import = model->n_opset_import;
	f->opset_import = model->opset_import;
	BUILD_ADD(model->functions, model->n_functions, f);
	function = f;
	at = build_graph();
}

/* Back from an inner graph or a function to the model. */
static void
end_inner(void)
{
	if (function) {
		function->node = at->node;
		function->n_node = at->n_node;
		function = NULL;
	}
	at = model->graph;
}

static void
take_line(char **words, size_t n)
{
	const char *key = words[0];
	TpOnnx__TensorProto *t;

	words++;
	n--;
	if (!strcmp(key, "opset")) {
		add_opset(words, n);
	} else if (!strcmp(key, "input")) {
		BUILD_ADD(at->input, at->n_input, value_of(words, n));
	} else if (!strcmp(key, "output")) {
		BUILD_ADD(at->output, at->n_output, value_of(words, n));
	} else if (!strcmp(key, "init")) {
		parse_tensor(words + 1, n - 1, words[0], &t);
		BUILD_ADD(at->initializer, at->n_initializer, t);
	} else if (!strcmp(key, "node")) {
		parse_node(words, n);
	} else if (!strcmp(key, "in")) {
		add_data("input", n_in++, words, n);
	} else if (!strcmp(key, "out")) {
		add_data("output", n_out++, words, n);
	} else if (!strcmp(key, "set")) {
		set++;
		n_in = n_out = 0;
	} else if (!strcmp(key, "graph") && n_graphs < MAX_GRAPHS) {
		at = build_graph();
		graphs[n_graphs].name = (char *)build_bytes(words[0]).data;
		graphs[n_graphs++].graph = at;
	} else if (!strcmp(key, "function")) {
		begin_function(words, n);
	} else if (!strcmp(key, "end")) {
		end_inner();
	} else {
		die("no such line", key);
	}
}

int
main(int argc, char **argv)
{
	char line[4096], path[1024];

	if (argc != 2)
		die("usage", "onnx_test FOLDER < LINES");
	folder = argv[1];
	mkdir(folder, 0777);
	model = build_message(&tp_onnx__model_proto__descriptor);
	model->has_ir_version = 1;
	model->ir_version = 8;
	model->graph = at = build_graph();
	while (fgets(line, sizeof(line), stdin)) {
		char *words[MAX_WORDS];
		size_t n = 0;

		for (char *s = strtok(line, " \t\n"); s && n < MAX_WORDS;
		     s = strtok(NULL, " \t\n"))
			words[n++] = s;
		if (n && words[0][0] != '#')
			take_line(words, n);
	}
	snprintf(path, sizeof(path), "%s/model.onnx", folder);
	write_message(path, model);
	return 0;
}
