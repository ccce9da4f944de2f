/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op.h - `tp-verify op` and `tp-verify ops`
 *
 *	op.c		options, one operator on tensors from files
 *	op_attr.c	attributes from the command line
 *	ops.c		which operators there are
 */
#ifndef VERIFY_OP_H
#define VERIFY_OP_H

#include "tp/op.h"
#include "tp/strings.h"

#include "cli.h"

extern const struct cli_app op_app, ops_app;
int op_run(int n_args, char **argv);
int ops_run(int n_args, char **argv);

/* Attributes, and what they point to. */
struct op_attrs {
	struct tp_attr *items;
	size_t n;
	struct op_attr_memory *memory;
};

/*
 * K=V as the operator declares K: a number, text, a list of such with commas
 * ("" is an empty one), FILE[:TENSOR] for a tensor, the name of a dtype for an
 * integer that stands for one ("to=f16").
 */
enum tp_status op_attrs_parse(const struct tp_op *op,
    const struct cli_list *list, struct tp_strings *strings,
    struct op_attrs *out, struct tp_err *err);
void op_attrs_release(struct op_attrs *a);

/* "DOMAIN:NAME" or NAME, divided. */
void op_split_name(
    const char *text, struct tp_str *domain, struct tp_str *name);

#endif
