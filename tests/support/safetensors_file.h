/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors_file.h - files for tests, from the JSON as it is to stand there
 */
#ifndef TEST_SAFETENSORS_FILE_H
#define TEST_SAFETENSORS_FILE_H

#include <stdlib.h>
#include <string.h>

#include "tp/endian.h"
#include "tp/error.h"

#include "support/temp_dir.h"

/*
 * Length, the JSON, then n_data bytes: 1, 2, 3, … The text may hold NUL.
 */
static inline void
write_safetensors(const char *path, struct tp_str json, size_t n_data)
{
	size_t size = 8 + json.len + n_data;
	uint8_t *file = calloc(1, size);

	if (!file)
		abort();
	tp_put_le64(file, json.len);
	memcpy(file + 8, json.s, json.len);
	for (size_t i = 0; i < n_data; i++)
		file[8 + json.len + i] = (uint8_t)(i + 1);
	write_file(path, file, size);
	free(file);
}

#endif
