/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - names as a tree, equal numbered branches folded
 *
 *	model                    38 tensors   1.2 GiB
 *	  layers.{0..11}     12 x 3 tensors   1.1 GiB
 *	    attn.weight        f32 [512, 512]
 *
 * A name is split behind each '.' and '/', and behind the scope of an ONNX
 * graph, at most MAX_DEPTH times. Siblings that differ in a number at their end
 * only and follow each other are folded when what is below them is equal:
 * names, dtypes and shapes.
 */
#include "inspect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tp/alloc.h"
#include "tp/map.h"

#include "text.h"

#define MAX_DEPTH 64
#define NAME_COLUMN 48

struct node {
	struct tp_str label; /* what it adds to its parent's prefix */
	size_t stem;	     /* bytes of label before a number at its end */
	uint64_t number;     /* that number */
	bool numbered;
	char tail;		      /* the separator at its end, or 0 */
	const struct tp_entry *entry; /* a tensor ends here, or NULL */
	size_t first, next;	      /* child, sibling, or TP_NONE */
	size_t n_children;
	uint64_t tensors, nbytes;
};

struct tree {
	struct node *nodes; /* [0] is the root */
	size_t n, cap;
	struct tp_map prefixes; /* bytes of a prefix -> node */
};

/*
 * Find the number at the end of the label, a separator behind it not counted.
 */
static void
split_label(struct node *x)
{
	size_t end = x->label.len, begin;

	if (end && memchr("./:", x->label.s[end - 1], 3))
		x->tail = x->label.s[--end];
	for (begin = end; begin && end - begin < 18; begin--)
		if (x->label.s[begin - 1] < '0' || x->label.s[begin - 1] > '9')
			break;
	/* 007 is a name. */
	while (begin + 1 < end && x->label.s[begin] == '0')
		begin++;
	x->stem = begin;
	x->numbered = begin < end;
	for (size_t i = begin; i < end; i++)
		x->number = x->number * 10 + (uint64_t)(x->label.s[i] - '0');
}

static bool
add_node(struct tree *t, size_t parent, struct tp_str label, size_t *out)
{
	struct node *x;

	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 256;
		struct node *grown =
		    tp_mem_grow(NULL, t->nodes, t->cap, cap, sizeof(*grown));

		if (!grown)
			return false;
		t->nodes = grown;
		t->cap = cap;
	}
	x = &t->nodes[t->n];
	*x = (struct node){.label = label, .first = TP_NONE, .next = TP_NONE};
	split_label(x);
	if (t->n > 0) {
		x->next = t->nodes[parent].first;
		t->nodes[parent].first = t->n;
		t->nodes[parent].n_children++;
	}
	*out = t->n++;
	return true;
}

/* Whether a name is split behind its byte i. */
static bool
separates(const struct tp_entry *e, size_t i)
{
	char c = e->name.s[i];

	return c == '.' || c == '/' || (c == ':' && i == e->scope.len && i > 0);
}

/* One tensor: the nodes that its name passes, each the wiser by its size. */
static bool
add_entry(struct tree *t, const struct tp_entry *e)
{
	size_t at = 0, begin = 0, child;

	for (unsigned depth = 1;; depth++) {
		size_t end = begin;
		struct tp_str prefix;

		t->nodes[at].tensors++;
		t->nodes[at].nbytes += e->nbytes;
		while (end < e->name.len && !separates(e, end))
			end++;
		end = end < e->name.len && depth < MAX_DEPTH ? end + 1
							     : e->name.len;
		prefix = (struct tp_str){e->name.s, end};
		if (!tp_map_find(&t->prefixes, prefix, &child)) {
			if (!add_node(t, at,
				(struct tp_str){e->name.s + begin, end - begin},
				&child) ||
			    tp_map_add(&t->prefixes, prefix, child, NULL, NULL))
				return false;
		}
		at = child;
		begin = end;
		if (begin == e->name.len) {
			t->nodes[at].tensors++;
			t->nodes[at].nbytes += e->nbytes;
			break;
		}
	}
	t->nodes[at].entry = e;
	return true;
}

static const struct tree *sorting;

/* By stem, then number: layers.2 stands before layers.10. */
static int
compare_nodes(const void *a, const void *b)
{
	const size_t *i = a, *k = b;
	const struct node *x = &sorting->nodes[*i], *y = &sorting->nodes[*k];
	int order = tp_str_cmp((struct tp_str){x->label.s, x->stem},
	    (struct tp_str){y->label.s, y->stem});

	if (order == 0 && x->numbered != y->numbered)
		order = x->numbered ? 1 : -1;
	if (order == 0)
		order = (x->number > y->number) - (x->number < y->number);
	return order ? order : tp_str_cmp(x->label, y->label);
}

/* Give the children of every node their order. */
static bool
sort_children(struct tree *t)
{
	size_t *children = tp_mem_array(NULL, t->n, sizeof(*children));

	if (!children)
		return false;
	sorting = t;
	for (size_t i = 0; i < t->n; i++) {
		size_t n = 0, *link = &t->nodes[i].first;

		for (size_t c = *link; c != TP_NONE; c = t->nodes[c].next)
			children[n++] = c;
		qsort(children, n, sizeof(children[0]), compare_nodes);
		for (size_t k = 0; k < n; k++) {
			*link = children[k];
			link = &t->nodes[children[k]].next;
		}
		*link = TP_NONE;
	}
	tp_mem_free(NULL, children, t->n, sizeof(*children));
	return true;
}

static bool
equal_entries(const struct tp_entry *a, const struct tp_entry *b)
{
	if (!a || !b)
		return a == b;
	return a->dtype == b->dtype && a->rank == b->rank &&
	       !memcmp(a->shape, b->shape, a->rank * sizeof(a->shape[0]));
}

/* What is below and at two nodes; as deep as names are split. */
static bool
equal_branches(const struct tree *t, size_t a, size_t b)
{
	const struct node *x = &t->nodes[a], *y = &t->nodes[b];
	size_t c = x->first, d = y->first;

	if (x->tensors != y->tensors || x->nbytes != y->nbytes ||
	    x->n_children != y->n_children ||
	    !equal_entries(x->entry, y->entry))
		return false;
	for (; c != TP_NONE; c = t->nodes[c].next, d = t->nodes[d].next)
		if (tp_str_cmp(t->nodes[c].label, t->nodes[d].label) ||
		    !equal_branches(t, c, d))
			return false;
	return true;
}

/* True if b continues the numbers of a: same stem and end, next number. */
static bool
follows(const struct tree *t, size_t a, size_t b)
{
	const struct node *x = &t->nodes[a], *y = &t->nodes[b];

	return x->numbered && y->numbered && x->stem == y->stem &&
	       x->tail == y->tail && y->number == x->number + 1 &&
	       !memcmp(x->label.s, y->label.s, x->stem) &&
	       equal_branches(t, a, b);
}

/* Text of a label, its separator left out at the end of a line. */
static size_t
put_label(const struct node *x, bool last)
{
	struct tp_str text = x->label;

	if (last && x->tail && !x->entry)
		text.len--;
	return cli_put_name(stdout, text, CLI_NAME_COLUMNS);
}

/* A branch that stands for itself and the n_folded - 1 that follow it. */
static size_t
put_folded(const struct node *x, uint64_t n_folded, bool last)
{
	size_t width = cli_put_name(
	    stdout, (struct tp_str){x->label.s, x->stem}, CLI_NAME_COLUMNS);

	width += (size_t)printf("{%" PRIu64 "..%" PRIu64 "}", x->number,
	    x->number + (n_folded - 1));
	if (!last && x->tail) {
		putc(x->tail, stdout);
		width++;
	}
	return width;
}

/*
 * One line for branch i, which stands for n_folded siblings, inside branches
 * that are folded `times` times; then what is below it.
 */
static void
put_branch(const struct tree *t, size_t i, uint64_t n_folded, uint64_t times,
    unsigned indent)
{
	const struct node *x = &t->nodes[i];
	bool chain = i != 0 && !x->entry && x->n_children == 1;
	size_t width = 2 * indent, child, end;

	cli_put_spaces(stdout, width);
	width += n_folded > 1 ? put_folded(x, n_folded, !chain)
			      : put_label(x, !chain);
	times *= n_folded;
	/* Branches with one child share its line. */
	while (chain) {
		x = &t->nodes[x->first];
		chain = !x->entry && x->n_children == 1;
		if (width < CLI_NAME_COLUMNS)
			width += put_label(x, !chain);
		else if (!chain)
			fputs("...", stdout);
	}
	cli_put_spaces(
	    stdout, (width < NAME_COLUMN ? NAME_COLUMN - width : 0) + 2);
	if (times > 1)
		printf("%" PRIu64 " x ", times);
	if (x->entry) {
		printf("%s ", tp_dtype_name(x->entry->dtype));
		inspect_put_sizes(stdout, x->entry->shape, x->entry->rank);
	} else {
		printf("%" PRIu64 " tensors", x->tensors);
	}
	printf("  %s\n", CLI_HUMAN(x->nbytes * times));

	for (child = x->first; child != TP_NONE; child = end) {
		uint64_t n = 1;

		end = t->nodes[child].next;
		for (size_t last = child;
		     end != TP_NONE && follows(t, last, end); n++) {
			last = end;
			end = t->nodes[end].next;
		}
		put_branch(t, child, n, times, indent + 1);
		if (cli_output_failed())
			return;
	}
}

static bool
build(struct tree *t, const struct inspect_file *f)
{
	size_t root;

	if (!add_node(t, 0, TP_STR("model"), &root))
		return false;
	for (size_t i = 0; i < f->n; i++)
		if (!add_entry(t, inspect_entry(f, i)))
			return false;
	return sort_children(t);
}

void
inspect_tree(struct inspect_file *f)
{
	struct tree t = {0};

	tp_map_init(&t.prefixes, NULL);
	if (!build(&t, f)) {
		cli_message_about(f->path, "out of memory for a tree");
		f->status = cli_worst(f->status, CLI_INPUT);
	} else {
		put_branch(&t, 0, 1, 1, 0);
	}
	tp_map_release(&t.prefixes);
	if (t.nodes)
		tp_mem_free(NULL, t.nodes, t.cap, sizeof(t.nodes[0]));
}
