/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_behind.c - a ring of buffers between one that fills and one that writes
 *
 * jobs[first … first + n_jobs) wait for the thread; the buffers of the others
 * are empty. Each side sleeps only when the ring gives it nothing to do.
 */
#include "write_behind.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "tp/parallel.h"

#include "banned.h"

#define N_JOBS 3

struct job {
	uint8_t *buf;
	size_t n;
	uint64_t offset;
};

struct tpi_behind {
	const struct tp_alloc *alloc;
	size_t buf_nbytes;
	int fd;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t given, written;
	struct job jobs[N_JOBS];
	size_t first, n_jobs;
	bool stop;
	struct tp_err err; /* of the first write that failed */
};

enum tp_status
tpi_write_at(
    int fd, uint64_t offset, const void *buf, size_t n, struct tp_err *err)
{
	const char *p = buf;

	while (n > 0) {
		ssize_t done = pwrite(fd, p, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return tp_fail_errno(err, TP_EOUTPUT, errno,
			    "write of %zu bytes at %" PRIu64, n, offset);
		p += done;
		offset += (uint64_t)done;
		n -= (size_t)done;
	}
	return TP_OK;
}

/* The thread: after a failure it takes jobs but writes no more. */
static void *
write_jobs(void *arg)
{
	struct tpi_behind *b = arg;

	pthread_mutex_lock(&b->lock);
	for (;;) {
		struct tp_err err = TP_ERR_INIT;
		struct job job;

		while (b->n_jobs == 0 && !b->stop)
			pthread_cond_wait(&b->given, &b->lock);
		if (b->n_jobs == 0)
			break;
		job = b->jobs[b->first];
		if (b->err.status == TP_OK) {
			pthread_mutex_unlock(&b->lock);
			(void)tpi_write_at(
			    b->fd, job.offset, job.buf, job.n, &err);
			pthread_mutex_lock(&b->lock);
		}
		if (err.status != TP_OK)
			b->err = err;
		b->first = (b->first + 1) % N_JOBS;
		b->n_jobs--;
		pthread_cond_signal(&b->written);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static void
free_buffers(struct tpi_behind *b)
{
	for (size_t i = 0; i < N_JOBS; i++)
		if (b->jobs[i].buf)
			tp_mem_free(b->alloc, b->jobs[i].buf, b->buf_nbytes, 1);
	tp_mem_free(b->alloc, b, 1, sizeof(*b));
}

/* Signals are for the program's threads, not for this one. */
static bool
start_thread(struct tpi_behind *b)
{
	sigset_t all, before;
	int rc;

	if (sigfillset(&all) || pthread_sigmask(SIG_SETMASK, &all, &before))
		return false;
	rc = pthread_create(&b->thread, NULL, write_jobs, b);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc == 0;
}

struct tpi_behind *
tpi_behind_new(const struct tp_alloc *alloc, int fd, size_t buf_nbytes)
{
	struct tpi_behind *b;
	bool ok = true;

	if (tp_cpu_count() < 2)
		return NULL;
	b = tp_mem_array(alloc, 1, sizeof(*b));
	if (!b)
		return NULL;
	b->alloc = alloc;
	b->buf_nbytes = buf_nbytes;
	b->fd = fd;
	b->err.status = TP_OK;
	for (size_t i = 0; i < N_JOBS && ok; i++) {
		b->jobs[i].buf = tp_mem_array(alloc, buf_nbytes, 1);
		ok = b->jobs[i].buf != NULL;
	}
	if (!ok || pthread_mutex_init(&b->lock, NULL)) {
		free_buffers(b);
		return NULL;
	}
	(void)pthread_cond_init(&b->given, NULL);
	(void)pthread_cond_init(&b->written, NULL);
	if (!start_thread(b)) {
		pthread_cond_destroy(&b->given);
		pthread_cond_destroy(&b->written);
		pthread_mutex_destroy(&b->lock);
		free_buffers(b);
		return NULL;
	}
	return b;
}

void
tpi_behind_free(struct tpi_behind *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_signal(&b->given);
	pthread_mutex_unlock(&b->lock);
	(void)pthread_join(b->thread, NULL);
	pthread_cond_destroy(&b->given);
	pthread_cond_destroy(&b->written);
	pthread_mutex_destroy(&b->lock);
	free_buffers(b);
}

/* Under the lock: the failure, if there was one. */
static enum tp_status
report(const struct tpi_behind *b, struct tp_err *err)
{
	if (b->err.status != TP_OK && err)
		*err = b->err;
	return b->err.status;
}

enum tp_status
tpi_behind_give(struct tpi_behind *b, uint8_t **buf, size_t n, uint64_t offset,
    struct tp_err *err)
{
	enum tp_status rc;
	struct job *job;

	pthread_mutex_lock(&b->lock);
	while (b->n_jobs == N_JOBS)
		pthread_cond_wait(&b->written, &b->lock);
	rc = report(b, err);
	if (!rc) {
		uint8_t *empty;

		job = &b->jobs[(b->first + b->n_jobs) % N_JOBS];
		empty = job->buf;
		*job = (struct job){*buf, n, offset};
		*buf = empty;
		b->n_jobs++;
		pthread_cond_signal(&b->given);
	}
	pthread_mutex_unlock(&b->lock);
	return rc;
}

enum tp_status
tpi_behind_wait(struct tpi_behind *b, struct tp_err *err)
{
	enum tp_status rc;

	if (!b)
		return TP_OK;
	pthread_mutex_lock(&b->lock);
	while (b->n_jobs > 0)
		pthread_cond_wait(&b->written, &b->lock);
	rc = report(b, err);
	pthread_mutex_unlock(&b->lock);
	return rc;
}
