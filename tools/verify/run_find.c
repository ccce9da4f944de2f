/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_find.c - models and data sets among the operands
 *
 *	test_add/model.onnx
 *	test_add/test_data_set_0/input_0.pb, input_1.pb, output_0.pb
 */
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MODEL_NAME "model.onnx"
#define SET_PREFIX "test_data_set_"

/* Folders in folders: links may make them endless. */
#define MAX_DEPTH 8

static const char no_memory[] = "out of memory";

static char *
join(const char *folder, const char *name)
{
	size_t n = strlen(folder), size = n + strlen(name) + 2;
	char *path = malloc(size);

	while (n > 1 && folder[n - 1] == '/')
		n--;
	if (path)
		snprintf(path, size, "%.*s%s%s", (int)n, folder,
		    n == 1 && folder[0] == '/' ? "" : "/", name);
	return path;
}

static bool
is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool
has_file(const char *folder, const char *name)
{
	char *path = join(folder, name);
	struct stat st;
	bool has = path && !stat(path, &st) && !S_ISDIR(st.st_mode);

	free(path);
	return has;
}

static struct run_target *
add_target(struct run_targets *t, const char *path, char *model)
{
	if (t->n == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 64;
		void *p = realloc(t->items, cap * sizeof(*t->items));

		if (!p) {
			free(model);
			return NULL;
		}
		t->items = p;
		t->cap = cap;
	}
	t->items[t->n] =
	    (struct run_target){.path = strdup(path), .model = model};
	if (!t->items[t->n].path) {
		free(model);
		return NULL;
	}
	return &t->items[t->n++];
}

/* Takes the path. */
static const char *
add_set(struct run_target *t, char *path)
{
	char **sets =
	    path ? realloc(t->sets, (t->n_sets + 1) * sizeof(*sets)) : NULL;

	if (!sets) {
		free(path);
		return no_memory;
	}
	t->sets = sets;
	t->sets[t->n_sets++] = path;
	return NULL;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
free_names(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

/* Folders in a folder, by name; hidden ones are left out. */
static const char *
list_folders(const char *folder, char ***out, size_t *n)
{
	DIR *dir = opendir(folder);
	const char *wrong = NULL;
	struct dirent *e;
	char **names = NULL, *path;
	size_t n_names = 0;
	void *p;

	*n = 0;
	*out = NULL;
	if (!dir)
		return "cannot be read";
	/* Who stopped halfway would leave data sets out and pass. */
	while (!wrong && (errno = 0, e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		path = join(folder, e->d_name);
		if (path && !is_folder(path)) {
			free(path);
			continue;
		}
		p = path ? realloc(names, (n_names + 1) * sizeof(*names))
			 : NULL;
		if (p) {
			names = p;
			names[n_names++] = path;
		} else {
			free(path);
			wrong = no_memory;
		}
	}
	if (!wrong && errno)
		wrong = "cannot be read";
	closedir(dir);
	if (wrong) {
		free_names(names, n_names);
		return wrong;
	}
	if (names)
		qsort(names, n_names, sizeof(*names), compare_names);
	*out = names;
	*n = n_names;
	return NULL;
}

static bool
is_set(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(
	    slash ? slash + 1 : path, SET_PREFIX, strlen(SET_PREFIX));
}

/* The data sets beside a model. */
static const char *
add_sets_of(struct run_target *t, const char *folder)
{
	const char *wrong;
	char **names;
	size_t n;

	wrong = list_folders(folder, &names, &n);
	for (size_t i = 0; i < n && !wrong; i++) {
		if (!is_set(names[i]))
			continue;
		wrong = add_set(t, names[i]);
		names[i] = NULL;
	}
	free_names(names, n);
	return wrong;
}

static const char *
add_folder(struct run_targets *t, const char *folder, unsigned depth)
{
	bool has_model = has_file(folder, MODEL_NAME);
	size_t n = 0, n_inner = 0;
	const char *wrong = NULL;
	char **names = NULL;

	if (depth == MAX_DEPTH)
		return "folders are nested too deeply";
	if (!has_model) {
		wrong = list_folders(folder, &names, &n);
		for (size_t i = 0; i < n && !wrong; i++) {
			if (is_set(names[i]))
				continue;
			n_inner++;
			wrong = add_folder(t, names[i], depth + 1);
		}
		free_names(names, n);
	}
	if (!wrong && n_inner == 0) {
		struct run_target *target = add_target(
		    t, folder, has_model ? join(folder, MODEL_NAME) : NULL);

		wrong = target ? add_sets_of(target, folder) : no_memory;
	}
	return wrong;
}

static const char *
add_file(struct run_targets *t, const char *path)
{
	return add_target(t, path, strdup(path)) ? NULL : no_memory;
}

/* True if the operand was the model itself. */
static bool
is_file_target(const struct run_target *t)
{
	return t->model && !strcmp(t->path, t->model);
}

const char *
run_targets_add(struct run_targets *t, const char *operand)
{
	struct run_target *last = t->n ? &t->items[t->n - 1] : NULL;

	if (!is_folder(operand))
		return add_file(t, operand);
	if (last && is_file_target(last) && !has_file(operand, MODEL_NAME) &&
	    (has_file(operand, "input_0.pb") ||
		has_file(operand, "output_0.pb"))) {
		last->is_told = true;
		return add_set(last, strdup(operand));
	}
	return add_folder(t, operand, 0);
}

const char *
run_targets_finish(struct run_targets *t)
{
	const char *wrong = NULL;

	for (size_t i = 0; i < t->n && !wrong; i++) {
		struct run_target *target = &t->items[i];
		const char *slash = strrchr(target->path, '/');
		char *folder;

		if (!is_file_target(target) || target->is_told)
			continue;
		folder = slash ? strdup(target->path) : strdup(".");
		if (!folder)
			return no_memory;
		if (slash)
			folder[slash == target->path ? 1
						     : slash - target->path] =
			    '\0';
		/* A folder that is not there is told with its model. */
		if (is_folder(folder))
			wrong = add_sets_of(target, folder);
		free(folder);
	}
	return wrong;
}

void
run_targets_release(struct run_targets *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->items[i].path);
		free(t->items[i].model);
		free_names(t->items[i].sets, t->items[i].n_sets);
	}
	free(t->items);
	*t = (struct run_targets){.items = NULL};
}

struct tp_str
run_target_name(const struct run_target *t)
{
	size_t end = strlen(t->path), begin;

	while (end > 1 && t->path[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && t->path[begin - 1] != '/';)
		begin--;
	return (struct tp_str){t->path + begin, end - begin};
}
