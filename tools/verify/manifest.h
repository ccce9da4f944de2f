/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h - `tp-verify manifest` */
#ifndef VERIFY_MANIFEST_H
#define VERIFY_MANIFEST_H

#include "cli.h"

extern const struct cli_app manifest_app;
int manifest_run(int n_args, char **argv);

#endif
