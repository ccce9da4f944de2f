/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_plan.c - plans: what is read can be written and read again, the same,
 * from memory and from a file
 */
#include "fuzz.h"

#include <string.h>

#include "formats/quantize_plan.h"

#define HEADER                                                                \
	"{\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}," \
	"\"b\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[24,26]}}"

struct text {
	size_t n;
	char s[1024];
};

/* A tp_json_write_fn. */
static int
append(void *ctx, const char *s, size_t n)
{
	struct text *t = ctx;

	MUST(n <= sizeof(t->s) - t->n);
	memcpy(t->s + t->n, s, n);
	t->n += n;
	return 0;
}

static void
write_plan(const struct tp_plan *plan, struct text *t)
{
	struct tp_json j;

	t->n = 0;
	tp_json_init(&j, append, t, TP_JSON_COMPACT);
	tp_plan_write(plan, &j);
	MUST(tp_json_finish(&j) == 0);
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	char file[8 + sizeof(HEADER) - 1 + 26] = {sizeof(HEADER) - 1};
	struct tp_err err = TP_ERR_INIT;
	struct tp_plan *plan = NULL;
	struct tp_reader *r;
	struct text once, again;
	struct fuzz_cost cost = {0, 0};
	enum tp_status rc;

	memcpy(file + 8, HEADER, sizeof(HEADER) - 1);
	r = fuzz_open(
	    fuzz_file("model.safetensors", file, sizeof(file)), NULL, 0, &err);
	MUST(r);
	MUST_OK(tp_plan_new(NULL, r, &plan, &err), &err);
	fuzz_begin();
	rc = tpi_plan_parse(plan, (const char *)data, n, &err);
	fuzz_end(&cost, "parsing");
	MUST(tp_plan_read(plan, fuzz_file("plan.json", data, n), &err) == rc);
	if (rc) {
		MUST(err.msg[0]);
	} else {
		write_plan(plan, &once);
		MUST_OK(tp_plan_read(
			    plan, fuzz_file("once.json", once.s, once.n), &err),
		    &err);
		write_plan(plan, &again);
		MUST(once.n == again.n && !memcmp(once.s, again.s, once.n));
	}
	tp_plan_free(plan);
	tp_close(r);
}
