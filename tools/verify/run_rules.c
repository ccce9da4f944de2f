/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_rules.c - lines about tests: tolerances, and which are expected to differ
 *
 *	# a comment
 *	test_dft*	atol=1e-6		a pattern, then what holds for it
 *	test_adam_multiple	the data needs an epsilon that the model lacks
 */
#include "run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli_file.h"

/* Longer than anyone writes. */
#define MAX_SIZE ((size_t)1 << 24)

typedef const char *parse_fn(
    struct run_rules *r, struct run_line *line, char *rest);

static char *
skip_blank(char *s)
{
	return s + strspn(s, " \t");
}

/* "rtol=1e-2": false if it is no such thing. */
static bool
parse_number(const char *word, const char *key, double *out)
{
	size_t n = strlen(key);
	char *end = NULL;

	if (strncmp(word, key, n) != 0 || word[n] != '=')
		return false;
	errno = 0;
	*out = strtod(word + n + 1, &end);
	return end != word + n + 1 && *end == '\0' && isfinite(*out) &&
	       *out >= 0;
}

static const char *
parse_tolerance(struct run_rules *r, struct run_line *line, char *rest)
{
	char *state = NULL;

	line->tolerance = r->tolerance;
	line->tolerance.has_range = false;
	if (!*rest)
		return "expected rtol=X, atol=X or of-range=X";
	for (char *word = strtok_r(rest, " \t", &state); word;
	     word = strtok_r(NULL, " \t", &state)) {
		if (parse_number(word, "of-range", &line->tolerance.of_range))
			line->tolerance.has_range = true;
		else if (!parse_number(word, "rtol", &line->tolerance.rtol) &&
			 !parse_number(word, "atol", &line->tolerance.atol))
			return "expected rtol=X, atol=X or of-range=X, not "
			       "negative";
	}
	return NULL;
}

static const char *
parse_failure(struct run_rules *r, struct run_line *line, char *rest)
{
	(void)r;
	if (!*rest)
		return "a reason is missing";
	line->reason = strdup(rest);
	return line->reason ? NULL : "out of memory";
}

/* One more of *lines, which are *n. */
static const char *
add_line(struct run_rules *r, struct run_line **lines, size_t *n, char *text,
    parse_fn *parse)
{
	struct run_line line = {.pattern = NULL}, *grown;
	char *rest = text + strcspn(text, " \t");
	const char *wrong;

	if (*rest)
		*rest++ = '\0';
	line.pattern = strdup(text);
	grown = realloc(*lines, (*n + 1) * sizeof(**lines));
	if (grown)
		*lines = grown;
	wrong = line.pattern && grown ? parse(r, &line, skip_blank(rest))
				      : "out of memory";
	if (wrong) {
		free(line.pattern);
		free(line.reason);
		return wrong;
	}
	(*lines)[(*n)++] = line;
	return NULL;
}

/* One line, in which a NUL may stand for nothing. */
static const char *
take_line(struct run_rules *r, struct run_line **lines, size_t *n, char *line,
    size_t len, parse_fn *parse)
{
	char *begin;

	if (memchr(line, '\0', len))
		return "the line has a NUL";
	while (len > 0 && line[len - 1] == '\r')
		len--;
	line[len] = '\0';
	begin = skip_blank(line);
	return *begin && *begin != '#' ? add_line(r, lines, n, begin, parse)
				       : NULL;
}

static enum tp_status
read_lines(struct run_rules *r, const char *path, struct run_line **lines,
    size_t *n, parse_fn *parse, struct tp_err *err)
{
	enum tp_status rc;
	const char *wrong = NULL;
	size_t size, number = 0;
	char *text;

	rc = cli_read_file(path, MAX_SIZE, &text, &size, err);
	if (rc)
		return rc;
	for (size_t at = 0; !wrong && at < size;) {
		char *line = text + at, *end = memchr(line, '\n', size - at);
		size_t len = end ? (size_t)(end - line) : size - at;

		number++;
		at += len + 1;
		wrong = take_line(r, lines, n, line, len, parse);
	}
	if (wrong)
		rc = tp_fail(err, TP_EFORMAT, TP_NO_OFFSET, "line %zu: %s",
		    number, wrong);
	free(text);
	return rc;
}

enum tp_status
run_rules_read_tolerances(
    struct run_rules *r, const char *path, struct tp_err *err)
{
	return read_lines(
	    r, path, &r->tolerances, &r->n_tolerances, parse_tolerance, err);
}

enum tp_status
run_rules_read_failures(
    struct run_rules *r, const char *path, struct tp_err *err)
{
	return read_lines(
	    r, path, &r->failures, &r->n_failures, parse_failure, err);
}

static void
free_lines(struct run_line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(lines[i].pattern);
		free(lines[i].reason);
	}
	free(lines);
}

void
run_rules_release(struct run_rules *r)
{
	free_lines(r->tolerances, r->n_tolerances);
	free_lines(r->failures, r->n_failures);
	*r = (struct run_rules){.n_tolerances = 0};
}

/* The first line that names the test, or NULL. */
static const struct run_line *
find(struct run_line *lines, size_t n, struct tp_str test)
{
	for (size_t i = 0; i < n; i++)
		if (cli_glob(tp_str(lines[i].pattern), test)) {
			lines[i].used = true;
			return &lines[i];
		}
	return NULL;
}

struct run_tolerance
run_rules_tolerance(struct run_rules *r, struct tp_str test)
{
	const struct run_line *line =
	    find(r->tolerances, r->n_tolerances, test);

	return line ? line->tolerance : r->tolerance;
}

const char *
run_rules_failure(struct run_rules *r, struct tp_str test)
{
	const struct run_line *line = find(r->failures, r->n_failures, test);

	return line ? line->reason : NULL;
}

static void
note_unused(const struct run_line *lines, size_t n, const char *option)
{
	for (size_t i = 0; i < n; i++)
		if (!lines[i].used)
			cli_note("no test is named by '%s' of %s",
			    TP_BRIEF(tp_str(lines[i].pattern)), option);
}

void
run_rules_finish(const struct run_rules *r)
{
	note_unused(r->tolerances, r->n_tolerances, "--tolerances");
	note_unused(r->failures, r->n_failures, "--expect-fail");
}
