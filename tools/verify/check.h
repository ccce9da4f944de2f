/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - parts of `tp-verify check`
 *
 * check.c		options, files, what is told
 * check_read.c		every byte of every tensor
 */
#ifndef VERIFY_CHECK_H
#define VERIFY_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/format.h"
#include "tp/scan.h"

#include "cli.h"

extern const struct cli_app check_app;
int check_run(int n_args, char **argv);

/* What reading a tensor has shown. */
struct check_result {
	struct tp_err *err; /* NULL: it could be read */
	struct tp_scan scan;
};

struct check_file {
	struct tp_reader *r;
	size_t *entries; /* that were chosen, in the order of the file */
	size_t n;
	struct check_result *results; /* of each */
	struct tp_err **storage_errs; /* of each storage, or NULL */
	size_t n_storages, n_checksums, n_unchecked;
	size_t n_all; /* entries */
};

/*
 * Read all tensors that were chosen and compare all checksums they are under.
 * TP_ENOMEM.
 */
enum tp_status check_read(struct check_file *f, struct tp_err *err);
void check_release(struct check_file *f);

#endif
