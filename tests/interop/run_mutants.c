/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_mutants.c - models with a few bytes changed are refused or computed, and
 * do no harm
 *
 *	run_mutants N SEED FOLDER…	N mutants of each FOLDER/model.onnx
 *
 * The inputs are those of the first data set. What comes out does not matter;
 * sanitizers and limits are the judges. A line on stderr names the model and
 * the state to begin with if the program dies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tp/onnx_program.h"

#include "support/random.h"
#include "support/temp_dir.h"

/* Larger ones are mostly weights, where a change means nothing. */
#define MAX_MODEL 20000
#define MAX_VALUES 64

struct mutants {
	uint64_t state;
	struct temp_dir dir;
	struct tp_strings *strings;
	size_t n, n_loaded, n_checked, n_computed;
};

static bool
is_constant(const struct tp_graph *g, struct tp_str name)
{
	for (size_t i = 0; i < g->n_constants; i++)
		if (!tp_str_cmp(g->constants[i].name, name))
			return true;
	return false;
}

/* Files in their order for inputs without a value; what fails stays NONE. */
static void
read_inputs(const struct mutants *m, const struct tp_graph *g,
    const char *folder, struct tp_value *inputs)
{
	char path[4096];
	size_t n = 0;

	for (size_t k = 0; k < g->n_inputs; k++) {
		if (is_constant(g, g->inputs[k].name))
			continue;
		snprintf(path, sizeof(path), "%s/test_data_set_0/input_%zu.pb",
		    folder, n++);
		if (tp_onnx_value_read(path, NULL, &g->inputs[k].type,
			m->strings, &inputs[k], NULL))
			continue;
	}
}

static void
compute(struct mutants *m, const struct tp_graph *g,
    const struct tp_program *program, const char *folder)
{
	struct tp_value inputs[MAX_VALUES] = {{.kind = TP_VALUE_NONE}};
	struct tp_value outputs[MAX_VALUES] = {{.kind = TP_VALUE_NONE}};
	const struct tp_run_opts opts = {.n_threads = 1,
	    .strings = m->strings,
	    .max_iterations = 50,
	    .max_memory = (uint64_t)32 << 20};

	if (g->n_inputs > MAX_VALUES || g->n_outputs > MAX_VALUES)
		return;
	read_inputs(m, g, folder, inputs);
	m->n_computed += !tp_program_run(
	    program, inputs, g->n_inputs, outputs, g->n_outputs, &opts, NULL);
	for (size_t k = 0; k < MAX_VALUES; k++) {
		tp_value_release(&inputs[k]);
		tp_value_release(&outputs[k]);
	}
}

static void
try_model(struct mutants *m, const char *path, const char *folder)
{
	struct tp_onnx_program *file = NULL;
	const struct tp_graph_model *model;
	struct tp_program *program = NULL;

	m->n++;
	if (tp_strings_new(NULL, 1 << 20, &m->strings, NULL))
		abort();
	if (!tp_onnx_program_open(path, NULL, m->strings, &file, NULL)) {
		m->n_loaded++;
		model = tp_onnx_program_model(file);
		if (!tp_program_new(NULL, model, &program, NULL)) {
			m->n_checked++;
			compute(m, &model->graph, program, folder);
		}
	}
	tp_program_free(program);
	tp_onnx_program_close(file);
	tp_strings_free(m->strings);
}

/* One to four bytes get another value, or one bit changes. */
static void
mutate(struct mutants *m, uint8_t *bytes, size_t n)
{
	for (uint64_t k = 1 + random_next(&m->state) % 4; k > 0; k--) {
		size_t at = (size_t)(random_next(&m->state) % n);
		uint64_t x = random_next(&m->state);

		if (x % 3 == 0)
			bytes[at] ^= (uint8_t)(1U << x / 3 % 8);
		else
			bytes[at] = (uint8_t)(x >> 8);
	}
}

static void
try_folder(struct mutants *m, const char *folder, unsigned long n_mutants)
{
	const char *path = temp_path(&m->dir, "model.onnx");
	char original[4096];
	uint8_t *good, *bad;
	size_t n;

	snprintf(original, sizeof(original), "%s/model.onnx", folder);
	if (access(original, R_OK))
		return;
	good = read_file(original, &n);
	bad = malloc(n + 1);
	if (!bad)
		abort();
	for (unsigned long i = 0; i < n_mutants && n > 0 && n <= MAX_MODEL;
	     i++) {
		/* Overwritten by the next; what is left names the culprit. */
		fprintf(
		    stderr, "\r%s %llu ", folder, (unsigned long long)m->state);
		memcpy(bad, good, n);
		mutate(m, bad, n);
		write_file(path, bad, n);
		try_model(m, path, folder);
	}
	free(good);
	free(bad);
}

int
main(int argc, char **argv)
{
	struct mutants m = {.n = 0};

	if (argc < 4)
		return 2;
	m.state = strtoull(argv[2], NULL, 10) | 1;
	temp_dir_make(&m.dir);
	for (int i = 3; i < argc; i++)
		try_folder(&m, argv[i], strtoul(argv[1], NULL, 10));
	temp_dir_remove(&m.dir);
	fputc('\n', stderr);
	printf("%zu mutants: %zu could be read, %zu made sense, %zu could be "
	       "computed\n",
	    m.n, m.n_loaded, m.n_checked, m.n_computed);
	/* A mutator that changes nothing, or breaks all, tests nothing. */
	return m.n && m.n_computed && m.n_computed < m.n_loaded ? 0 : 1;
}
