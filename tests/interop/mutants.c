/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutants.c - damaged models are computed or refused, and nothing else happens
 *
 *	mutants SEED FIRST COUNT < list of folders of tests, one a line
 *
 * Mutant number i is a model of the list, damaged in a way that SEED and i
 * decide: bytes of its file, or nodes, attributes, weights and inputs of the
 * graph that was read from it (mutate.h). It is checked and run, with little
 * memory and few iterations. An error has to come with a message. Mutants run
 * in a child; one that ends it is reported by number and the next is tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tp/onnx_program.h"

#include "mutate.h"

#include "support/fact.h"
#include "support/temp_dir.h"

#define MAX_MEMORY (UINT64_C(8) << 20)
#define MAX_ITERATIONS 64
#define SECONDS 120 /* of one mutant; sanitizers are slow */

/* What became of them. In memory that parent and child share. */
struct tally {
	uint64_t at; /* the mutant that runs */
	uint64_t n_unread, n_refused, n_failed, n_computed;
	uint64_t n_silent;   /* errors without a message */
	uint64_t n_nameless; /* of a run, without the name of a node */
};

static struct tally *tally;
static char **folders;
static size_t n_folders;
static struct temp_dir work;

static void
read_list(void)
{
	char line[4096];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		folders = realloc(folders, (n_folders + 1) * sizeof(*folders));
		if (!folders || !(folders[n_folders++] = strdup(line)))
			abort();
	}
}

static void
note(const char *folder, const char *where, enum tp_status rc,
    const struct tp_err *err)
{
	if (getenv("TP_MUTANTS_SHOW"))
		printf("%" PRIu64 " %s: %s: %s: %s\n", tally->at, folder, where,
		    tp_status_text(rc), err->msg);
	if (rc && !err->msg[0]) {
		printf("FAIL %" PRIu64 " %s: %s: %s without a message\n",
		    tally->at, folder, where, tp_status_text(rc));
		tally->n_silent++;
	}
}

/* A file of the folder's inputs, as the graph says what it is. */
static void
read_inputs(const char *folder, const struct tp_graph *g,
    struct tp_strings *strings, struct tp_value *in, size_t most)
{
	for (size_t k = 0; k < g->n_inputs && k < most; k++) {
		char path[4200];

		snprintf(path, sizeof(path), "%s/test_data_set_0/input_%zu.pb",
		    folder, k);
		if (tp_onnx_value_read(
			path, NULL, &g->inputs[k].type, strings, &in[k], NULL))
			in[k] = tp_value_of(NULL);
	}
}

#define MOST 64 /* inputs and outputs of a model here */

static void
compute(const char *folder, const struct tp_graph_model *model,
    struct tp_strings *strings, struct tp_value *in, unsigned n_threads)
{
	struct tp_run_opts opts = {.n_threads = n_threads,
	    .strings = strings,
	    .max_iterations = MAX_ITERATIONS,
	    .max_memory = MAX_MEMORY};
	size_t n_in = model->graph.n_inputs, n_out = model->graph.n_outputs;
	struct tp_value out[MOST];
	struct tp_program *program = NULL;
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc = tp_program_new(NULL, model, &program, &err);

	note(folder, "check", rc, &err);
	if (rc) {
		tally->n_refused++;
		return;
	}
	if (n_in <= MOST && n_out <= MOST) {
		rc = tp_program_run(program, in, n_in, out, n_out, &opts, &err);
		note(folder, "run", rc, &err);
		if (rc && strncmp(err.msg, "node ", 5) &&
		    strncmp(err.msg, "input ", 6)) {
			printf("FAIL %" PRIu64 " %s: no node in '%s'\n",
			    tally->at, folder, err.msg);
			tally->n_nameless++;
		}
		for (size_t k = 0; k < n_out; k++)
			tp_value_release(&out[k]);
	}
	if (rc)
		tally->n_failed++;
	else
		tally->n_computed++;
	tp_program_free(program);
}

static void
damage_and_compute(const char *folder, const char *path, bool is_whole,
    struct mutation *m, struct tp_strings *strings)
{
	struct tp_onnx_program *file = NULL;
	struct tp_err err = TP_ERR_INIT;
	struct tp_value in[MOST];
	struct tp_graph_model model;
	enum tp_status rc =
	    tp_onnx_program_open(path, NULL, strings, &file, &err);

	note(folder, "read", rc, &err);
	if (rc) {
		tally->n_unread++;
		return;
	}
	model = *tp_onnx_program_model(file);
	for (size_t k = 0; k < MOST; k++)
		in[k] = tp_value_of(NULL);
	read_inputs(folder, &model.graph, strings, in, MOST);
	if (is_whole)
		mutate_model(m, &model, in,
		    model.graph.n_inputs < MOST ? model.graph.n_inputs : MOST);
	compute(folder, &model, strings, in, 1 + tally->at % 2);
	for (size_t k = 0; k < MOST; k++)
		tp_value_release(&in[k]);
	tp_onnx_program_close(file);
}

/* The model's file with some bytes changed. */
static const char *
damage_file(struct mutation *m, const char *path)
{
	const char *damaged = temp_path(&work, "model.onnx");
	size_t n;
	uint8_t *bytes = mutate_bytes(m, path, &n);
	FILE *f = fopen(damaged, "wb");

	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f))
		abort();
	return damaged;
}

static void
run_mutant(uint64_t seed, uint64_t i)
{
	const char *folder;
	struct mutation m;
	struct tp_strings *strings = NULL;
	char path[4200];
	bool is_whole;

	mutation_init(&m, seed, i);
	folder = folders[mutation_below(&m, n_folders)];
	snprintf(path, sizeof(path), "%s/model.onnx", folder);
	is_whole = mutation_below(&m, 3) != 0;
	if (tp_strings_new(NULL, 1 << 20, &strings, NULL))
		abort();
	tally->at = i;
	alarm(SECONDS);
	damage_and_compute(folder, is_whole ? path : damage_file(&m, path),
	    is_whole, &m, strings);
	alarm(0);
	tp_strings_free(strings);
	mutation_release(&m);
}

static void
share_tally(void)
{
	int fd = open(temp_path(&work, "tally"), O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*tally)))
		abort();
	tally = mmap(
	    NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (tally == MAP_FAILED)
		abort();
	close(fd);
}

/* Run mutants until one of them is the last or ends the child. */
static bool
run_in_child(uint64_t seed, uint64_t first, uint64_t end)
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		abort();
	if (child == 0) {
		for (uint64_t i = first; i < end; i++)
			run_mutant(seed, i);
		fflush(stdout);
		exit(0);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	printf("FAIL %" PRIu64 ": %s %d\n", tally->at,
	    WIFSIGNALED(status) ? "signal" : "status",
	    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return false;
}

/* So that a leak is found near what left it. */
#define IN_ONE_CHILD 100

int
main(int argc, char **argv)
{
	uint64_t seed, first, end, n_broken = 0;

	if (argc != 4)
		return 64;
	seed = strtoull(argv[1], NULL, 10);
	first = strtoull(argv[2], NULL, 10);
	end = first + strtoull(argv[3], NULL, 10);
	read_list();
	if (!n_folders)
		return 70;
	temp_dir_make(&work);
	share_tally();
	while (first < end) {
		uint64_t stop =
		    end - first < IN_ONE_CHILD ? end : first + IN_ONE_CHILD;
		bool is_whole = run_in_child(seed, first, stop);

		n_broken += !is_whole;
		first = is_whole ? stop : tally->at + 1;
	}
	temp_dir_remove(&work);
	print_fact("damaged.mutants", tally->n_unread + tally->n_refused +
					  tally->n_failed + tally->n_computed +
					  n_broken);
	printf("%" PRIu64 " not read, %" PRIu64 " refused, %" PRIu64
	       " failed, %" PRIu64 " computed, %" PRIu64 " broke\n",
	    tally->n_unread, tally->n_refused, tally->n_failed,
	    tally->n_computed, n_broken);
	return n_broken || tally->n_silent || tally->n_nameless;
}
