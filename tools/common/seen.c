/* SPDX-License-Identifier: Apache-2.0 */
/* seen.c - files are known by device and inode, whatever their path */
#include "seen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void
cli_seen_add(struct cli_seen *seen, const struct tp_reader *r)
{
	const char *format = tp_format_name(tp_reader_format(r));
	struct cli_seen_file *grown;
	size_t n = 0;

	while (tp_reader_file(r, n, NULL))
		n++;
	if (strcmp(format, "safetensors") != 0 || n < 2)
		return;
	grown = realloc(seen->files, (seen->n + n) * sizeof(*grown));
	if (!grown)
		return;
	seen->files = grown;
	for (size_t i = 0; i < n; i++) {
		struct stat st;

		if (!stat(tp_reader_file(r, i, NULL), &st))
			grown[seen->n++] =
			    (struct cli_seen_file){st.st_dev, st.st_ino};
	}
}

bool
cli_seen_has(const struct cli_seen *seen, const char *path)
{
	struct stat st;

	if (!seen->n || stat(path, &st))
		return false;
	for (size_t i = 0; i < seen->n; i++)
		if (seen->files[i].device == st.st_dev &&
		    seen->files[i].inode == st.st_ino)
			return true;
	return false;
}

void
cli_seen_release(struct cli_seen *seen)
{
	free(seen->files);
	*seen = (struct cli_seen){NULL, 0};
}
