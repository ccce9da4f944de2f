/* SPDX-License-Identifier: Apache-2.0 */
/* cli_report.c - messages on stderr, exit statuses, the first and last act */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli_start.h"
#include "progress.h"
#include "text.h"

static const char *program = "tp";

void
cli_set_program(const char *name)
{
	program = name;
}

const char *
cli_program(void)
{
	return program;
}

/*
 * A descriptor that is closed would be given to the next file that is opened,
 * and text meant for the terminal would land in a model. The stand-ins cannot
 * be read (0) or written (1, 2), so using them fails as it should.
 */
static void
keep_descriptors_open(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
		    open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			abort();
}

/* A model may lie in more files than the soft limit lets be open at a time. */
static void
raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

void
cli_start(void)
{
	keep_descriptors_open();
	/* Where a file cannot grow, a write fails, and is told and undone. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	raise_file_limit();
	cli_watch_maps();
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
}

const char *
cli_path_text(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

/* "program: path: " at the beginning of a fresh line. */
static void
put_head(const char *path)
{
	cli_progress_hide();
	fprintf(stderr, "%s: ", program);
	if (!path)
		return;
	cli_put_text(stderr, tp_str(cli_path_text(path)));
	fputs(": ", stderr);
}

static void
put_formatted(const char *fmt, va_list args)
{
	char text[1024];
	int n = vsnprintf(text, sizeof(text), fmt, args);

	if (n < 0)
		return;
	cli_put_text(stderr, tp_str(text));
	if ((size_t)n >= sizeof(text))
		fputs("...", stderr);
	putc('\n', stderr);
}

void
cli_message(const char *fmt, ...)
{
	va_list args;

	put_head(NULL);
	va_start(args, fmt);
	put_formatted(fmt, args);
	va_end(args);
}

void
cli_note(const char *fmt, ...)
{
	va_list args;

	if (cli_common.quiet)
		return;
	put_head(NULL);
	va_start(args, fmt);
	put_formatted(fmt, args);
	va_end(args);
}

void
cli_message_about(const char *path, const char *fmt, ...)
{
	va_list args;

	put_head(path);
	va_start(args, fmt);
	put_formatted(fmt, args);
	va_end(args);
}

void
cli_warn(void *ctx, const char *path, const char *message)
{
	(void)ctx;
	if (!cli_common.quiet)
		cli_message_about(path, "warning: %s", message);
}

void
cli_put_error(FILE *out, const struct tp_err *err)
{
	fputs(tp_status_text(err->status), out);
	if (err->offset != TP_NO_OFFSET)
		fprintf(out, " at byte %" PRIu64, err->offset);
	if (err->msg[0]) {
		fputs(": ", out);
		cli_put_text(out, tp_str(err->msg));
	}
}

int
cli_report(const char *path, const struct tp_err *err)
{
	put_head(path);
	cli_put_error(stderr, err);
	putc('\n', stderr);
	return cli_exit_of(err->status);
}

int
cli_exit_of(enum tp_status status)
{
	switch (status) {
	case TP_OK:
		return CLI_OK;
	case TP_EARG:
		return CLI_USAGE;
	case TP_ENOMEM:
	case TP_EIO:
	case TP_EFORMAT:
	case TP_ELIMIT:
	case TP_EMISMATCH:
		return CLI_INPUT;
	case TP_EUNSUPPORTED:
	case TP_ENOTFOUND:
	case TP_ERANGE:
		return CLI_UNSUPPORTED;
	case TP_EOUTPUT:
		return CLI_OUTPUT;
	}
	return CLI_INPUT;
}

int
cli_worst(int a, int b)
{
	return a > b ? a : b;
}

bool
cli_output_failed(void)
{
	return ferror(stdout);
}

int
cli_finish(int status)
{
	bool failed = ferror(stdout);
	int errnum = errno;

	cli_progress_end();
	cli_watch_end();
	/* A write that failed earlier has lost its errno: EIO stands for it. */
	if (failed)
		errnum = fflush(stdout) ? errno : EIO;
	if (fclose(stdout)) {
		if (!failed)
			errnum = errno;
		failed = true;
	}
	if (!failed)
		return status;
	if (errnum != EPIPE)
		fprintf(stderr, "%s: standard output: %s\n", program,
		    strerror(errnum));
	return CLI_OUTPUT;
}
