/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c - formats.def as a table, and searches in it */
#include "registry.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "plugin.h"

#include "banned.h"

#define TP_FORMAT(name) extern const struct tp_format tpi_format_##name;
#include "formats.def"
#undef TP_FORMAT

static const struct tp_format *const formats[] = {
#define TP_FORMAT(name) &tpi_format_##name,
#include "formats.def"
#undef TP_FORMAT
    NULL,
};

const struct tp_format *
tp_format_at(size_t i)
{
	return i < sizeof(formats) / sizeof(formats[0]) ? formats[i] : NULL;
}

const struct tp_format *
tp_format_find(const char *name)
{
	for (size_t i = 0; formats[i]; i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

const struct tp_format *
tp_format_for_path(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; formats[i]; i++)
		for (const char *const *s = formats[i]->suffixes; s && *s;
		     s++) {
			size_t n = strlen(*s);

			if (len > n && !strcmp(path + len - n, *s))
				return formats[i];
		}
	return NULL;
}

const char *
tp_format_name(const struct tp_format *f)
{
	return f->name;
}

const char *
tpi_format_names(void)
{
#define TP_FORMAT(name) ", " #name
	static const char names[] = ""
#include "formats.def"
	    ;
#undef TP_FORMAT

	return names + (sizeof(names) > 2 ? 2 : 0);
}
