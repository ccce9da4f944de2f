/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_spool.h - values of a run, kept in a file instead of memory
 *
 * The file has no name and is gone with the spool. Sequences and optionals
 * become the tensors in them: "s[0]", "s[1]". A name that was there before gets
 * "#2", "#3", …, as the body of a loop gives its values again and again.
 */
#ifndef VERIFY_RUN_SPOOL_H
#define VERIFY_RUN_SPOOL_H

#include "tp/error.h"
#include "tp/strings.h"
#include "tp/value.h"

struct run_spool;

enum tp_status run_spool_new(struct run_spool **out, struct tp_err *err);
void run_spool_free(struct run_spool *s); /* NULL is allowed */

/* Nothing happens for a value that is NONE. */
enum tp_status run_spool_add(struct run_spool *s, struct tp_str name,
    const struct tp_value *v, const struct tp_strings *strings,
    struct tp_err *err);

/*
 * Read back what was added by that name: the first time this is called the
 * first, then that with "#2", and so on. *kept is its name, borrowed. NONE if
 * there is no more, and for strings.
 */
enum tp_status run_spool_next(struct run_spool *s, struct tp_str name,
    struct tp_str *kept, struct tp_value *out, struct tp_err *err);

/*
 * All of them as a file in the native format, which must not be there yet; a
 * message names it.
 */
enum tp_status run_spool_write(struct run_spool *s, const char *path,
    const char *model, struct tp_err *err);

#endif
