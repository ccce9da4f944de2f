/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - files in memory, opened with memory and without; the walk over a
 * model */
#include "fuzz.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tp/copy.h"
#include "tp/endian.h"
#include "tp/onnx.h"
#include "tp/quantized.h"
#include "tp/shape.h"
#include "tp/tensor.h"
#include "tp/transfer.h"

#define CHUNK 4096

static char folder[64];

static void
remove_folder(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		perror(folder);
}

const char *
fuzz_path(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];

	if (!folder[0]) {
		const char *base =
		    access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";

		snprintf(folder, sizeof(folder), "%s/tp-fuzz-XXXXXX", base);
		MUST(mkdtemp(folder));
		atexit(remove_folder);
	}
	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static size_t calls_left, n_live;
static uint64_t seed;
static bool is_new;	  /* a file was made that was not opened so yet */
static bool is_unwritten; /* nor was anything written so */

static void *
give(void *ctx, size_t n)
{
	void *p = calls_left ? malloc(n ? n : 1) : NULL;

	(void)ctx;
	if (calls_left)
		calls_left--;
	n_live += p != NULL;
	return p;
}

static void
take(void *ctx, void *p, size_t n)
{
	(void)ctx;
	(void)n;
	n_live--;
	free(p);
}

/* Below n; the newest file says which. */
static size_t
next_number(size_t n)
{
	/* Knuth's numbers for MMIX. */
	seed = seed * UINT64_C(6364136223846793005) +
	       UINT64_C(1442695040888963407);
	return (size_t)(seed >> 33) % n;
}

const struct tp_alloc *
fuzz_failing(void)
{
	static const struct tp_alloc failing = {.alloc = give, .free = take};

	calls_left = next_number(2) ? next_number(24) : next_number(256);
	return &failing;
}

void
fuzz_failed(void)
{
	MUST(n_live == 0);
}

static void
choose_failure(const uint8_t *data, size_t n)
{
	seed = n;
	for (size_t i = 0; i < n; i += n / 16 + 1)
		seed = seed * 31 + data[i];
	is_new = is_unwritten = true;
}

/* Where little is asked for. */
static void
few_calls(void)
{
	calls_left = next_number(8);
}

/* A tp_onnx_problem_fn. */
static void
count_problem(
    void *ctx, bool is_error, struct tp_str scope, const char *message)
{
	(void)is_error;
	(void)scope;
	MUST(message[0]);
	++*(size_t *)ctx;
}

const char *
fuzz_file(const char *name, const void *data, size_t n)
{
	const char *path = fuzz_path(name);
	FILE *f = fopen(path, "wb");

	MUST(f);
	MUST(fwrite(data, 1, n, f) == n);
	MUST(fclose(f) == 0);
	choose_failure(data, n);
	return path;
}

/* Whatever an open reader makes, and may fail to. */
static void
use_without_memory(struct tp_reader *r)
{
	struct tp_onnx_summary *summary = NULL;
	struct tp_err err = TP_ERR_INIT;
	struct tp_strings *strings = NULL;
	struct tp_attachment a;
	size_t n = 0;

	MUST_OK(tp_strings_new(NULL, FUZZ_TENSOR_BYTES, &strings, &err), &err);
	for (size_t i = 0; i < tp_reader_n_entries(r) && i < 4; i++) {
		struct tp_tensor *t = NULL;
		struct tp_stream *stream = NULL;
		struct tp_value value = tp_value_of(NULL);
		uint8_t byte;

		if (tp_reader_entry(r, i)->nbytes > FUZZ_TENSOR_BYTES)
			continue;
		few_calls();
		MUST(
		    (tp_reader_tensor(r, i, &t, &err) == TP_OK) == (t != NULL));
		tp_tensor_free(t);
		few_calls();
		(void)!tp_reader_value(r, i, strings, &value, &err);
		tp_value_release(&value);
		few_calls();
		if (!tp_stream_entry(r, i, &stream, &err) &&
		    tp_stream_left(stream))
			(void)!tp_stream_read(stream, &byte, 1, &err);
		tp_stream_close(stream);
	}
	(void)fuzz_failing();
	if (tp_reader_n_attachments(r))
		(void)!tp_reader_attachment(r, 0, &a, &err);
	(void)!tp_onnx_summary_new(r, &summary, &err);
	tp_onnx_summary_free(summary);
	(void)!tp_onnx_check(r, count_problem, &n, &err);
	tp_strings_free(strings);
}

/* A tp_warn_fn. */
static void
hear(void *ctx, const char *path, const char *message)
{
	(void)ctx;
	MUST(path[0] && message[0]);
}

static struct tp_open_options
options_of(const char *format, unsigned flags)
{
	return (struct tp_open_options){
	    .format = format,
	    .limits = {.expansion = FUZZ_EXPANSION},
	    .flags = flags,
	    .warn = hear,
	};
}

void
fuzz_open_failing(const char *path, const char *format, unsigned flags)
{
	struct tp_open_options o = options_of(format, flags);
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	enum tp_status rc;

	o.alloc = fuzz_failing();
	rc = tp_open(path, &o, &r, &err);
	MUST((rc == TP_OK) == (r != NULL));
	MUST(rc == TP_OK || err.msg[0]);
	if (r)
		use_without_memory(r);
	tp_close(r);
	fuzz_failed();
	is_new = false;
}

struct tp_reader *
fuzz_open(
    const char *path, const char *format, unsigned flags, struct tp_err *err)
{
	const struct tp_open_options o = options_of(format, flags);
	struct fuzz_cost cost = {0, 0};
	struct tp_reader *r = NULL;
	enum tp_status rc;

	if (is_new)
		fuzz_open_failing(path, format, flags);
	fuzz_begin();
	rc = tp_open(path, &o, &r, err);
	fuzz_end(&cost, "opening");
	MUST((rc == TP_OK) == (r != NULL));
	MUST(rc == TP_OK || err->msg[0]);
	return r;
}

/* All bytes of entry i, or NULL: *rc says why. Its cost is added. */
static uint8_t *
read_streamed(
    struct tp_reader *r, size_t i, enum tp_status *rc, struct fuzz_cost *cost)
{
	uint64_t nbytes = tp_reader_entry(r, i)->nbytes, at = 0;
	bool keep = nbytes <= FUZZ_TENSOR_BYTES;
	uint8_t *all = malloc(keep ? (size_t)nbytes + 1 : 1), chunk[CHUNK];
	struct tp_err err = TP_ERR_INIT;
	struct tp_stream *s = NULL;

	MUST(all);
	fuzz_begin();
	*rc = tp_stream_entry(r, i, &s, &err);
	while (!*rc && at < nbytes && at < 9 * FUZZ_TENSOR_BYTES) {
		size_t n = nbytes - at < CHUNK ? (size_t)(nbytes - at) : CHUNK;

		*rc = tp_stream_read(s, chunk, n, &err);
		if (!*rc && keep)
			memcpy(all + at, chunk, n);
		at += n;
	}
	tp_stream_close(s);
	fuzz_end(cost, "reading tensors");
	MUST(!*rc || err.msg[0]);
	if (!*rc && keep)
		return all;
	free(all);
	return NULL;
}

uint8_t *
fuzz_drain(struct tp_stream *s)
{
	size_t n = (size_t)tp_stream_nbytes(s);
	struct tp_err err = TP_ERR_INIT;
	uint8_t *bytes = malloc(n + 1);
	enum tp_status rc;

	MUST(bytes);
	rc = tp_stream_read(s, bytes, n, &err);
	tp_stream_close(s);
	if (!rc)
		return bytes;
	MUST(err.msg[0]);
	free(bytes);
	return NULL;
}

uint8_t *
fuzz_packed(const struct tp_tensor *t, uint64_t nbytes)
{
	struct tp_strided s = tp_tensor_strided(t);
	uint8_t *packed = calloc((size_t)nbytes + 1, 1);

	MUST(packed);
	tp_gather(&s, 0, (size_t)tp_tensor_numel(t), packed);
	return packed;
}

bool
fuzz_is_countable(const struct tp_entry *e)
{
	for (unsigned d = 0; d < e->rank; d++)
		if ((uint64_t)e->shape[d] > PTRDIFF_MAX)
			return false;
	return true;
}

/* Elements in this machine's byte order as they stand in streams. */
static void
to_little(enum tp_dtype dtype, uint8_t *p, uint64_t nbytes)
{
	size_t size = tp_dtype_bits(dtype) / 8;

	if (tp_dtype_kind(dtype) == TP_KIND_COMPLEX)
		size /= 2;
	if (size > 1 && !tp_host_is_little())
		tp_swap_bytes(p, (size_t)nbytes / size, size);
}

static void
check_tensor(struct tp_reader *r, size_t i, const uint8_t *bytes)
{
	const struct tp_entry *e = tp_reader_entry(r, i);
	struct tp_err err = TP_ERR_INIT;
	struct tp_tensor *t = NULL;
	uint8_t *packed;

	if (!fuzz_is_countable(e)) {
		MUST(tp_reader_tensor(r, i, &t, &err) == TP_ELIMIT);
		return;
	}
	MUST_OK(tp_reader_tensor(r, i, &t, &err), &err);
	MUST(tp_tensor_dtype(t) == e->dtype);
	MUST(tp_tensor_rank(t) == e->rank);
	MUST(tp_tensor_numel(t) == e->n_elems);
	packed = fuzz_packed(t, e->nbytes);
	to_little(e->dtype, packed, e->nbytes);
	MUST(!memcmp(packed, bytes, (size_t)e->nbytes));
	free(packed);
	tp_tensor_free(t);
}

static void
walk_entry(struct tp_reader *r, size_t i, struct fuzz_cost *cost)
{
	const struct tp_entry *e = tp_reader_entry(r, i);
	enum tp_status rc;
	uint8_t *bytes;

	MUST(e->rank <= TP_MAX_RANK);
	MUST(e->storage < tp_reader_n_storages(r));
	MUST(tp_reader_find(r, e->name) == i);
	bytes = read_streamed(r, i, &rc, cost);
	if (bytes && e->dtype != TP_DTYPE_STRING)
		check_tensor(r, i, bytes);
	free(bytes);
}

void
fuzz_walk(struct tp_reader *r)
{
	struct fuzz_cost telling = {0, 0}, reading = {0, 0};
	uint64_t nbytes;

	MUST(tp_reader_format(r));
	fuzz_ask(r);
	for (size_t i = 0; tp_reader_file(r, i, &nbytes); i++)
		MUST(nbytes <= INT64_MAX);
	for (size_t i = 0; i < tp_reader_n_meta(r); i++)
		MUST(tp_reader_meta(r, i)->key.s);
	for (size_t i = 0; i < tp_reader_n_attachments(r); i++) {
		struct tp_attachment a;
		struct tp_err err = TP_ERR_INIT;

		enum tp_status rc;

		fuzz_begin();
		rc = tp_reader_attachment(r, i, &a, &err);
		fuzz_end(&telling, "making attachments");
		MUST(!rc || err.msg[0]);
	}
	for (size_t i = 0; i < tp_reader_n_entries(r) && i < 1000; i++)
		walk_entry(r, i, &reading);
}

/* What a failing reader over r says; and what it would attach. */
static void
check_failing(enum tp_status rc, struct tp_reader *q, struct tp_err *err)
{
	struct tp_attachment a;

	MUST((rc == TP_OK) == (q != NULL));
	MUST(rc == TP_OK || err->msg[0]);
	if (q && tp_reader_n_attachments(q))
		(void)!tp_reader_attachment(q, 0, &a, err);
	tp_close(q);
	fuzz_failed();
}

void
fuzz_quantize_failing(
    struct tp_reader *r, const struct tp_quantize_options *options)
{
	struct tp_quantize_options o = *options;
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *q = NULL;
	enum tp_status rc;

	o.alloc = fuzz_failing();
	rc = tp_quantize_reader(r, &o, &q, &err);
	check_failing(rc, q, &err);
	o.recipe = NULL;
	o.alloc = fuzz_failing();
	rc = tp_dequantize_reader(r, &o, &q, &err);
	check_failing(rc, q, &err);
}

/* A file that is written while memory ends: an error with a reason, no leak. */
static void
transfer_without_memory(struct tp_reader *r, const char *path,
    const struct tp_transfer_options *options)
{
	struct tp_transfer_options o = *options;
	struct tp_transfer *t = NULL;
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	o.create.alloc = fuzz_failing();
	o.n_threads = 1;
	rc = tp_transfer_plan(&r, 1, path, &o, &t, &err);
	MUST((rc == TP_OK) == (t != NULL));
	if (!rc && tp_transfer_nbytes(t) <= FUZZ_TENSOR_BYTES)
		rc = tp_transfer_run(t, &err);
	MUST(rc == TP_OK || err.msg[0]);
	tp_transfer_free(t);
	fuzz_failed();
	is_unwritten = false;
}

bool
fuzz_transfer(struct tp_reader *r, const char *path,
    const struct tp_transfer_options *o, struct tp_transfer **out,
    struct tp_err *err)
{
	struct fuzz_cost planning = {0, 0}, writing = {0, 0};
	enum tp_status rc;

	if (is_unwritten)
		transfer_without_memory(r, path, o);
	fuzz_begin();
	rc = tp_transfer_plan(&r, 1, path, o, out, err);
	fuzz_end(&planning, "planning");
	if (rc || tp_transfer_nbytes(*out) > 4 * FUZZ_TENSOR_BYTES)
		return false;
	fuzz_begin();
	rc = tp_transfer_run(*out, err);
	fuzz_end(&writing, "writing");
	if (rc)
		return false;
	MUST_OK(tp_transfer_verify(*out, err), err);
	return true;
}
