/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - a bar that is drawn at most ten times a second */
#include "progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "text.h"

#define BAR 24
#define NS UINT64_C(1000000000)

static struct {
	const char *what; /* NULL: no job */
	uint64_t total;
	bool shown, drawn, terminal;
	uint64_t begin, period; /* nanoseconds */
	atomic_uint_fast64_t done, next;
	pthread_mutex_t lock;
} job = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

void
cli_progress_text(char buf[CLI_PROGRESS_SIZE], const char *what, uint64_t done,
    uint64_t total, double seconds)
{
	char bar[BAR + 1], eta[24] = "";
	double part = total ? (double)done / (double)total : 1;
	double rate = seconds > 0 ? (double)done / seconds : 0;
	size_t n;

	if (part > 1)
		part = 1;
	n = (size_t)(part * BAR);
	memset(bar, '#', n);
	memset(bar + n, '.', BAR - n);
	bar[BAR] = '\0';
	if (rate > 0 && done < total) {
		double left = (double)(total - done) / rate;

		if (left < 360000)
			snprintf(eta, sizeof(eta), "  %u:%02u left",
			    (unsigned)left / 60, (unsigned)left % 60);
	}
	snprintf(buf, CLI_PROGRESS_SIZE, "%.24s [%s] %3u%%  %s/s%s", what, bar,
	    (unsigned)(part * 100), CLI_HUMAN((uint64_t)rate), eta);
}

static void
draw(bool last)
{
	char text[CLI_PROGRESS_SIZE];
	double seconds = (double)(now() - job.begin) / (double)NS;

	cli_progress_text(
	    text, job.what, atomic_load(&job.done), job.total, seconds);
	if (!job.terminal)
		fprintf(stderr, "%s\n", text);
	else if (!last)
		fprintf(stderr, "\r%s\033[K", text);
	fflush(stderr);
	job.drawn = !last;
}

void
cli_progress_begin(const char *what, uint64_t nbytes)
{
	cli_progress_end();
	job.terminal = isatty(STDERR_FILENO);
	job.shown = cli_common.progress == CLI_ALWAYS ||
		    (cli_common.progress == CLI_AUTO && job.terminal &&
			!cli_common.quiet);
	job.what = what;
	job.total = nbytes;
	job.begin = now();
	job.period = job.terminal ? NS / 10 : NS;
	atomic_store(&job.done, 0);
	atomic_store(&job.next, job.begin + NS);
}

void
cli_progress_add(uint64_t nbytes)
{
	atomic_fetch_add(&job.done, nbytes);
	if (!job.shown || !job.what || now() < atomic_load(&job.next))
		return;
	/* Whoever comes while another draws has better things to do. */
	if (pthread_mutex_trylock(&job.lock))
		return;
	atomic_store(&job.next, now() + job.period);
	draw(false);
	pthread_mutex_unlock(&job.lock);
}

void
cli_progress_hide(void)
{
	if (!job.what || !job.drawn || !job.terminal)
		return;
	fputs("\r\033[K", stderr);
	job.drawn = false;
}

void
cli_progress_end(void)
{
	if (!job.what)
		return;
	cli_progress_hide();
	if (job.shown && !job.terminal)
		draw(true);
	job.what = NULL;
}
