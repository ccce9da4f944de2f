/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truncated.c - every cut of a good file is refused, or read without harm
 *
 *	truncated STEP FILE…
 *
 * A copy of each file is cut to every multiple of STEP bytes, the longest
 * first, and opened in each state, mapped and by reads. A safetensors or native
 * file has to be refused (malformed, or no longer known); an ONNX file, which
 * says nowhere how long it is, may open: then all of it is read.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tp/format.h>

struct totals {
	size_t n_cuts, n_refused, n_failed;
};

static bool
copy_file(const char *from, FILE *to, long *size)
{
	char buf[4096];
	FILE *f = fopen(from, "rb");
	size_t n;

	if (!f)
		return false;
	*size = 0;
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0) {
		if (fwrite(buf, 1, n, to) != n)
			break;
		*size += (long)n;
	}
	fclose(f);
	return n == 0 && !fflush(to);
}

/* Every byte of every entry; what fails has only to fail cleanly. */
static void
read_all(struct tp_reader *r)
{
	static char buf[65536];

	for (size_t i = 0; i < tp_reader_n_entries(r); i++) {
		struct tp_stream *s = NULL;
		struct tp_tensor *t = NULL;

		if (!tp_reader_tensor(r, i, &t, NULL))
			tp_tensor_free(t);
		if (tp_stream_entry(r, i, &s, NULL))
			continue;
		while (tp_stream_left(s) > 0) {
			uint64_t n = tp_stream_left(s);

			if (n > sizeof(buf))
				n = sizeof(buf);
			if (tp_stream_read(s, buf, (size_t)n, NULL))
				break;
		}
		tp_stream_close(s);
	}
}

static bool
may_refuse_with(enum tp_status rc)
{
	return rc == TP_EFORMAT || rc == TP_EUNSUPPORTED || rc == TP_ELIMIT ||
	       rc == TP_EIO;
}

static void
try_cut(struct totals *sum, const char *name, const char *copy, long size,
    unsigned flags, bool may_open)
{
	const struct tp_open_options options = {.flags = flags};
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	enum tp_status rc = tp_open(copy, &options, &r, &err);

	sum->n_cuts++;
	if (rc) {
		sum->n_refused++;
		if (!may_refuse_with(rc) || r || !err.msg[0]) {
			sum->n_failed++;
			printf("FAIL %s cut to %ld: status %d, \"%s\"\n", name,
			    size, rc, err.msg);
		}
		return;
	}
	if (!may_open) {
		sum->n_failed++;
		printf("FAIL %s cut to %ld: opened\n", name, size);
	}
	read_all(r);
	tp_close(r);
}

static bool
try_file(struct totals *sum, const char *name, long step)
{
	const char *dot = strrchr(name, '.');
	bool may_open = dot && !strcmp(dot, ".onnx");
	char copy[] = "truncated.XXXXXX";
	int fd = mkstemp(copy);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
	long size = 0;
	bool ok = f && copy_file(name, f, &size);

	for (long at = (size - 1) / step * step; ok && size && at >= 0;
	     at -= step) {
		ok = !ftruncate(fd, at);
		try_cut(sum, name, copy, at, 0, may_open);
		try_cut(sum, name, copy, at, TP_OPEN_NO_MMAP, may_open);
	}
	if (!ok)
		perror(name);
	if (f)
		fclose(f);
	unlink(copy);
	return ok;
}

int
main(int argc, char **argv)
{
	struct totals sum = {0, 0, 0};
	long step = argc > 2 ? strtol(argv[1], NULL, 10) : 0;

	if (step <= 0) {
		fprintf(stderr, "usage: %s STEP FILE...\n", argv[0]);
		return 2;
	}
	for (int i = 2; i < argc; i++)
		if (!try_file(&sum, argv[i], step))
			return 2;
	printf("%d files, %zu cuts, %zu refused, %zu failed\n", argc - 2,
	    sum.n_cuts, sum.n_refused, sum.n_failed);
	return sum.n_failed ? 1 : 0;
}
