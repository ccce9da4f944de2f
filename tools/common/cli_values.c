/* SPDX-License-Identifier: Apache-2.0 */
/* cli_values.c - numbers, sizes and formats as people write them */
#include "cli.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "tp/checked.h"
#include "tp/format.h"

/* The digits at *p, which is moved behind them; false if none or too many. */
static bool
take_digits(const char **p, uint64_t *out)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)**p))
		return false;
	for (; isdigit((unsigned char)**p); (*p)++)
		if (tp_mul_u64(n, 10, &n) ||
		    tp_add_u64(n, (uint64_t)(**p - '0'), &n))
			return false;
	*out = n;
	return true;
}

static bool
find_unit(const char *text, uint64_t *unit)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} units[] = {
	    {"", 1},
	    {"B", 1},
	    {"K", UINT64_C(1) << 10},
	    {"M", UINT64_C(1) << 20},
	    {"G", UINT64_C(1) << 30},
	    {"T", UINT64_C(1) << 40},
	    {"KiB", UINT64_C(1) << 10},
	    {"MiB", UINT64_C(1) << 20},
	    {"GiB", UINT64_C(1) << 30},
	    {"TiB", UINT64_C(1) << 40},
	    {"KB", UINT64_C(1000)},
	    {"MB", UINT64_C(1000000)},
	    {"GB", UINT64_C(1000000000)},
	    {"TB", UINT64_C(1000000000000)},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcasecmp(text, units[i].name)) {
			*unit = units[i].bytes;
			return true;
		}
	return false;
}

bool
cli_size_parse(const char *text, uint64_t *out)
{
	uint64_t whole, unit, tenth, part = 0, total;
	const char *fraction = NULL;

	if (!take_digits(&text, &whole))
		return false;
	if (*text == '.') {
		fraction = ++text;
		while (isdigit((unsigned char)*text))
			text++;
		if (text == fraction)
			return false;
	}
	if (!find_unit(text, &unit))
		return false;
	/* 1.5K is 1536; digits that make less than a byte are dropped. */
	tenth = unit;
	for (; fraction && isdigit((unsigned char)*fraction); fraction++) {
		if (tenth < 10)
			break;
		part += tenth * (uint64_t)(*fraction - '0') / 10;
		tenth /= 10;
	}
	if (tp_mul_u64(whole, unit, &total) || tp_add_u64(total, part, &total))
		return false;
	*out = total;
	return true;
}

bool
cli_int_parse(const char *text, int64_t *out)
{
	bool negative = *text == '-';
	uint64_t n;

	if (*text == '-' || *text == '+')
		text++;
	if (!take_digits(&text, &n) || *text != '\0' || n > INT64_MAX)
		return false;
	*out = negative ? -(int64_t)n : (int64_t)n;
	return true;
}

const char *
cli_format_check(const char *option, const char *name)
{
	static char message[200];
	size_t n;

	if (!name || tp_format_find(name))
		return NULL;
	n = (size_t)snprintf(message, sizeof(message),
	    "--%s %.40s: the formats are", option, name);
	for (size_t i = 0; tp_format_at(i) && n < sizeof(message); i++)
		n += (size_t)snprintf(message + n, sizeof(message) - n, "%s %s",
		    i ? "," : "", tp_format_name(tp_format_at(i)));
	return message;
}
