/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.c - a fuzz target over files: each argument is one, or a folder of
 * them, or --hostile=KIND for those that hostile.h makes
 *
 * The closing line says how many inputs were tried, and what an operation took
 * at most; none at all is a failure.
 */
#include "fuzz.h"
#include "hostile.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

static size_t n_tried;

/* The bytes, behind which is room for one more. */
static void
replay_bytes(uint8_t *data, size_t n)
{
	LLVMFuzzerTestOneInput(data, n);
	/* As fuzzing finds it: with a byte behind that chooses options. */
	for (int choice = 0; choice < 4; choice++) {
		data[n] = (uint8_t)(choice * 85);
		LLVMFuzzerTestOneInput(data, n + 1);
	}
	n_tried++;
}

static void
replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	struct stat st;
	size_t n;

	MUST(f && !fstat(fileno(f), &st));
	n = (size_t)st.st_size;
	data = malloc(n + 1);
	MUST(data && fread(data, 1, n, f) == n);
	fclose(f);
	replay_bytes(data, n);
	free(data);
}

/* A hostile_fn. Its name stands before what may be said of it. */
static void
replay_hostile(const char *name, const uint8_t *data, size_t n)
{
	uint8_t *copy = malloc(n + 1);

	MUST(copy);
	memcpy(copy, data, n);
	fprintf(stderr, "%s\n", name);
	replay_bytes(copy, n);
	free(copy);
}

static void
replay(const char *path)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, alphasort);
	char name[1024];

	if (n < 0) {
		replay_file(path);
		return;
	}
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			replay(name);
		free(names[i]);
	}
	free(names);
}

int
main(int argc, char **argv)
{
	static const char hostile[] = "--hostile=";

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], hostile, sizeof(hostile) - 1))
			hostile_each(
			    argv[i] + sizeof(hostile) - 1, replay_hostile);
		else
			replay(argv[i]);
	printf("%zu inputs; at most %.1f ms and %ld KiB\n", n_tried,
	    fuzz_most().ms, fuzz_most().kib);
	return n_tried ? 0 : 1;
}
