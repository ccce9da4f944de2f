/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - what the command line says about each tensor
 *
 * Patterns of --include, --exclude and --dtype see the names of the input. The
 * renaming options then apply one after the other, as they were given.
 */
#ifndef CONVERT_RULES_H
#define CONVERT_RULES_H

#include <stdbool.h>

#include "tp/transfer.h"

#include "cli.h"
#include "glob.h"
#include "rename.h"

struct rules {
	struct cli_filter filter;
	struct cli_list dtype;
	struct cli_list rename; /* --rename, --strip-prefix, --add-prefix */

	struct dtype_rule {
		struct tp_str pattern; /* .s NULL: of its kind */
		const char *text;
		enum tp_dtype dtype;
		size_t n_used;
	} * dtypes;
	struct rename_rule *renames;
	size_t n_other_kind; /* tensors that a TYPE without GLOB passed over */
	size_t n_kept, n_dropped; /* tensors, by the filter */
};

/*
 * Read the lists; NULL, or what is wrong with one (good until the next call).
 */
const char *rules_parse(struct rules *r);
void rules_release(struct rules *r);

/* A tp_choose_fn; ctx is the rules. */
enum tp_status rules_choose(void *ctx, const struct tp_reader *reader,
    size_t entry, struct tp_choice *choice, struct tp_err *err);

/*
 * After all tensors were seen: a --rename OLD=NEW that no tensor answered to
 * fails; patterns that matched nothing are said on stderr.
 */
enum tp_status rules_finish(const struct rules *r, struct tp_err *err);

#endif
