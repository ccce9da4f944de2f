/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/value.h - what flows through a graph: tensors, strings, sequences,
 * optionals
 *
 * A value owns what it holds until tp_value_release. Sequences and optionals
 * are lists that never change once they are made and are shared by counting.
 */
#ifndef TP_VALUE_H
#define TP_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "tp/alloc.h"
#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/macros.h"
#include "tp/tensor.h"

enum tp_value_kind {
	TP_VALUE_NONE, /* an optional input that is not given */
	TP_VALUE_TENSOR,
	TP_VALUE_STRINGS,  /* a tensor of u64: numbers of strings (tp/strings.h)
			    */
	TP_VALUE_SEQUENCE, /* a list of tensors, strings or sequences */
	TP_VALUE_OPTIONAL, /* a list of one value or none */
};

struct tp_list;

struct tp_value {
	enum tp_value_kind kind;
	struct tp_tensor *tensor; /* TENSOR and STRINGS */
	struct tp_list *list;	  /* SEQUENCE and OPTIONAL */
};

/*
 * What a value is declared to be. element is what a sequence or an optional
 * holds; dtype that of the tensors at the bottom, TP_DTYPE_STRING for strings,
 * TP_DTYPE_NONE where nothing is known.
 */
struct tp_type {
	enum tp_value_kind kind; /* TENSOR for strings too */
	enum tp_value_kind element;
	enum tp_dtype dtype;
};

/* "tensor", "sequence", … */
TP_API const char *tp_value_kind_name(enum tp_value_kind kind);

/* A value over a tensor, which it owns if it is released. NULL is NONE. */
TP_API struct tp_value tp_value_of(struct tp_tensor *t);
/* Frees what the value holds and makes it NONE. */
TP_API void tp_value_release(struct tp_value *v);

/*
 * The same once more: another handle on the tensor, another share of the list.
 */
TP_API TP_NODISCARD enum tp_status tp_value_copy(
    const struct tp_value *v, struct tp_value *out, struct tp_err *err);

/* What v is; an empty list knows from tp_list_new. */
TP_API struct tp_type tp_value_type(const struct tp_value *v);

/* True for tensors and strings: what has a shape. */
TP_API bool tp_value_has_tensor(const struct tp_value *v);

/*
 * A sequence or an optional of n values, which move into it: items are NONE
 * afterwards, whatever the outcome. type says what it is if it is empty.
 * TP_ELIMIT: lists in lists in lists … without end.
 */
TP_API TP_NODISCARD enum tp_status tp_list_new(const struct tp_alloc *alloc,
    struct tp_type type, struct tp_value *items, size_t n, struct tp_value *out,
    struct tp_err *err);
TP_API size_t tp_list_count(const struct tp_list *list);
TP_API const struct tp_value *tp_list_at(const struct tp_list *list, size_t i);

#endif
