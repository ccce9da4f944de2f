/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_shards.c - an index over two shards that are always the same:
 * s-00001-of-00002 with tensor a, s-00002-of-00002 with b and c; opened by its
 * name, by that of a shard, or by that of the folder
 */
#include "fuzz.h"

#include <string.h>

/*
 * One shard: the header, whose length is a multiple of 8, and 8 bytes a tensor.
 */
static void
make_shard(const char *name, const char *header, size_t nbytes)
{
	uint8_t file[512] = {0};
	size_t len = strlen(header);

	file[0] = (uint8_t)len;
	memcpy(file + 8, header, len);
	fuzz_file(name, file, 8 + len + nbytes);
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	static int made;
	struct tp_err err = TP_ERR_INIT;
	unsigned choice = fuzz_choice(data, &n);
	const char *path;
	struct tp_reader *r;

	if (!made++) {
		make_shard("s-00001-of-00002.safetensors",
		    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],"
		    "\"data_offsets\":[0,8]}}    ",
		    8);
		make_shard("s-00002-of-00002.safetensors",
		    "{\"b\":{\"dtype\":\"F32\",\"shape\":[2],"
		    "\"data_offsets\":[0,8]},"
		    "\"c\":{\"dtype\":\"U8\",\"shape\":[8],"
		    "\"data_offsets\":[8,16]}}   ",
		    16);
	}
	path = fuzz_file("s.safetensors.index.json", data, n);
	if (choice & 4)
		path = fuzz_path("s-00002-of-00002.safetensors");
	else if (choice & 8)
		path = fuzz_path("");
	r = fuzz_open(path, NULL, choice & 3, &err);
	if (r)
		fuzz_walk(r);
	tp_close(r);
}
