/* SPDX-License-Identifier: Apache-2.0 */
/* cli_json.c - members of JSON objects */
#include "cli_json.h"

#include "tp/version.h"

int
cli_json_write(void *ctx, const char *s, size_t n)
{
	return fwrite(s, 1, n, ctx) == n ? 0 : -1;
}

void
cli_json_begin(struct tp_json *j, FILE *out, const char *program)
{
	tp_json_init(j, cli_json_write, out, TP_JSON_PRETTY);
	tp_json_object_begin(j);
	cli_json_text(j, "program", program);
	cli_json_text(j, "version", TP_VERSION_STRING);
}

void
cli_json_end(struct tp_json *j)
{
	tp_json_object_end(j);
	(void)!tp_json_finish(j);
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
cli_json_str(struct tp_json *j, const char *key, struct tp_str value)
{
	tp_json_key(j, key);
	tp_json_str(j, value);
}

void
cli_json_u64(struct tp_json *j, const char *key, uint64_t value)
{
	tp_json_key(j, key);
	tp_json_u64(j, value);
}

void
cli_json_i64(struct tp_json *j, const char *key, int64_t value)
{
	tp_json_key(j, key);
	tp_json_i64(j, value);
}

void
cli_json_bool(struct tp_json *j, const char *key, bool value)
{
	tp_json_key(j, key);
	tp_json_bool(j, value);
}

void
cli_json_double(struct tp_json *j, const char *key, double value)
{
	tp_json_key(j, key);
	tp_json_double(j, value);
}

void
cli_json_sizes(
    struct tp_json *j, const char *key, const int64_t *sizes, unsigned rank)
{
	tp_json_key(j, key);
	tp_json_row_begin(j);
	for (unsigned i = 0; i < rank; i++)
		tp_json_i64(j, sizes[i]);
	tp_json_array_end(j);
}

void
cli_json_error(struct tp_json *j, const struct tp_err *err, const char *path)
{
	tp_json_key(j, "error");
	tp_json_object_begin(j);
	cli_json_text(j, "kind", tp_status_text(err->status));
	cli_json_text(j, "message", err->msg);
	cli_json_text(j, "path", path);
	tp_json_key(j, "offset");
	if (err->offset == TP_NO_OFFSET)
		tp_json_null(j);
	else
		tp_json_u64(j, err->offset);
	tp_json_object_end(j);
}

void
cli_json_file(struct tp_json *j, const char *path, uint64_t nbytes)
{
	tp_json_object_begin(j);
	cli_json_text(j, "path", path);
	cli_json_u64(j, "bytes", nbytes);
	tp_json_object_end(j);
}

void
cli_json_meta(struct tp_json *j, const struct tp_meta *meta)
{
	tp_json_object_begin(j);
	cli_json_str(j, "key", meta->key);
	cli_json_str(j, "value", meta->value);
	tp_json_object_end(j);
}
