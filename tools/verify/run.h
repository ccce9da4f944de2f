/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - parts of `tp-verify run`
 *
 *	run.c		options, the run, the summary
 *	run_find.c	models and data sets among the operands
 *	run_case.c	one model: its data sets are computed and judged
 *	run_model.c	a model in memory, ready to be computed
 *	run_data.c	inputs and expectations from files
 *	run_values.c	two values, compared
 *	run_random.c	which outputs depend on chance
 *	run_rules.c	tolerances and expected failures from files
 *	run_text.c	what is told to people
 *
 * A test is a model with data sets. It holds when each output of each data set
 * was computed, compared, and holds; what could not be found, read or computed
 * is not run, which is never taken for success.
 */
#ifndef VERIFY_RUN_H
#define VERIFY_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/compare.h"
#include "tp/graph.h"
#include "tp/onnx_program.h"
#include "tp/strings.h"

#include "cli.h"
#include "glob.h"
#include "verdict.h"
#include "verdict_line.h"

extern const struct cli_app run_app;
int run_run(int n_args, char **argv);

/*
 * ---- what is to be run (run_find.c) ----
 */

struct run_target {
	char *path;  /* as it is called: the folder, or the model */
	char *model; /* NULL: the folder has none */
	char **sets; /* folders with input_N.pb, output_N.pb */
	size_t n_sets;
};

struct run_targets {
	struct run_target *items;
	size_t n, cap;
};

/*
 * What one operand stands for: a model file; a folder with a model.onnx; a
 * folder of such, searched below; or a data set for the model before it. NULL,
 * or what is wrong.
 */
const char *run_targets_add(struct run_targets *t, const char *operand);
void run_targets_release(struct run_targets *t);

/* The last part of a path: what files of rules call a test. */
struct tp_str run_target_name(const struct run_target *t);

/*
 * ---- rules (run_rules.c) ----
 */

struct run_tolerance {
	double rtol, atol;
};

struct run_rules {
	struct run_tolerance tolerance; /* where no line says otherwise */
	struct run_line {
		char *pattern; /* on the name of the test */
		char *reason;  /* of an expected failure */
		struct run_tolerance tolerance;
		bool used;
	} * tolerances, *failures;
	size_t n_tolerances, n_failures;
};

/* Read a file of lines; false when that failed, which was told. */
bool run_rules_read_tolerances(struct run_rules *r, const char *path);
bool run_rules_read_failures(struct run_rules *r, const char *path);
void run_rules_release(struct run_rules *r);

struct run_tolerance run_rules_tolerance(
    struct run_rules *r, struct tp_str test);
/* Why the test is expected to differ, or NULL. */
const char *run_rules_failure(struct run_rules *r, struct tp_str test);
/* A note for each line that no test has used. */
void run_rules_finish(const struct run_rules *r);

/*
 * ---- models and values (run_model.c, run_data.c) ----
 */

struct run_model {
	const char *path;
	struct tp_strings *strings; /* borrowed */
	struct tp_onnx_program *file;
	const struct tp_graph *graph;
	struct tp_program *program;
};

enum tp_status run_model_open(struct run_model *m, const char *path,
    struct tp_strings *strings, struct tp_err *err);
void run_model_close(struct run_model *m);

/* True if input k has a value in the model already. */
bool run_model_has_default(const struct run_model *m, size_t k);

struct run_values {
	struct tp_value *items;
	size_t n;
};

/* n values, all NONE; false without memory. */
bool run_values_init(struct run_values *v, size_t n);
void run_values_release(struct run_values *v);

/*
 * The inputs of a data set in upstream's layout: input_N.pb is the N-th input
 * that has no default. TP_ENOTFOUND for a file that is not there or too many.
 */
enum tp_status run_data_inputs(const struct run_model *m, const char *folder,
    struct run_values *out, struct tp_err *err);
/* output_N.pb is output N. */
enum tp_status run_data_outputs(const struct run_model *m, const char *folder,
    struct run_values *out, struct tp_err *err);

/*
 * ---- comparing (run_values.c, run_random.c) ----
 */

struct run_comparison {
	const struct tp_strings *strings;
	struct run_tolerance tolerance;
	bool exact;	  /* all elements were the same bits */
	bool has_figures; /* of all tensors in the value, one after the other */
	struct tp_compare figures;
	enum tp_dtype dtype;
	double low, high; /* of what was expected, where it is finite */
	const char *kind; /* NULL: it holds; else what differs */
	struct verdict_line why;
};

/* The kind of a difference that is one of elements alone. */
extern const char run_value_differs[];

/* TP_OK whatever was found. */
enum tp_status run_compare(struct run_comparison *c, const struct tp_value *got,
    const struct tp_value *expected, struct tp_err *err);

/* max_abs over the range of what was expected. */
double run_of_range(const struct run_comparison *c);

/* What an output may be that depends on chance. */
enum run_range {
	RUN_NOT_RANDOM,
	RUN_ANY_FINITE,
	RUN_UNIT,    /* 0 or 1 */
	RUN_CLASSES, /* integers from 0 on */
	RUN_BETWEEN, /* low to high */
};

struct run_chance {
	enum run_range range;
	double low, high;
	struct tp_str op; /* where it comes from */
};

/* One for each output of the graph; false without memory. */
bool run_find_chance(
    const struct tp_graph_model *model, struct run_chance *out);

/* dtype, shape and range only. */
enum tp_status run_compare_chance(struct run_comparison *c,
    const struct run_chance *chance, const struct tp_value *got,
    const struct tp_value *expected, struct tp_err *err);

/*
 * ---- one test (run_case.c) ----
 */

struct run_settings {
	unsigned n_threads;
	uint64_t max_iterations, seed;
	struct run_rules rules;
};

/* An output that was looked at: a verdict's detail. */
struct run_output {
	struct run_output *next;
	char *name;
	size_t name_len;
	int64_t *shape;
	unsigned rank;
	struct run_comparison c;
};

struct run_case {
	const struct run_target *target;
	struct verdict v;
	struct run_output *outputs;
	bool excluded;
};

void run_case(struct run_case *c, struct run_settings *s);
void run_case_release(struct run_case *c);

/* A verdict's figures(). */
size_t run_figures(const struct verdict_item *item,
    struct verdict_figure out[VERDICT_MAX_FIGURES]);

/*
 * ---- text (run_text.c) ----
 */

/* Lines of one test: all, or those that did not simply pass. */
void run_put_case(FILE *out, const struct run_case *c, bool all);
void run_put_summary(FILE *out, const struct run_case *cases, size_t n);

#endif
