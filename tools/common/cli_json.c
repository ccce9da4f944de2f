/* SPDX-License-Identifier: Apache-2.0 */
/* cli_json.c - members of JSON objects */
#include "cli_json.h"

#include <stdio.h>

int
cli_json_write(void *ctx, const char *s, size_t n)
{
	return fwrite(s, 1, n, ctx) == n ? 0 : -1;
}

void
cli_json_text(struct tp_json *j, const char *key, const char *value)
{
	tp_json_key(j, key);
	if (value)
		tp_json_text(j, value);
	else
		tp_json_null(j);
}

void
cli_json_u64(struct tp_json *j, const char *key, uint64_t value)
{
	tp_json_key(j, key);
	tp_json_u64(j, value);
}
