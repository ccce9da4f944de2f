/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/op.h - the reference operators, by name
 *
 *  1. tp_op_find("", "Add", 14, …) is the Add of that opset.
 *  2. Put tensors into struct tp_value, attributes into struct tp_attr.
 *  3. tp_op_run checks them, works out shapes and dtypes, allocates the outputs
 *     and computes.
 *  4. tp_value_release each output.
 *
 * Programs that compute rather than evaluate a graph are better served by
 * tp/ops.h, whose functions take plain arguments and know gradients.
 *
 * Results do not depend on the machine or on the number of threads: what is
 * narrower than f64 accumulates in double, in the order of indices, and is
 * rounded once. Integers wrap. Operators are constant data, usable from any
 * thread; inputs are only read.
 */
#ifndef TP_OP_H
#define TP_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/alloc.h"
#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/macros.h"
#include "tp/strings.h"
#include "tp/tensor.h"
#include "tp/value.h"

struct tp_op;
struct tp_graph; /* tp/graph.h */

enum tp_attr_kind {
	TP_ATTR_INT,
	TP_ATTR_FLOAT,
	TP_ATTR_STRING,
	TP_ATTR_INTS,
	TP_ATTR_FLOATS,
	TP_ATTR_STRINGS,
	TP_ATTR_TENSOR,
	TP_ATTR_GRAPH,
	TP_ATTR_TYPE,
};

/* Everything is borrowed for the call. */
struct tp_attr {
	struct tp_str name;
	enum tp_attr_kind kind;
	/*
	 * In a function: the attribute of the call that this one stands for;
	 * tp_op_run never sees such. Empty otherwise.
	 */
	struct tp_str ref;
	union {
		int64_t i;
		double f;
		struct tp_str s;
		const int64_t *ints; /* n of them, as the next two */
		const double *floats;
		const struct tp_str *strings;
		const struct tp_value *tensor; /* or strings; may be sparse */
		const struct tp_graph *graph;
		struct tp_type type;
	};
	size_t n;
};

/* "int", "floats", … */
TP_API const char *tp_attr_kind_name(enum tp_attr_kind kind);

#define TP_OP_ANY UINT8_MAX /* as many as one likes */

struct tp_op_info {
	const char *name;   /* as tp/ops.h calls it: "add" */
	const char *onnx;   /* "Add" */
	const char *domain; /* "" for ONNX's own */
	int since, until;   /* opsets; until is 0 for the newest */
	uint8_t min_in, max_in, min_out, max_out;
};

/*
 * The operator of a domain ("" and "ai.onnx" are the same) by its ONNX name, as
 * opset defines it; TP_OP_NEWEST for the newest. TP_ENOTFOUND names what is
 * missing and, if only the opset does not fit, the opsets there are.
 */
#define TP_OP_NEWEST INT32_MAX
TP_API TP_NODISCARD enum tp_status tp_op_find(struct tp_str domain,
    struct tp_str name, int opset, const struct tp_op **out,
    struct tp_err *err);

/* All operators, one for each range of opsets; NULL behind the last. */
TP_API const struct tp_op *tp_op_at(size_t i);
TP_API struct tp_op_info tp_op_info(const struct tp_op *op);
/* True if the operator takes inputs of that dtype, strings among them. */
TP_API bool tp_op_takes(const struct tp_op *op, enum tp_dtype dtype);

/* Attribute i of the operator and its kind; NULL behind the last. */
TP_API const char *tp_op_attr_at(
    const struct tp_op *op, size_t i, enum tp_attr_kind *kind);

/*
 * Evaluates the graph of an attribute for If, Loop and their kind. outputs[]
 * are NONE after a failure.
 */
typedef enum tp_status tp_run_graph_fn(void *ctx, const struct tp_graph *graph,
    const struct tp_value *inputs, size_t n_in, struct tp_value *outputs,
    size_t n_out, struct tp_err *err);

struct tp_op_opts {
	const struct tp_alloc *alloc; /* of outputs and scratch */
	unsigned n_threads;	      /* 0: one a processor */
	struct tp_strings *strings;   /* whose numbers string tensors hold */
	tp_run_graph_fn *run_graph;   /* NULL: no operator with graphs */
	void *run_graph_ctx;
	uint64_t max_iterations; /* of one Loop; 0 stands for a million */
	uint64_t seed;		 /* of random operators that bring none */
	/*
	 * Where output 0 is to go: a writable tensor of the right shape and
	 * dtype, which may overlap inputs. outputs[0] is an alias of it then.
	 */
	struct tp_tensor *into;
};

/*
 * Compute. inputs[k] may be NONE where the operator allows it, and need not be
 * given at all at the end. n_out outputs are made, the rest is left out;
 * outputs[] need no initialisation and are NONE after a failure. Operators that
 * only move data (Reshape, Transpose, Slice, …) return views of their input
 * where strides can express it.
 *
 * TP_EARG: wrong number of inputs, wrong attribute, shapes that do not fit.
 * TP_EUNSUPPORTED: a dtype the operator has no kernel for.
 */
TP_API TP_NODISCARD enum tp_status tp_op_run(const struct tp_op *op,
    const struct tp_attr *attrs, size_t n_attrs, const struct tp_value *inputs,
    size_t n_in, struct tp_value *outputs, size_t n_out,
    const struct tp_op_opts *opts, struct tp_err *err);

#endif
