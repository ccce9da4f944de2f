/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect.h - the parts of tp-inspect
 *
 * One file is opened, its tensors are chosen and ordered (select.c), and each
 * thing that was asked for is a section: a function that prints it. With --json
 * the same facts go into one document (json.c).
 */
#ifndef INSPECT_H
#define INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/format.h"
#include "tp/json.h"
#include "tp/stats.h"

#include "cli.h"
#include "glob.h"
#include "sha256.h"

enum inspect_sort { SORT_FILE, SORT_NAME, SORT_SIZE, SORT_OFFSET };

struct inspect_options {
	bool all_columns; /* --long */
	bool tree, metadata, graph, stats, histogram, hash;
	struct cli_list values;
	int sort;
	const char *from;
	struct cli_filter filter;
};
extern struct inspect_options inspect_options;

/* An open file and what was chosen of it. */
struct inspect_file {
	const char *path;
	struct tp_reader *r;
	size_t *order; /* entries in the order in which they are shown */
	size_t n;
	uint32_t *sharers; /* for each storage: how many entries lie in it */
	int status;	   /* the worst that happened, enum cli_exit */
};

/* Fill order and sharers; false when there is no memory (reported). */
bool inspect_select(struct inspect_file *f);
void inspect_select_release(struct inspect_file *f);

static inline const struct tp_entry *
inspect_entry(const struct inspect_file *f, size_t i)
{
	return tp_reader_entry(f->r, f->order[i]);
}

/*
 * Where the first element of an entry lies: true if there is one place, that
 * is, a storage that lies in the file as it is.
 */
bool inspect_offset(
    const struct inspect_file *f, const struct tp_entry *e, uint64_t *offset);

/* The largest power of two, up to 64 KiB, that divides the offset. */
uint64_t inspect_alignment(uint64_t offset);

/* Sums over the chosen tensors. */
struct inspect_totals {
	struct inspect_total {
		uint64_t tensors, elements, nbytes;
	} all, by_dtype[TP_DTYPE_COUNT];
	uint64_t shared_nbytes; /* what is counted more than once in nbytes */
};
void inspect_count(const struct inspect_file *f, struct inspect_totals *t);

/*
 * What must be computed from the bytes of a tensor. err.status is not TP_OK
 * when they could not be read; the rest is then empty.
 */
struct inspect_result {
	struct tp_err err;
	bool has_stats, has_histogram, has_hash;
	struct tp_stats stats;
	struct tp_histogram histogram;
	uint8_t hash[SHA256_SIZE];
};

/*
 * Results for chosen tensors in order: some are computed ahead, in parallel.
 * inspect_results_get must be called with i = 0, 1, 2, …
 */
struct inspect_results {
	struct inspect_file *f;
	size_t begin, end; /* those that are ready */
	struct inspect_result *ready;
	void *buffer;
	size_t buffer_size;
	unsigned n_threads;
};
bool inspect_results_init(struct inspect_results *x, struct inspect_file *f);
const struct inspect_result *inspect_results_get(
    struct inspect_results *x, size_t i);
void inspect_results_release(struct inspect_results *x);

/*
 * Statistics of an entry that lies in the file as it is, without a checksum to
 * compare; the same bits as from a stream, sooner.
 */
bool inspect_can_measure_raw(
    const struct inspect_file *f, const struct tp_entry *e);
enum tp_status inspect_measure_raw(const struct inspect_results *x,
    const struct tp_entry *e, struct tp_stats *stats, struct tp_err *err);

/* Any other entry: its statistics, or, if it is not NULL, the histogram. */
enum tp_status inspect_measure_stream(const struct inspect_results *x,
    size_t entry, struct tp_stats *stats, struct tp_histogram *histogram,
    struct tp_err *err);

/* Text of a shape with all its axes, and the columns it takes. */
void inspect_put_sizes(FILE *out, const int64_t *sizes, unsigned rank);
size_t inspect_sizes_width(const int64_t *sizes, unsigned rank);

/* Sections. */
void inspect_list(struct inspect_file *f);
void inspect_put_totals(struct inspect_file *f);
void inspect_tree(struct inspect_file *f);
void inspect_metadata(struct inspect_file *f);
void inspect_graph(struct inspect_file *f);
void inspect_values(struct inspect_file *f);
/* --stats, --histogram, --hash: one pass over the chosen tensors. */
void inspect_measured(struct inspect_file *f);
void inspect_put_histogram(FILE *out, const struct tp_histogram *h);

/* One file in the document; err instead of f when it could not be opened. */
void inspect_json_file(struct tp_json *j, struct inspect_file *f);
void inspect_json_failed(
    struct tp_json *j, const char *path, const struct tp_err *err);
void inspect_json_graph(struct tp_json *j, struct inspect_file *f);
void inspect_json_values(struct tp_json *j, struct inspect_file *f);
void inspect_json_error(struct tp_json *j, const struct tp_err *err);

#endif
