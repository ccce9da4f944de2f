/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_check.c - does a JSON document fit its schema?
 *
 *	schema_check SCHEMA < DOCUMENT
 *
 * The part of JSON Schema 2020-12 that our schemas use. A keyword that is not
 * known here ends the program with 2, so that nothing goes unchecked in
 * silence. Exit 1 and a line on stderr for each misfit.
 */
#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#define MAX_PATH 512
#define MAX_DEPTH 60

static const cJSON *root_schema;
static unsigned n_misfits;

static bool check(const cJSON *schema, const cJSON *value, const char *path,
    unsigned depth, bool quiet);

static void
die(const char *what, const char *about)
{
	fprintf(stderr, "schema_check: %s: %s\n", what, about);
	exit(2);
}

static bool
misfit(bool quiet, const char *path, const char *what, const char *about)
{
	if (!quiet) {
		fprintf(stderr, "%s: %s %s\n", path, what, about);
		n_misfits++;
	}
	return false;
}

static bool
has_type(const cJSON *value, const char *type)
{
	if (!strcmp(type, "object"))
		return cJSON_IsObject(value);
	if (!strcmp(type, "array"))
		return cJSON_IsArray(value);
	if (!strcmp(type, "string"))
		return cJSON_IsString(value);
	if (!strcmp(type, "boolean"))
		return cJSON_IsBool(value);
	if (!strcmp(type, "null"))
		return cJSON_IsNull(value);
	if (!strcmp(type, "number"))
		return cJSON_IsNumber(value);
	if (!strcmp(type, "integer"))
		return cJSON_IsNumber(value) &&
		       floor(value->valuedouble) == value->valuedouble;
	die("unknown type", type);
	return false;
}

static bool
check_type(const cJSON *types, const cJSON *value, const char *path, bool quiet)
{
	const cJSON *type;

	if (cJSON_IsString(types))
		return has_type(value, types->valuestring) ||
		       misfit(
			   quiet, path, "is not of type", types->valuestring);
	cJSON_ArrayForEach(type, types) {
		if (has_type(value, type->valuestring))
			return true;
	}
	return misfit(quiet, path, "is of none of the types", "allowed");
}

static const cJSON *
resolve(const char *ref)
{
	const char *name = "#/$defs/";
	const cJSON *defs = cJSON_GetObjectItem(root_schema, "$defs"), *found;

	if (!strcmp(ref, "#"))
		return root_schema;
	if (strncmp(ref, name, strlen(name)) != 0)
		die("unknown reference", ref);
	found = cJSON_GetObjectItemCaseSensitive(defs, ref + strlen(name));
	if (!found)
		die("no such definition", ref);
	return found;
}

static bool
check_object(const cJSON *schema, const cJSON *value, const char *path,
    unsigned depth, bool quiet)
{
	const cJSON *known =
	    cJSON_GetObjectItemCaseSensitive(schema, "properties");
	const cJSON *others =
	    cJSON_GetObjectItemCaseSensitive(schema, "additionalProperties");
	const cJSON *required =
	    cJSON_GetObjectItemCaseSensitive(schema, "required");
	const cJSON *item;
	bool ok = true;

	cJSON_ArrayForEach(item, required) {
		if (!cJSON_GetObjectItemCaseSensitive(value, item->valuestring))
			ok = misfit(quiet, path, "lacks", item->valuestring);
	}
	cJSON_ArrayForEach(item, value) {
		const cJSON *sub =
		    cJSON_GetObjectItemCaseSensitive(known, item->string);
		char below[MAX_PATH];

		if (!sub)
			sub = others;
		if (!sub)
			continue;
		snprintf(
		    below, sizeof(below), "%.200s.%.100s", path, item->string);
		if (cJSON_IsFalse(sub))
			ok = misfit(quiet, below, "is not a known", "property");
		else
			ok &= check(sub, item, below, depth + 1, quiet);
	}
	return ok;
}

static bool
check_array(const cJSON *schema, const cJSON *value, const char *path,
    unsigned depth, bool quiet)
{
	const cJSON *items = cJSON_GetObjectItemCaseSensitive(schema, "items");
	const cJSON *min = cJSON_GetObjectItemCaseSensitive(schema, "minItems");
	const cJSON *item;
	bool ok = true;
	int i = 0;

	if (min && cJSON_GetArraySize(value) < min->valueint)
		ok = misfit(quiet, path, "has too few", "items");
	cJSON_ArrayForEach(item, value) {
		char below[MAX_PATH];

		snprintf(below, sizeof(below), "%.300s[%d]", path, i++);
		if (items)
			ok &= check(items, item, below, depth + 1, quiet);
	}
	return ok;
}

static bool
check_pattern(
    const char *pattern, const cJSON *value, const char *path, bool quiet)
{
	regex_t re;
	bool matches;

	if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB))
		die("bad pattern", pattern);
	matches = !regexec(&re, value->valuestring, 0, NULL, 0);
	regfree(&re);
	return matches || misfit(quiet, path, "does not match", pattern);
}

/* anyOf and oneOf: how many of the schemas fit. */
static bool
check_choice(const cJSON *choices, const cJSON *value, const char *path,
    unsigned depth, bool one, bool quiet)
{
	const cJSON *choice;
	unsigned n = 0;

	cJSON_ArrayForEach(choice, choices) {
		n += check(choice, value, path, depth + 1, true);
	}
	if (n == 1 || (n > 1 && !one))
		return true;
	return misfit(quiet, path, n ? "fits several of" : "fits none of",
	    one ? "oneOf" : "anyOf");
}

static bool
check_enum(
    const cJSON *values, const cJSON *value, const char *path, bool quiet)
{
	const cJSON *allowed;

	cJSON_ArrayForEach(allowed, values) {
		if (cJSON_Compare(allowed, value, true))
			return true;
	}
	return misfit(quiet, path, "is none of the values of", "enum");
}

static bool
check_keyword(const cJSON *schema, const cJSON *key, const cJSON *value,
    const char *path, unsigned depth, bool quiet)
{
	/* Those that say nothing, and those that belong to another keyword. */
	static const char *const passive[] = {"$schema", "$id", "$defs",
	    "$comment", "title", "description", "properties", "required",
	    "additionalProperties", "items", "minItems"};
	const char *name = key->string;

	for (size_t i = 0; i < sizeof(passive) / sizeof(passive[0]); i++)
		if (!strcmp(name, passive[i]))
			return true;
	if (!strcmp(name, "$ref"))
		return check(
		    resolve(key->valuestring), value, path, depth + 1, quiet);
	if (!strcmp(name, "type"))
		return check_type(key, value, path, quiet);
	if (!strcmp(name, "enum"))
		return check_enum(key, value, path, quiet);
	if (!strcmp(name, "const"))
		return cJSON_Compare(key, value, true) ||
		       misfit(quiet, path, "is not the", "const");
	if (!strcmp(name, "minimum"))
		return !cJSON_IsNumber(value) ||
		       value->valuedouble >= key->valuedouble ||
		       misfit(quiet, path, "is below the", "minimum");
	if (!strcmp(name, "maximum"))
		return !cJSON_IsNumber(value) ||
		       value->valuedouble <= key->valuedouble ||
		       misfit(quiet, path, "is above the", "maximum");
	if (!strcmp(name, "pattern"))
		return !cJSON_IsString(value) ||
		       check_pattern(key->valuestring, value, path, quiet);
	if (!strcmp(name, "oneOf") || !strcmp(name, "anyOf"))
		return check_choice(
		    key, value, path, depth, name[0] == 'o', quiet);
	(void)schema;
	die("unknown keyword", name);
	return false;
}

static bool
check(const cJSON *schema, const cJSON *value, const char *path, unsigned depth,
    bool quiet)
{
	const cJSON *key;
	bool ok = true;

	if (depth > MAX_DEPTH)
		die("too deep", path);
	cJSON_ArrayForEach(key, schema) {
		ok &= check_keyword(schema, key, value, path, depth, quiet);
	}
	if (cJSON_IsObject(value))
		ok &= check_object(schema, value, path, depth, quiet);
	if (cJSON_IsArray(value))
		ok &= check_array(schema, value, path, depth, quiet);
	return ok;
}

static char *
read_all(FILE *f)
{
	size_t n = 0, cap = 1 << 16, got;
	char *text = malloc(cap);

	while (text && (got = fread(text + n, 1, cap - n - 1, f)) > 0) {
		n += got;
		if (n + 1 < cap)
			continue;
		cap *= 2;
		text = realloc(text, cap);
	}
	if (!text)
		die("out of memory", "reading");
	text[n] = '\0';
	return text;
}

static cJSON *
parse(FILE *f, const char *what)
{
	char *text = read_all(f);
	const char *end = NULL;
	cJSON *json = cJSON_ParseWithOpts(text, &end, true);

	if (!json) {
		fprintf(stderr, "%s: not JSON: %.60s\n", what, end ? end : "");
		exit(1);
	}
	free(text);
	return json;
}

int
main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
	cJSON *schema, *document;

	if (argc != 2)
		die("usage", "schema_check SCHEMA < DOCUMENT");
	if (!f)
		die(argv[1], strerror(errno));
	schema = parse(f, argv[1]);
	fclose(f);
	root_schema = schema;
	document = parse(stdin, "document");
	check(schema, document, "$", 0, false);
	cJSON_Delete(document);
	cJSON_Delete(schema);
	return n_misfits ? 1 : 0;
}
