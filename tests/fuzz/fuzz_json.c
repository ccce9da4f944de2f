/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_json.c - strict JSON: what we accept, cJSON reads; trees are what it
 * says */
#include "fuzz.h"

#include <string.h>

#include "formats/json.h"

/* Go through one object with every kind of access in turn. */
static enum tp_status
walk_object(struct tpi_json *j, unsigned how, struct tp_err *err)
{
	enum tp_status rc = tpi_json_object(j, err);
	struct tp_str key, text;
	const cJSON *tree;
	uint64_t value;
	bool more = true;

	while (!rc) {
		rc = tpi_json_member(j, &more, &key, err);
		if (rc || !more)
			break;
		switch (how++ % 4) {
		case 0:
			rc = tpi_json_skip(j, err);
			break;
		case 1:
			rc = tpi_json_take(j, 1000, &tree, err);
			if (!rc && tree && tpi_json_u64(tree, &value))
				MUST(tpi_json_whole(tree, &value));
			break;
		case 2:
			rc = tpi_json_string(j, &text, err);
			break;
		default:
			rc = j->n_levels < TPI_JSON_LEVELS
				 ? walk_object(j, how, err)
				 : tpi_json_skip(j, err);
		}
	}
	return rc;
}

/* The whole text as one value. */
static void
scan_all(const char *text, size_t n)
{
	struct tp_err err = TP_ERR_INIT;
	struct tpi_json_extent x;
	struct tpi_json j;
	enum tp_status rc = tpi_json_init(&j, NULL, text, n, 0, &err);

	if (!rc)
		rc = tpi_json_scan(&j, &x, &err);
	if (!rc)
		rc = tpi_json_end(&j, &err);
	if (!rc) {
		cJSON *tree = cJSON_ParseWithLength(text, n);

		/*
		 * cJSON stops a string at U+0000 and knows no deeper nesting.
		 */
		MUST(tree || strstr(text, "u0000"));
		cJSON_Delete(tree);
	} else {
		MUST(err.msg[0]);
	}
	tpi_json_release(&j);
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	struct tp_err err = TP_ERR_INIT;
	unsigned how = fuzz_choice(data, &n);
	struct fuzz_cost cost = {0, 0};
	char *text = malloc(n + 1);
	struct tpi_json j;

	MUST(text);
	memcpy(text, data, n);
	text[n] = 0;
	scan_all(text, n);
	fuzz_begin();
	if (!tpi_json_init(&j, NULL, text, n, 0, &err))
		if (!walk_object(&j, how, &err))
			(void)!tpi_json_end(&j, &err);
	tpi_json_release(&j);
	fuzz_end(&cost, "parsing");
	free(text);
}
