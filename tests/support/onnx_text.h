/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_text.h - a graph as a line of text, to compare with
 *
 *	w:3[2,2] w_scale:1[2]; DequantizeLinear(w,w_scale)=w_d axis=0; …
 *
 * Initializers with data_type and dims, then nodes with inputs, output and
 * attributes; inner graphs in braces.
 */
#ifndef TEST_ONNX_TEXT_H
#define TEST_ONNX_TEXT_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "onnx.pb-c.h"

struct onnx_text {
	char s[4096];
	size_t n;
};

static inline void
onnx_text_put(struct onnx_text *t, const char *s, size_t n)
{
	if (n >= sizeof(t->s) - t->n)
		abort();
	if (n)
		memcpy(t->s + t->n, s, n);
	t->n += n;
	t->s[t->n] = '\0';
}

static inline void
onnx_text_say(struct onnx_text *t, const char *s)
{
	onnx_text_put(t, s, strlen(s));
}

static inline void
onnx_text_bytes(struct onnx_text *t, ProtobufCBinaryData b)
{
	onnx_text_put(t, (const char *)b.data, b.len);
}

static inline void
onnx_text_int(struct onnx_text *t, int64_t v)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "%" PRId64, v);
	onnx_text_say(t, buf);
}

static inline void
onnx_text_tensor(struct onnx_text *t, const TpOnnx__TensorProto *x)
{
	onnx_text_int(t, x->data_type);
	onnx_text_say(t, "[");
	for (size_t i = 0; i < x->n_dims; i++) {
		onnx_text_say(t, i ? "," : "");
		onnx_text_int(t, x->dims[i]);
	}
	onnx_text_say(t, "]");
}

static inline void onnx_text_graph(
    struct onnx_text *t, const TpOnnx__GraphProto *g);

static inline void
onnx_text_node(struct onnx_text *t, const TpOnnx__NodeProto *node)
{
	onnx_text_bytes(t, node->op_type);
	onnx_text_say(t, "(");
	for (size_t i = 0; i < node->n_input; i++) {
		onnx_text_say(t, i ? "," : "");
		onnx_text_bytes(t, node->input[i]);
	}
	onnx_text_say(t, ")=");
	for (size_t i = 0; i < node->n_output; i++) {
		onnx_text_say(t, i ? "," : "");
		onnx_text_bytes(t, node->output[i]);
	}
	for (size_t i = 0; i < node->n_attribute; i++) {
		const TpOnnx__AttributeProto *a = node->attribute[i];

		onnx_text_say(t, " ");
		onnx_text_bytes(t, a->name);
		onnx_text_say(t, "=");
		if (a->has_i)
			onnx_text_int(t, a->i);
		if (a->has_s)
			onnx_text_bytes(t, a->s);
		if (a->t)
			onnx_text_tensor(t, a->t);
		if (a->g) {
			onnx_text_say(t, "{");
			onnx_text_graph(t, a->g);
			onnx_text_say(t, "}");
		}
	}
}

static inline void
onnx_text_graph(struct onnx_text *t, const TpOnnx__GraphProto *g)
{
	for (size_t i = 0; i < g->n_initializer; i++) {
		onnx_text_say(t, i ? " " : "");
		onnx_text_bytes(t, g->initializer[i]->name);
		onnx_text_say(t, ":");
		onnx_text_tensor(t, g->initializer[i]);
	}
	for (size_t i = 0; i < g->n_node; i++) {
		onnx_text_say(t, i || g->n_initializer ? "; " : "");
		onnx_text_node(t, g->node[i]);
	}
}

#endif
