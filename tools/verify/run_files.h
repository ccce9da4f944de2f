/* SPDX-License-Identifier: Apache-2.0 */
/* run_files.h - values from files that the command line names */
#ifndef VERIFY_RUN_FILES_H
#define VERIFY_RUN_FILES_H

#include "tp/format.h"
#include "tp/strings.h"
#include "tp/value.h"

#include "cli.h"
#include "sandbox.h"

/*
 * FILE, FILE:TENSOR: a tensor of any supported file, which must be named unless
 * it is the only one; or a FILE.pb that is one TensorProto. The file's own name
 * may hold colons. Messages name it.
 */
enum tp_status run_files_value(const char *text, struct tp_strings *strings,
    struct tp_value *out, struct tp_err *err);

/*
 * The files that such texts name are read in a sandbox too. after: each text
 * begins behind the first of these characters; NULL: at once.
 */
void run_files_plan(
    const struct cli_list *texts, const char *after, struct sandbox_plan *plan);

/*
 * The tensors of a file by the names of n values: those that are NONE and that
 * the file has are filled in; *n_found counts them.
 */
typedef struct tp_str run_name_fn(const void *ctx, size_t k);
enum tp_status run_files_fill(const char *path, run_name_fn *name,
    const void *ctx, struct tp_strings *strings, struct tp_value *values,
    size_t n, size_t *n_found, struct tp_err *err);

#endif
