/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - parts of `tp-verify run`
 *
 *	run.c		options, the run, the summary
 *	run_find.c	models and data sets among the operands
 *	run_case.c	one model: its data sets are computed and judged
 *	run_judge.c	one output
 *	run_model.c	a model in memory, ready to be computed
 *	run_inputs.c	inputs and expectations, from wherever they come
 *	run_data.c	… from data sets
 *	run_files.c	… from other files
 *	run_seed.c	… from a seed
 *	run_compute.c	from inputs to outputs
 *	run_watch.c	… what is told and kept on the way
 *	run_spool.c	… where it is kept
 *	run_values.c	two values, compared
 *	run_against.c	two models, compared
 *	run_random.c	which values depend on chance
 *	run_chance.c	… and how those are compared
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
#include "tp/map.h"
#include "tp/onnx_program.h"
#include "tp/strings.h"

#include "cli.h"
#include "glob.h"
#include "run_seed.h"
#include "run_watch.h"
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
	bool is_told; /* the data sets are operands, not found beside it */
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
/*
 * Models that got no data set have those beside them. NULL, or what is wrong.
 */
const char *run_targets_finish(struct run_targets *t);
void run_targets_release(struct run_targets *t);

/* The last part of a path: what files of rules call a test. */
struct tp_str run_target_name(const struct run_target *t);

/*
 * ---- rules (run_rules.c) ----
 */

struct run_tolerance {
	double rtol, atol;
	bool has_range; /* then of_range holds instead of both */
	double of_range;
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

/* Of options of kind CLI_CALL: a double that is not negative. */
const char *run_parse_number(const struct cli_option *option, const char *text);

/* Read a file of lines. */
TP_NODISCARD enum tp_status run_rules_read_tolerances(
    struct run_rules *r, const char *path, struct tp_err *err);
TP_NODISCARD enum tp_status run_rules_read_failures(
    struct run_rules *r, const char *path, struct tp_err *err);
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
	struct tp_map inputs, outputs; /* names, to numbers */
	bool *has_default; /* of each input: the model has a value for it */
	struct tp_program *program;
};

enum tp_status run_model_open(struct run_model *m, const char *path,
    struct tp_strings *strings, struct tp_err *err);
void run_model_close(struct run_model *m);

struct run_values {
	struct tp_value *items;
	size_t n;
};

/* n values, all NONE; false without memory. */
bool run_values_init(struct run_values *v, size_t n);
void run_values_release(struct run_values *v);

/*
 * Those inputs that are still NONE, from a data set in upstream's layout:
 * input_N.pb is the N-th input that has no default. TP_ENOTFOUND for a file
 * that is not there, or one too many.
 */
enum tp_status run_data_inputs(const struct run_model *m, const char *folder,
    struct run_values *v, struct tp_err *err);
/* output_N.pb is output N. */
enum tp_status run_data_outputs(const struct run_model *m, const char *folder,
    struct run_values *v, struct tp_err *err);

/* Where values come from besides data sets (run_inputs.c). */
struct run_input_options {
	struct cli_list in, expect; /* files of tensors with those names */
	struct cli_list named;	    /* NAME=FILE[:TENSOR] */
	bool seeded;		    /* what is missing is made from a seed */
	struct run_seed_options seed;
};

/* NULL, or what is wrong (good until the next call). */
const char *run_inputs_check(const struct run_input_options *o);
/* TP_ENOTFOUND when they name an input that the model does not have. */
enum tp_status run_inputs_check_names(const struct run_model *m,
    const struct run_input_options *o, struct tp_err *err);
void run_inputs_release(struct run_input_options *o);

/* folder may be NULL. All inputs without a default are there, or it fails. */
enum tp_status run_inputs(const struct run_model *m,
    const struct run_input_options *o, const char *folder,
    struct run_values *out, struct tp_err *err);
/* NONE for outputs of which nothing is expected. */
enum tp_status run_expectations(const struct run_model *m,
    const struct run_input_options *o, const char *folder,
    struct run_values *out, struct tp_err *err);

/*
 * ---- comparing (run_values.c, run_random.c, run_chance.c) ----
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

/*
 * The largest minus the smallest finite value that was expected; if they are
 * the same, how large it is.
 */
double run_range_of(const struct run_comparison *c);
/* max_abs in parts of that. */
double run_of_range(const struct run_comparison *c);

/* What an output may be that depends on chance. */
enum run_range {
	RUN_NOT_RANDOM, /* … which it does not */
	RUN_ANYTHING,
	RUN_FINITE,
	RUN_UNIT,    /* 0 or 1 */
	RUN_CLASSES, /* integers from 0 on */
	RUN_BETWEEN, /* low to high */
};

struct run_chance {
	enum run_range range;
	double low, high;
	struct tp_str op; /* where it comes from */
};

/* What is random in a main graph; NULL without memory. */
struct run_random *run_random_new(const struct tp_graph_model *model);
void run_random_free(struct run_random *r); /* NULL is allowed */
/* What is known of a value that depends on chance; NULL: it does not. */
const struct run_chance *run_random_find(
    const struct run_random *r, struct tp_str name);

/* dtype, shape and range only. */
enum tp_status run_compare_chance(struct run_comparison *c,
    const struct run_chance *chance, const struct tp_value *got,
    const struct tp_value *expected, struct tp_err *err);

/*
 * ---- computing (run_compute.c) ----
 */

struct run_settings {
	unsigned n_threads;
	uint64_t max_iterations, max_memory; /* 0: the default, none */
	struct run_rules rules;
	struct run_input_options inputs;
	bool trace, intermediates;
	const char *stop_at; /* or NULL */
	const char *dump;    /* a folder, or NULL */
	size_t n_dumps;	     /* files in it so far */
};

/* One run. */
struct run_job {
	struct run_values inputs, outputs, expected;
	struct run_watch watch;
};

/* From job->inputs to job->outputs. */
enum tp_status run_compute(const struct run_model *m, struct run_settings *s,
    struct run_job *job, struct tp_err *err);
void run_job_release(struct run_job *job);

/* Where --trace goes, or NULL. */
FILE *run_trace_of(const struct run_settings *s);

/*
 * ---- judging (run_judge.c) ----
 */

/* An output that was looked at: a verdict's detail. */
struct run_output {
	struct run_output *next;
	char *name;
	size_t name_len;
	int64_t *shape;
	struct run_comparison c;
};
void run_outputs_free(struct run_output *outputs);

struct run_judge {
	struct verdict *v;
	struct run_output **outputs; /* what is made for the verdict */
	const struct tp_strings *strings;
	struct run_tolerance tolerance;
	const char *expected_failure; /* NULL: none is expected */
};

/*
 * Compare, and add an item "set/name" to the verdict (set may be NULL, and so
 * may chance); true if it holds. NOT_COMPARED where expected is NONE.
 */
bool run_judge(struct run_judge *j, const char *set, struct tp_str name,
    const struct run_chance *chance, const struct tp_value *got,
    const struct tp_value *expected);

/* An item that has nothing to be compared with; its name is copied. */
void run_judge_alone(struct run_judge *j, const struct verdict_item *item);

/* Nothing was computed; set may be NULL. */
void run_not_run(struct verdict *v, const char *set, const struct tp_err *err);
int run_exit_of(const struct tp_err *err);

/* A verdict's figures(). */
size_t run_figures(const struct verdict_item *item,
    struct verdict_figure out[VERDICT_MAX_FIGURES]);

/*
 * ---- one test (run_case.c), or two models (run_against.c) ----
 */

struct run_case {
	const struct run_target *target;
	struct verdict v;
	struct run_output *outputs;
};

void run_case(struct run_case *c, struct run_settings *s);
void run_against(struct run_case *c, struct run_settings *s, const char *other);
void run_case_release(struct run_case *c);

/*
 * ---- text (run_text.c) ----
 */

/* Lines of one test: all, or those that did not simply pass. */
void run_put_case(FILE *out, const struct run_case *c, bool all);
void run_put_summary(FILE *out, const struct run_case *cases, size_t n);

#endif
