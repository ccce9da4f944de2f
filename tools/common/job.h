/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - a tool that makes one file: its options, and the frame of its work
 *
 *	static struct cli_output output;
 *
 *	options[] = {…, CLI_OUTPUT_OPTIONS(output, "print the plan"), …};
 *
 *	if (!cli_job_init(&job, &output, path))
 *		return CLI_USAGE;
 *	rc = cli_job_open(&job, input, NULL, 0, &reader);
 *	o = cli_job_transfer_options(&job);
 *	rc = cli_job_plan(&job, readers, n, &o);
 *	if (!rc)
 *		rc = cli_job_write(&job);
 *	…tell what job says…
 *	cli_job_release(&job);
 *
 * A step that fails has told so when it returns; what it returns is the exit
 * status. err, err_path and status are then what a report has to say of it.
 */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tp/transfer.h"

#include "cli.h"

/* What the command line says about the file that is made. */
struct cli_output {
	const char *format; /* --to; NULL: by the suffix */
	bool verify, dry_run, force;
	int sync; /* enum tp_sync */
};

extern const char *const cli_sync_choices[];

/* Rows for a table of options; `dry` is what --dry-run does before that. */
#define CLI_OUTPUT_OPTIONS(output, dry)                                     \
	{CLI_FLAG, 0, "verify", NULL, &(output).verify,                     \
	    .help = "read the output back and prove it equal"},             \
	    {CLI_FLAG, 'n', "dry-run", NULL, &(output).dry_run,             \
		.help = dry " and write nothing"},                          \
	    {CLI_FLAG, 0, "force", NULL, &(output).force,                   \
		.help = "replace an existing output"},                      \
	{                                                                   \
		CLI_CHOICE, 0, "sync", "auto|always|never", &(output).sync, \
		    .help = "flush to the disk before renaming (default "   \
			    "auto: when a file is replaced)",               \
		    .choices = cli_sync_choices                             \
	}

struct cli_job {
	const struct cli_output *output;
	const char *input; /* if it is one; for values out of range */
	const char *path;  /* of the output; "-": standard output */
	struct tp_transfer *transfer;
	const char *status; /* "written", "failed", or as the tool calls it */
	struct tp_err err;
	const char *err_path; /* of the file that err is about, or NULL */
	bool verified;
	uint64_t progress; /* bytes at the last call */
};

/*
 * Begin with the status "failed"; all is borrowed. False, which is said, if the
 * path is standard output and the options want it to be a file. From now on
 * signals end the work (cli_stopped).
 */
bool cli_job_init(
    struct cli_job *job, const struct cli_output *output, const char *path);
void cli_job_release(struct cli_job *job);

/* Open an input; flags are those of tp_open. */
int cli_job_open(struct cli_job *job, const char *path, const char *format,
    unsigned flags, struct tp_reader **out);

/* Report job->err, which is about that file (NULL: about none). */
int cli_job_fail(struct cli_job *job, const char *path);

/* Options with all that the command line and the frame have to say. */
struct tp_transfer_options cli_job_transfer_options(struct cli_job *job);

/* Only errors are told, not what the plan notes. */
int cli_job_plan(struct cli_job *job, struct tp_reader *const *readers,
    size_t n_readers, const struct tp_transfer_options *options);
void cli_job_put_notes(const struct cli_job *job);

/* Could the output be made, as far as can be told beforehand? */
int cli_job_check_output(struct cli_job *job);

/* Write it and, where that was asked for, verify it. */
int cli_job_write(struct cli_job *job);

/* Where text about the output goes: not into it. */
FILE *cli_job_talk(const struct cli_job *job);

#endif
