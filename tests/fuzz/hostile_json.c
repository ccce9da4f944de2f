/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile_json.c - documents: begin, as often as it fits something with a
 * number
 * (#), end
 */
#include "hostile_text.h"

#include <stdio.h>

#include "tp/endian.h"

/* The text; k stands for each # in it. */
static void
put_text(struct text *t, const char *s, size_t k)
{
	for (; *s; s++) {
		char number[24];

		snprintf(number, sizeof(number), "%05zu", k);
		if (*s == '#')
			put(t, number, strlen(number));
		else
			put(t, s, 1);
	}
}

static const struct {
	const char *name, *begin, *again, *end;
} documents[] = {
    {"tensors", "{",
	"\"#\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},",
	"\"\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"},
    {"metadata", "{\"__metadata__\":{", "\"#\":\"\",", "\"\":\"\"}}"},
    {"sizes", "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0],\"shape\":[",
	"0,", "0]}}"},
    {"one name", "{", "\"a\":{},", "\"a\":{}}"},
    {"nesting", "{\"a\":", "[", "}"},
    {"nesting of objects", "{\"a\":", "{\"\":", "}"},
    {"a name of escapes", "{\"", "\\u00e9",
	"\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"},
    {"a long number", "{\"a\":{\"dtype\":\"U8\",\"shape\":[", "9", "]}}"},
    {"a long exponent", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1e", "9", "]}}"},
    {"spaces", "{", "    ", "}"},
    {"a shard for each tensor", "{\"weight_map\":{",
	"\"#\":\"s-00001-of-00002.safetensors\",", "\"\":\"s\"}}"},
    {"shards that are not there", "{\"weight_map\":{",
	"\"#\":\"s-#-of-02000.safetensors\",", "\"\":\"s\"}}"},
    {"schemes", "{\"version\":1,\"tensors\":{", "\"#\":{},", "\"\":{}}}"},
};

void
hostile_json(hostile_fn *fn, bool framed)
{
	static struct text t;

	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		t.n = 0;
		put_zeros(&t, framed ? 8 : 0);
		put_text(&t, documents[i].begin, 0);
		for (size_t k = 0; has_room(&t, 256); k++)
			put_text(&t, documents[i].again, k);
		put_text(&t, documents[i].end, 0);
		while (framed && t.n % 8)
			put_text(&t, " ", 0);
		if (framed)
			tp_put_le64(t.b, t.n - 8);
		fn(documents[i].name, t.b, t.n);
	}
}
