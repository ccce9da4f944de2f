/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_scopes.c - which of some tensors does a name mean at this place?
 */
#include "onnx_scopes.h"

#include "grow.h"
#include "onnx_slots.h"

#include "banned.h"

struct tpi_onnx_undo {
	size_t name, tensor; /* what the name meant before */
};

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "out of memory for the consumers of tensors");
}

static enum tp_status
set_active(
    struct tpi_onnx_scopes *s, size_t name, size_t tensor, struct tp_err *err)
{
	void *undo = tpi_grow(
	    s->alloc, s->undo, s->n_undo + 1, &s->cap_undo, sizeof(*s->undo));

	if (!undo)
		return no_memory(err);
	s->undo = undo;
	s->undo[s->n_undo++] = (struct tpi_onnx_undo){name, s->active[name]};
	s->active[name] = tensor;
	return TP_OK;
}

void
tpi_onnx_scopes_leave(struct tpi_onnx_scopes *s, size_t mark)
{
	while (s->n_undo > mark) {
		struct tpi_onnx_undo u = s->undo[--s->n_undo];

		s->active[u.name] = u.tensor;
	}
}

size_t
tpi_onnx_scopes_find(
    const struct tpi_onnx_scopes *s, const ProtobufCBinaryData *name)
{
	size_t number;

	/* "" leaves out an optional input or output. */
	if (name->len == 0 ||
	    !tp_map_find(&s->names, tpi_onnx_str(*name), &number))
		return TP_NONE;
	return s->active[number];
}

/* A name that a scope defines no longer means that of an outer scope. */
static enum tp_status
hide(struct tpi_onnx_scopes *s, const ProtobufCBinaryData *name,
    struct tp_err *err)
{
	size_t number;

	if (!tp_map_find(&s->names, tpi_onnx_str(*name), &number) ||
	    s->active[number] == TP_NONE)
		return TP_OK;
	return set_active(s, number, TP_NONE, err);
}

static enum tp_status
hide_outputs(struct tpi_onnx_scopes *s, TpOnnx__NodeProto *const *nodes,
    size_t n, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < n; i++)
		for (size_t k = 0; !rc && k < nodes[i]->n_output; k++)
			rc = hide(s, &nodes[i]->output[k], err);
	return rc;
}

enum tp_status
tpi_onnx_scopes_show(
    struct tpi_onnx_scopes *s, const void *scope, struct tp_err *err)
{
	struct tp_str key = {(const char *)&scope, sizeof(scope)};
	enum tp_status rc = TP_OK;
	size_t c;

	if (!tp_map_find(&s->scopes, key, &c))
		return TP_OK;
	for (c = s->first_in_scope[c]; !rc && c != TP_NONE;
	     c = s->next_in_scope[c])
		rc = set_active(s, s->name_of[c], c, err);
	return rc;
}

enum tp_status
tpi_onnx_scopes_enter(
    struct tpi_onnx_scopes *s, const TpOnnx__GraphProto *g, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < g->n_input; i++)
		rc = hide(s, &g->input[i]->name, err);
	for (size_t i = 0; !rc && i < g->n_initializer; i++)
		rc = hide(s, &g->initializer[i]->name, err);
	for (size_t i = 0; !rc && i < g->n_sparse_initializer; i++)
		if (g->sparse_initializer[i]->values)
			rc = hide(
			    s, &g->sparse_initializer[i]->values->name, err);
	if (!rc)
		rc = hide_outputs(s, g->node, g->n_node, err);
	if (!rc)
		rc = tpi_onnx_scopes_show(s, g, err);
	return rc;
}

size_t
tpi_onnx_scopes_shown(const struct tpi_onnx_scopes *s, size_t i)
{
	return s->active[s->undo[i].name];
}

/* Number the names and the scopes, chain the tensors of each scope. */
static enum tp_status
index_tensors(struct tpi_onnx_scopes *s, const struct tpi_onnx_local *tensors,
    size_t n, struct tp_err *err)
{
	enum tp_status rc;

	for (size_t i = n; i-- > 0;) {
		const struct tpi_onnx_local *t = &tensors[i];
		struct tp_str scope = {
		    (const char *)&t->scope, sizeof(t->scope)};
		size_t name = s->names.n_used, first = s->scopes.n_used;

		rc = tp_map_add(&s->names, t->name, name, &name, err);
		if (rc && rc != TP_EARG)
			return rc;
		s->name_of[i] = name;
		s->active[name] = TP_NONE;

		rc = tp_map_add(&s->scopes, scope, first, &first, err);
		if (rc && rc != TP_EARG)
			return rc;
		s->next_in_scope[i] =
		    rc == TP_EARG ? s->first_in_scope[first] : TP_NONE;
		s->first_in_scope[first] = i;
	}
	return TP_OK;
}

enum tp_status
tpi_onnx_scopes_init(struct tpi_onnx_scopes *s,
    const struct tpi_onnx_local *tensors, size_t n,
    const struct tp_alloc *alloc, struct tp_err *err)
{
	enum tp_status rc;

	*s = (struct tpi_onnx_scopes){.alloc = alloc, .n = n};
	tp_map_init(&s->scopes, alloc);
	tp_map_init(&s->names, alloc);
	s->next_in_scope = tp_mem_array(alloc, n, sizeof(size_t));
	s->first_in_scope = tp_mem_array(alloc, n, sizeof(size_t));
	s->name_of = tp_mem_array(alloc, n, sizeof(size_t));
	s->active = tp_mem_array(alloc, n, sizeof(size_t));
	if (s->next_in_scope && s->first_in_scope && s->name_of && s->active)
		rc = index_tensors(s, tensors, n, err);
	else
		rc = no_memory(err);
	if (rc)
		tpi_onnx_scopes_release(s);
	return rc;
}

void
tpi_onnx_scopes_release(struct tpi_onnx_scopes *s)
{
	tp_mem_free(s->alloc, s->undo, s->cap_undo, sizeof(*s->undo));
	tp_mem_free(s->alloc, s->active, s->n, sizeof(size_t));
	tp_mem_free(s->alloc, s->name_of, s->n, sizeof(size_t));
	tp_mem_free(s->alloc, s->first_in_scope, s->n, sizeof(size_t));
	tp_mem_free(s->alloc, s->next_in_scope, s->n, sizeof(size_t));
	tp_map_release(&s->names);
	tp_map_release(&s->scopes);
	*s = (struct tpi_onnx_scopes){.alloc = s->alloc};
}
