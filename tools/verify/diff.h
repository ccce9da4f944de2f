/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - parts of `tp-verify diff`
 *
 *	diff.c		options, files, the run
 *	diff_pairs.c	which tensor of B belongs to which of A
 *	diff_scopes.c	tensors of inner graphs whose nodes have moved
 *	diff_rules.c	tolerances: which hold for a tensor
 *	diff_judge.c	one pair: what is compared, and what is said of it
 *	diff_values.c	the elements of two tensors, in chunks, on threads
 *	diff_quant.c	integers as the numbers they stand for
 *	diff_meta.c	metadata
 *	diff_table.c	figures, and the table of --per-tensor
 *
 * Nothing depends on the number of threads, on how the bytes lie in the files
 * or on how they are read: chunks begin at multiples of TP_COMPARE_CHUNK
 * elements, and are joined in order.
 */
#ifndef VERIFY_DIFF_H
#define VERIFY_DIFF_H

#include <stdbool.h>

#include "tp/compare.h"
#include "tp/format.h"
#include "tp/map.h"

#include "cli.h"
#include "glob.h"
#include "rename.h"
#include "verdict.h"

extern const struct cli_app diff_app;
int diff_run(int n_args, char **argv);

/*
 * ---- tolerances (diff_rules.c) ----
 */

enum diff_metric {
	DIFF_RTOL,
	DIFF_ATOL,
	DIFF_ULP,
	DIFF_COSINE,
	DIFF_SQNR,
	DIFF_METRIC_COUNT
};

/* What was given: [GLOB=]NUMBER for each. */
struct diff_tolerances {
	struct cli_list lists[DIFF_METRIC_COUNT];
	struct diff_tolerance *parsed[DIFF_METRIC_COUNT];
	bool automatic; /* --tolerance auto, where none of them applies */
	bool equal_nan, bits;
};

/* What holds for one pair. */
struct diff_rule {
	struct tp_compare_rule element;
	bool by_element;  /* every element must pass */
	bool is_tolerant; /* something else than equality was asked for */
	bool has_cosine, has_sqnr;
	double cosine, sqnr;
};

/* NULL, or what is wrong (good until the next call). */
const char *diff_tolerances_parse(struct diff_tolerances *t);
void diff_tolerances_release(struct diff_tolerances *t);

/*
 * The rule for elements that are compared as those dtypes. Integers and bools
 * heed only tolerances that name them by a pattern.
 */
struct diff_rule diff_rule_for(struct diff_tolerances *t, struct tp_str name,
    enum tp_dtype a, enum tp_dtype b);

/* A note for each tolerance whose pattern no tensor matched. */
void diff_tolerances_finish(const struct diff_tolerances *t);

/*
 * ---- pairs (diff_pairs.c) ----
 */

struct diff_options {
	struct cli_filter filter;
	struct cli_list rename, transpose;
	const char *map;
	struct rename_rule *renames;
	struct diff_tolerances tolerances;
	bool ignore_dtype;
	bool metadata;
};

/* One tensor of A (entry[0]), of B (entry[1]) or of both; else TP_NONE. */
struct diff_pair {
	size_t entry[2];
	bool excluded;
	bool transposed; /* B's axes are taken in reverse */
	/* Filled in by diff_judge; see diff_pair_figures. */
	bool has_figures;
	struct tp_compare *figures; /* NULL: the bits are the same */
	enum tp_dtype ulp_dtype;
	enum tp_dtype dtype[2];
};

struct diff_pairs {
	struct diff_pair *pairs;
	size_t n, cap;
};

/*
 * In the order of A, then what only B has. TP_ENOTFOUND for names of the
 * options that no tensor has, TP_EUNSUPPORTED for two tensors of A that would
 * both belong to one of B. *path names the file the error is about, or NULL.
 */
enum tp_status diff_pairs_make(struct diff_pairs *p,
    const struct diff_options *o, struct tp_reader *const r[2],
    const char **path, struct tp_err *err);
void diff_pairs_release(struct diff_pairs *p);

/*
 * ---- inner graphs (diff_scopes.c) ----
 */

/* Names in inner graphs without the numbers of nodes. */
struct diff_scopes {
	struct tp_map names; /* to a place in entries */
	size_t *entries;
	size_t n, cap;
	char *text; /* of names */
	size_t nbytes;
};

/* Of all entries of r; may be released also on failure. */
enum tp_status diff_scopes_init(
    struct diff_scopes *s, const struct tp_reader *r, struct tp_err *err);
/* The only entry of that kind, or TP_NONE. */
size_t diff_scopes_find(const struct diff_scopes *s, const struct tp_entry *e);
void diff_scopes_release(struct diff_scopes *s);

/*
 * ---- elements (diff_values.c, diff_quant.c) ----
 */

/* The quantizer of an entry with its parameters in memory. */
struct diff_quant;
enum tp_status diff_quant_open(struct tp_reader *r, size_t entry,
    struct diff_quant **out, struct tp_err *err);
void diff_quant_close(struct diff_quant *q);
/* f32, or f64 where a scale is. */
enum tp_dtype diff_quant_real(const struct diff_quant *q);
/*
 * n elements from element `first` of the entry, as numbers of a float dtype,
 * rounded once. scratch has room for TP_COMPARE_CHUNK doubles.
 */
void diff_quant_apply(const struct diff_quant *q, enum tp_dtype to, void *out,
    const void *in, uint64_t first, size_t n, double *scratch);

struct diff_side {
	struct tp_reader *r;
	size_t entry;
	bool transposed;
	const struct diff_quant *quant; /* NULL: elements as they are */
	enum tp_dtype dtype;		/* of what is compared */
};

/* Memory and threads for comparing; one for all pairs. */
struct diff_engine {
	unsigned n_threads;
	uint64_t max_memory;
	struct diff_buffers *buffers;
};
bool diff_engine_init(struct diff_engine *e);
void diff_engine_release(struct diff_engine *e);

/*
 * True in *same if all elements of both sides are the same bits and, without
 * equal_nan, none is NaN. Stops at the first difference. On failure *at_fault
 * is the side. Both must have as many elements, and the dtype must be the same.
 */
enum tp_status diff_values_same(struct diff_engine *e,
    const struct diff_side sides[2], bool equal_nan, bool *same, int *at_fault,
    struct tp_err *err);

/* Every figure. */
enum tp_status diff_values_compare(struct diff_engine *e,
    const struct diff_side sides[2], const struct tp_compare_rule *rule,
    struct tp_compare *out, int *at_fault, struct tp_err *err);

/* Strings: whether both streams are the same bytes. */
enum tp_status diff_strings_same(struct diff_engine *e,
    const struct diff_side sides[2], bool *same, int *at_fault,
    struct tp_err *err);

/*
 * ---- judging and telling ----
 */

struct diff {
	struct tp_reader *r[2];
	const char *paths[2];
	const struct diff_options *o;
	struct diff_tolerances *tolerances;
	struct diff_engine engine;
	struct verdict v;
};

/* Compare a pair, and add it to the verdict (diff_judge.c). */
void diff_judge(struct diff *d, struct diff_pair *pair);

/* A remark for each difference (diff_meta.c). */
void diff_metadata(struct diff *d);

/* The figures of a pair of n_elems elements; scratch may be used for them. */
const struct tp_compare *diff_pair_figures(
    const struct diff_pair *p, uint64_t n_elems, struct tp_compare *scratch);

/* A verdict's figures() (diff_table.c). */
size_t diff_figures(const struct verdict_item *item,
    struct verdict_figure out[VERDICT_MAX_FIGURES]);

/* A line for each pair that has figures, the worst first; n 0: all. */
void diff_put_table(FILE *out, const struct verdict *v, uint64_t n);

/*
 * "--atol 0.1, --rtol 1e-3 or --ulp 4": what would let the figures pass, into
 * buf; false if nothing would.
 */
#define DIFF_ADVICE_SIZE 200
bool diff_advise(char buf[DIFF_ADVICE_SIZE], const struct tp_compare *c,
    const struct diff_rule *rule, bool must_name);

#endif
