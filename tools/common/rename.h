/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rename.h - names changed by the command line
 *
 *	s/RE/NEW/	what a PCRE2 pattern matches becomes NEW
 *	OLD=NEW		one name becomes another
 *	prefixes	are removed or put in front
 *
 * Rules form a list and apply one after the other, in the order given.
 */
#ifndef CLI_RENAME_H
#define CLI_RENAME_H

#include <stdbool.h>
#include <stddef.h>

#include "tp/error.h"

#include "cli.h"

struct rename_rule;

/*
 * All rules of a list whose options are --rename, --strip-prefix and
 * --add-prefix. NULL, or what is wrong with the item *at; *out is to be freed
 * in both cases.
 */
const char *rename_parse(const struct cli_list *list, struct rename_rule **out,
    const struct cli_list_item **at);
/* NULL is allowed. */
void rename_free(struct rename_rule *rules);

/*
 * The name after all rules, in a buffer of the rules that the next call may
 * reuse.
 */
enum tp_status rename_apply(struct rename_rule *rules, struct tp_str name,
    struct tp_str *out, struct tp_err *err);

/*
 * After all names were seen: TP_ENOTFOUND for an OLD=NEW that none answered to;
 * other rules that changed nothing are said on stderr.
 */
enum tp_status rename_finish(
    const struct rename_rule *rules, struct tp_err *err);

#endif
