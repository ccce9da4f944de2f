/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - plan, write and verify one file, and say how far that is */
#include "job.h"

#include <string.h>
#include <sys/stat.h>

#include "progress.h"
#include "untrusted.h"

/* In the order of enum tp_sync. */
const char *const cli_sync_choices[] = {"auto", "always", "never", NULL};

static bool
is_stdout(const struct cli_job *job)
{
	return !strcmp(job->path, "-");
}

bool
cli_job_init(
    struct cli_job *job, const struct cli_output *output, const char *path)
{
	*job = (struct cli_job){.output = output,
	    .path = path,
	    .status = "failed",
	    .err = TP_ERR_INIT};
	if (is_stdout(job) && (cli_common.json || output->verify)) {
		cli_message("--json and --verify need an output that is a "
			    "file");
		return false;
	}
	cli_catch_signals();
	return true;
}

void
cli_job_release(struct cli_job *job)
{
	tp_transfer_free(job->transfer);
	job->transfer = NULL;
}

int
cli_job_fail(struct cli_job *job, const char *path)
{
	job->err_path = path;
	job->status = "failed";
	return cli_report(path, &job->err);
}

/* A tp_progress_fn; ctx is what was done at the last call. */
static bool
on_progress(void *ctx, uint64_t done, uint64_t total)
{
	uint64_t *last = ctx;

	(void)total;
	cli_progress_add(done - *last);
	*last = done;
	return !cli_stopped();
}

int
cli_job_open(struct cli_job *job, const char *path, const char *format,
    unsigned flags, struct tp_reader **out)
{
	const struct tp_open_options o = {.format = format,
	    .limits = cli_untrusted_limits(),
	    .flags = flags,
	    .warn = cli_warn};

	if (!tp_open(path, &o, out, &job->err))
		return CLI_OK;
	cli_job_fail(job, path);
	cli_untrusted_hint(&job->err);
	return cli_exit_of(job->err.status);
}

struct tp_transfer_options
cli_job_transfer_options(struct cli_job *job)
{
	const struct cli_output *o = job->output;

	return (struct tp_transfer_options){
	    .create = {.format = o->format,
		.force = o->force,
		.hold = o->verify,
		.sync = (enum tp_sync)o->sync},
	    .max_memory = cli_common.max_memory,
	    .n_threads = (unsigned)cli_common.threads,
	    .progress = on_progress,
	    .progress_ctx = &job->progress,
	};
}

int
cli_job_plan(struct cli_job *job, struct tp_reader *const *readers,
    size_t n_readers, const struct tp_transfer_options *options)
{
	return tp_transfer_plan(readers, n_readers, job->path, options,
		   &job->transfer, &job->err)
		   ? cli_job_fail(job, NULL)
		   : CLI_OK;
}

void
cli_job_put_notes(const struct cli_job *job)
{
	for (size_t i = 0; i < tp_transfer_n_notes(job->transfer); i++)
		cli_note("%s", tp_transfer_note(job->transfer, i));
}

int
cli_job_check_output(struct cli_job *job)
{
	struct stat st;

	if (job->output->force || is_stdout(job) || stat(job->path, &st) ||
	    !S_ISREG(st.st_mode))
		return CLI_OK;
	tp_fail(&job->err, TP_EOUTPUT, TP_NO_OFFSET,
	    "exists already; --force replaces it");
	return cli_job_fail(job, job->path);
}

typedef enum tp_status pass_fn(struct tp_transfer *t, struct tp_err *err);

/* Once through all bytes. */
static enum tp_status
pass(struct cli_job *job, const char *what, pass_fn *run)
{
	enum tp_status rc;

	job->progress = 0;
	cli_progress_begin(what, tp_transfer_nbytes(job->transfer));
	rc = run(job->transfer, &job->err);
	cli_progress_end();
	return rc;
}

/* The file that a failed write is about; other errors name theirs. */
static const char *
file_of(const struct cli_job *job, enum tp_status status)
{
	if (status == TP_EOUTPUT || status == TP_EUNSUPPORTED)
		return job->path;
	return status == TP_ERANGE ? job->input : NULL;
}

int
cli_job_write(struct cli_job *job)
{
	enum tp_status rc = pass(job, "writing", tp_transfer_run);

	if (rc)
		return cli_job_fail(job, file_of(job, rc));
	job->status = "written";
	if (!job->output->verify)
		return CLI_OK;
	if (pass(job, "verifying", tp_transfer_verify))
		return cli_job_fail(job, job->path);
	job->verified = true;
	return CLI_OK;
}

FILE *
cli_job_talk(const struct cli_job *job)
{
	return is_stdout(job) ? stderr : stdout;
}
