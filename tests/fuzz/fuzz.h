/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - what the fuzz targets share
 *
 * A target is one file with fuzz_input. libFuzzer calls it with what it makes
 * up
 * (./dev fuzz); replay.c, with the files of the corpus: then it is an ordinary
 * test. A target aborts when a promise is broken, through MUST; what a file may
 * take is promised too (fuzz_limits.c), for what lies between fuzz_begin and
 * fuzz_end.
 *
 * Files live in a folder of memory, under names that are the same every time.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tp/format.h"

/* The target. */
void fuzz_input(const uint8_t *data, size_t n);

/* What calls it, and looks at what it took. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/*
 * Around an operation that must be cheap. Its cost is added to what it did cost
 * before, zeros at first: time sums up, of memory the most counts.
 */
struct fuzz_cost {
	double ms;
	long kib;
};
void fuzz_begin(void);
void fuzz_end(struct fuzz_cost *cost, const char *what);

/* The most that any operation did cost. */
struct fuzz_cost fuzz_most(void);

/* A promise; what is broken is printed before the end. */
#define MUST(promise)                                                    \
	do {                                                             \
		if (!(promise)) {                                        \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, \
			    __LINE__, #promise);                         \
			abort();                                         \
		}                                                        \
	} while (0)

/* The same for a status; err has the message. */
#define MUST_OK(rc, err)                                                 \
	do {                                                             \
		if (rc) {                                                \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, \
			    __LINE__, (err)->msg);                       \
			abort();                                         \
		}                                                        \
	} while (0)

/* The path of a file in the folder; valid until the fourth call from now. */
const char *fuzz_path(const char *name);

/* Makes such a file; returns its path. */
const char *fuzz_file(const char *name, const void *data, size_t n);

/* A limit that suits small files. */
#define FUZZ_EXPANSION 256

/*
 * A new file is opened while memory ends: an error with a reason, no leak.
 * fuzz_open begins with that once for each file that was made.
 */
void fuzz_open_failing(const char *path, const char *format, unsigned flags);

/* tp_open with that limit. NULL: refused, *err says why. */
struct tp_reader *fuzz_open(
    const char *path, const char *format, unsigned flags, struct tp_err *err);

/*
 * Look at everything a reader tells and read every tensor, streamed and, up to
 * FUZZ_TENSOR_BYTES, in memory: both must be equal, and say the same of errors.
 */
#define FUZZ_TENSOR_BYTES ((uint64_t)1 << 20)
void fuzz_walk(struct tp_reader *r);

/* All bytes of a stream, which is closed; NULL: unreadable, with a reason. */
struct tp_stream;
uint8_t *fuzz_drain(struct tp_stream *s);

/* The packed elements of a tensor in the machine's byte order. */
struct tp_tensor;
uint8_t *fuzz_packed(const struct tp_tensor *t, uint64_t nbytes);

/*
 * False if this machine's indices are too short for an axis: no tensor holds
 * it.
 */
bool fuzz_is_countable(const struct tp_entry *e);

/* r is narrowed and widened while memory ends. */
struct tp_quantize_options;
void fuzz_quantize_failing(
    struct tp_reader *r, const struct tp_quantize_options *options);

/*
 * Transfer a model, if no more than 4 * FUZZ_TENSOR_BYTES are to be written;
 * then what was written must be what was planned. The plan is to be freed in
 * any case.
 */
struct tp_transfer;
struct tp_transfer_options;
bool fuzz_transfer(struct tp_reader *r, const char *path,
    const struct tp_transfer_options *o, struct tp_transfer **out,
    struct tp_err *err);

/*
 * An allocator that fails sooner or later: when, the bytes of the newest file
 * say, so the same input fails at the same place. At the end nothing of it may
 * be left.
 */
const struct tp_alloc *fuzz_failing(void);
void fuzz_failed(void);

/*
 * What r reads, the file of these bytes opened with flags, in other ways: from
 * standard input, as a file or through a pipe, it is the same; cut while it is
 * open, it is the same or an error.
 */
#define FUZZ_STDIN 16
#define FUZZ_PIPE 32
#define FUZZ_CUT 64
void fuzz_other_ways(struct tp_reader *r, const uint8_t *data, size_t n,
    unsigned flags, unsigned how);

/*
 * What only asks for trouble: indices past the end, axes that are not there,
 * strings as numbers. And what has no other caller here.
 */
void fuzz_ask(struct tp_reader *r);

/* The last byte of an input chooses options; it is taken off. */
static inline unsigned
fuzz_choice(const uint8_t *data, size_t *n)
{
	return *n ? data[--*n] : 0;
}

#endif
