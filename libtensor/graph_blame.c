/* SPDX-License-Identifier: Apache-2.0 */
/* graph_blame.c - which node an error is about */
#include "graph.h"

#include <stdio.h>
#include <string.h>

#include "banned.h"

/* A name of 96 bytes, an operator of as many, a number. */
#define LABEL_SIZE 240

/* "node 3 'conv1' (Conv)" */
static void
describe(const struct tp_node *node, size_t index, char label[LABEL_SIZE])
{
	if (node->name.len)
		snprintf(label, LABEL_SIZE, "node %zu '%s' (%s)", index,
		    TP_BRIEF(node->name), TP_BRIEF(node->op));
	else
		snprintf(label, LABEL_SIZE, "node %zu (%s)", index,
		    TP_BRIEF(node->op));
}

static void
blame(
    struct tp_err *err, const struct tp_node *node, size_t index, bool is_outer)
{
	char label[LABEL_SIZE];
	struct tp_err old;

	if (!err)
		return;
	old = *err;
	describe(node, index, label);
	if (is_outer)
		tp_fail(err, old.status, old.offset, "%s; inside %s", old.msg,
		    label);
	else
		tp_fail(err, old.status, old.offset, "%s: %s", label, old.msg);
}

void
tpi_blame_node(struct tp_err *err, const struct tp_node *node, size_t index)
{
	blame(err, node, index, false);
}

void
tpi_blame_outer(struct tp_err *err, const struct tp_node *node, size_t index)
{
	blame(err, node, index, true);
}
