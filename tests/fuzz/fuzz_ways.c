/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ways.c - a file that is read from standard input, or cut meanwhile */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* What a pipe takes before anyone reads. */
#define PIPE_BYTES 65536
/* As many tensors tell as much as all. */
#define MOST 64

static uint8_t *
entry_bytes(struct tp_reader *r, size_t i)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_stream *s = NULL;

	return tp_stream_entry(r, i, &s, &err) ? NULL : fuzz_drain(s);
}

static uint8_t *
storage_bytes(struct tp_reader *r, size_t i)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_stream *s = NULL;

	return tp_stream_storage(r, i, &s, &err) ? NULL : fuzz_drain(s);
}

/* An entry of both: the same bytes, or none. */
static void
compare_entry(struct tp_reader *a, struct tp_reader *b, size_t i)
{
	const struct tp_entry *x = tp_reader_entry(a, i);
	const struct tp_entry *y = tp_reader_entry(b, i);
	uint8_t *p, *q;

	MUST(!tp_str_cmp(x->name, y->name));
	MUST(x->dtype == y->dtype && x->nbytes == y->nbytes);
	if (x->nbytes > FUZZ_TENSOR_BYTES)
		return;
	p = entry_bytes(a, i);
	q = entry_bytes(b, i);
	MUST(!p == !q);
	MUST(!p || !memcmp(p, q, (size_t)x->nbytes));
	free(p);
	free(q);
}

static void
compare(struct tp_reader *a, struct tp_reader *b)
{
	MUST(tp_reader_format(a) == tp_reader_format(b));
	MUST(tp_reader_n_entries(a) == tp_reader_n_entries(b));
	for (size_t i = 0; i < tp_reader_n_entries(a) && i < MOST; i++)
		compare_entry(a, b, i);
}

static int
open_input(const char *path, const uint8_t *data, size_t n, bool is_pipe)
{
	int ends[2];

	if (!is_pipe || n > PIPE_BYTES) {
		ends[0] = open(path, O_RDONLY | O_CLOEXEC);
		MUST(ends[0] >= 0);
		return ends[0];
	}
	MUST(!pipe(ends));
	MUST(write(ends[1], data, n) == (ssize_t)n);
	close(ends[1]);
	return ends[0];
}

/* Makes fd standard input; what it was before. */
static int
put_stdin(int fd)
{
	int before = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	MUST(fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
	close(fd);
	return before;
}

static void
put_back(int before)
{
	close(STDIN_FILENO);
	if (before < 0)
		return;
	MUST(dup2(before, STDIN_FILENO) == STDIN_FILENO);
	close(before);
}

/* Without memory; and what cannot be read. */
static void
read_bad_stdin(const uint8_t *data, size_t n, const char *path, bool is_pipe)
{
	struct tp_err err = TP_ERR_INIT;
	int before = put_stdin(open_input(path, data, n, is_pipe));

	fuzz_open_failing("-", NULL, 0);
	put_back(before);
	before = put_stdin(open("/", O_RDONLY | O_CLOEXEC));
	MUST(!fuzz_open("-", NULL, 0, &err) && err.status == TP_EIO);
	put_back(before);
}

static void
read_stdin(struct tp_reader *r, const uint8_t *data, size_t n, bool is_pipe,
    unsigned flags)
{
	const char *path = tp_reader_file(r, 0, NULL);
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *b;
	int before;

	read_bad_stdin(data, n, path, is_pipe);
	before = put_stdin(open_input(path, data, n, is_pipe));
	b = fuzz_open("-", tp_format_name(tp_reader_format(r)), flags, &err);
	put_back(before);
	/* Nothing lies beside standard input. */
	MUST(
	    b || (err.status == TP_EUNSUPPORTED && tp_reader_file(r, 1, NULL)));
	if (b) {
		MUST(!strcmp(tp_reader_file(b, 0, NULL), "-"));
		compare(r, b);
	}
	tp_close(b);
}

/*
 * The same file under another name. Storages are read; what is mapped and cut
 * is the business of the tools, which catch the signal.
 */
static void
read_cut(struct tp_reader *r, const uint8_t *data, size_t n, unsigned flags)
{
	const char *format = tp_format_name(tp_reader_format(r));
	const char *path = fuzz_file("cut", data, n);
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *b = fuzz_open(path, format, flags, &err);

	MUST(b);
	MUST_OK(tp_reader_check_files(b, &err), &err);
	MUST(!truncate(path, (off_t)(n / 2)));
	MUST(tp_reader_check_files(b, &err) == TP_EIO);
	for (size_t i = 0; i < tp_reader_n_storages(b) && i < MOST; i++) {
		uint64_t nbytes = tp_reader_storage(b, i)->nbytes;
		uint8_t *p, *q;

		if (nbytes > FUZZ_TENSOR_BYTES)
			continue;
		p = storage_bytes(r, i);
		q = storage_bytes(b, i);
		MUST(!q || (p && !memcmp(p, q, (size_t)nbytes)));
		free(p);
		free(q);
	}
	tp_close(b);
}

void
fuzz_other_ways(struct tp_reader *r, const uint8_t *data, size_t n,
    unsigned flags, unsigned how)
{
	if (how & FUZZ_STDIN)
		read_stdin(r, data, n, false, flags);
	if (how & FUZZ_PIPE)
		read_stdin(r, data, n, true, flags);
	if (how & FUZZ_CUT)
		read_cut(r, data, n, flags);
}
