/* SPDX-License-Identifier: Apache-2.0 */
/* stream_pour.c - workers that read in turn, settle in order and write side by
 * side */
#include "stream_pour.h"

#include <pthread.h>

#include "tp/parallel.h"

#include "banned.h"

struct pouring {
	const struct tpi_pour *what;
	struct tp_stream *s;
	pthread_t caller;     /* the only thread that moves s */
	pthread_mutex_t turn; /* held while reading */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t moved; /* n_settled did, or a chunk failed */
	uint64_t next;	      /* chunk to begin */
	uint64_t n_settled;   /* chunks */
	uint64_t n_untold;    /* bytes written that s was not moved by */
	uint64_t failed;      /* the earliest chunk that failed, and how */
	enum tp_status status;
	struct tp_err err;
};

/* Begin no more chunks, because of chunk k. */
static void
give_up(struct pouring *p, uint64_t k, enum tp_status status,
    const struct tp_err *err)
{
	pthread_mutex_lock(&p->lock);
	p->next = p->what->n_chunks;
	if (!p->status || k < p->failed) {
		p->failed = k;
		p->status = status;
		p->err = *err;
	}
	pthread_cond_broadcast(&p->moved);
	pthread_mutex_unlock(&p->lock);
}

/* Take the turn and read the next chunk. False: there is none. */
static bool
read_next(struct pouring *p, size_t i, uint64_t *k, enum tp_status *rc,
    struct tp_err *err)
{
	bool more;

	pthread_mutex_lock(&p->turn);
	pthread_mutex_lock(&p->lock);
	*k = p->next;
	more = *k < p->what->n_chunks;
	if (more)
		p->next++;
	pthread_mutex_unlock(&p->lock);
	if (more)
		*rc = p->what->read(p->what->ctx, i, *k, err);
	pthread_mutex_unlock(&p->turn);
	return more;
}

/*
 * When all chunks before are settled; a failure of one of them is told instead.
 */
static enum tp_status
settle(struct pouring *p, size_t i, uint64_t k, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	pthread_mutex_lock(&p->lock);
	while (p->n_settled != k && !(p->status && p->failed < k))
		pthread_cond_wait(&p->moved, &p->lock);
	if (p->n_settled != k)
		rc = p->status;
	pthread_mutex_unlock(&p->lock);
	if (rc)
		return rc;
	rc = p->what->settle(p->what->ctx, i, k, err);
	if (rc)
		return rc;
	pthread_mutex_lock(&p->lock);
	p->n_settled++;
	pthread_cond_broadcast(&p->moved);
	pthread_mutex_unlock(&p->lock);
	return TP_OK;
}

/* n more bytes were written; on the caller's thread the stream moves. */
static enum tp_status
count_written(struct pouring *p, size_t n, struct tp_err *err)
{
	bool is_caller = pthread_equal(p->caller, pthread_self());
	uint64_t untold;

	pthread_mutex_lock(&p->lock);
	p->n_untold += n;
	untold = p->n_untold;
	if (is_caller)
		p->n_untold = 0;
	pthread_mutex_unlock(&p->lock);
	return is_caller ? tpi_stream_moved(p->s, untold, err) : TP_OK;
}

static void
work(void *ctx, size_t i)
{
	struct pouring *p = ctx;
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc = TP_OK;
	uint64_t k;

	while (!rc && read_next(p, i, &k, &rc, &err)) {
		const struct tpi_pour *what = p->what;
		size_t n = 0;

		if (!rc)
			rc = what->make(what->ctx, i, k, &err);
		if (!rc && what->settle)
			rc = settle(p, i, k, &err);
		if (!rc && what->write)
			rc = what->write(what->ctx, i, k, &n, &err);
		if (!rc && n)
			rc = count_written(p, n, &err);
		if (rc)
			give_up(p, k, rc, &err);
	}
}

enum tp_status
tpi_pour(struct tp_stream *s, const struct tpi_pour *what, struct tp_err *err)
{
	struct pouring p = {
	    .what = what,
	    .s = s,
	    .caller = pthread_self(),
	    .err = TP_ERR_INIT,
	};

	pthread_mutex_init(&p.turn, NULL);
	pthread_mutex_init(&p.lock, NULL);
	pthread_cond_init(&p.moved, NULL);
	tp_parallel(what->n_workers, what->n_workers, work, &p);
	pthread_cond_destroy(&p.moved);
	pthread_mutex_destroy(&p.lock);
	pthread_mutex_destroy(&p.turn);
	if (p.status && err)
		*err = p.err;
	if (p.status || !p.n_untold)
		return p.status;
	return tpi_stream_moved(s, p.n_untold, err);
}
