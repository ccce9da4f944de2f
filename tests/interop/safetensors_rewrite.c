/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors_rewrite.c - files into files, for judges in other languages
 *
 *	safetensors_rewrite < lines of "INPUT TAB OUTPUT"
 *
 * Prints for each line "ok", or "refused" and the message. Exits with 1 when a
 * file was read but could not be written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rewrite.h"

int
main(void)
{
	const struct tp_open_options open = {.format = "safetensors"};
	const struct tp_create_options create = {.force = true};
	char line[4096];
	int status = 0;

	while (fgets(line, sizeof(line), stdin)) {
		struct tp_err err = TP_ERR_INIT;
		struct tp_reader *r = NULL;
		char *out = strchr(line, '\t');

		if (!out)
			return 2;
		*out++ = '\0';
		out[strcspn(out, "\n")] = '\0';
		if (tp_open(line, &open, &r, &err)) {
			printf("refused %s\n", err.msg);
			continue;
		}
		if (rewrite(r, out, &create, &err)) {
			printf("failed %s\n", err.msg);
			status = 1;
		} else {
			printf("ok\n");
		}
		tp_close(r);
	}
	return status;
}
