/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - parts of `tp-verify diff`
 *
 * diff.c		options, files, the run
 */
#ifndef VERIFY_DIFF_H
#define VERIFY_DIFF_H

#include "cli.h"

extern const struct cli_app diff_app;
int diff_run(int n_args, char **argv);

#endif
