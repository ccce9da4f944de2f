/* SPDX-License-Identifier: Apache-2.0 */
/* run_compute.c - a model is computed, shown and dumped */
#include "run.h"

#include <errno.h>
#include <sys/stat.h>

#include "text.h"

FILE *
run_trace_of(const struct run_settings *s)
{
	/* With --json the document alone is on stdout. */
	return !s->trace ? NULL : cli_common.json ? stderr : stdout;
}

static enum tp_status
begin_dump(const struct run_model *m, struct run_job *job, struct tp_err *err)
{
	enum tp_status rc = run_spool_new(&job->watch.spool, err);

	for (size_t k = 0; k < job->inputs.n && !rc; k++)
		rc = run_spool_add(job->watch.spool, m->graph->inputs[k].name,
		    &job->inputs.items[k], m->strings, err);
	return rc;
}

/* Names of tests and values are not to become paths: files are numbered. */
static enum tp_status
end_dump(const struct run_model *m, struct run_settings *s, struct run_job *job,
    struct tp_err *err)
{
	char path[4096];

	if (mkdir(s->dump, 0777) && errno != EEXIST)
		return tp_fail_errno(err, TP_EOUTPUT, errno, "%.200s", s->dump);
	if (snprintf(path, sizeof(path), "%s/run-%zu.tpt", s->dump,
		s->n_dumps++) >= (int)sizeof(path))
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
		    "the name of the folder is too long");
	return run_spool_write(job->watch.spool, path, m->path, err);
}

static enum tp_status
evaluate(const struct run_model *m, const struct run_settings *s,
    struct run_job *job, struct tp_err *err)
{
	struct run_watch *w = &job->watch;
	uint64_t peak = 0;
	struct tp_run_opts opts = {
	    .n_threads = s->n_threads,
	    .strings = m->strings,
	    .max_iterations = s->max_iterations,
	    .max_memory = s->max_memory,
	    .peak_memory = w->trace ? &peak : NULL,
	    .seed = s->inputs.seed.seed,
	};
	enum tp_status rc;

	w->strings = m->strings;
	if (w->trace || w->stop_at || w->spool || w->more) {
		opts.watch = run_watch_node;
		opts.watch_ctx = w;
	}
	rc = tp_program_run(m->program, job->inputs.items, job->inputs.n,
	    job->outputs.items, job->outputs.n, &opts, err);
	if (w->trace)
		fprintf(w->trace, "%s of values and scratch at most\n",
		    CLI_HUMAN(peak));
	if (!rc && w->stop_at && !w->stopped)
		return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
		    "no node '%s' was computed", TP_BRIEF(tp_str(w->stop_at)));
	return rc;
}

enum tp_status
run_compute(const struct run_model *m, struct run_settings *s,
    struct run_job *job, struct tp_err *err)
{
	struct tp_err why = TP_ERR_INIT;
	enum tp_status rc = TP_OK, dumped;

	if (!run_values_init(&job->outputs, m->graph->n_outputs))
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for outputs");
	if (s->dump)
		rc = begin_dump(m, job, err);
	if (rc)
		return rc;
	rc = evaluate(m, s, job, &why);
	if (rc && err)
		*err = why;
	/* What there was before a failure is what one looks for. */
	dumped = s->dump ? end_dump(m, s, job, rc ? &why : err) : TP_OK;
	return rc ? rc : dumped;
}

void
run_job_release(struct run_job *job)
{
	run_values_release(&job->inputs);
	run_values_release(&job->outputs);
	run_values_release(&job->expected);
	run_spool_free(job->watch.spool);
	job->watch.spool = NULL;
}
