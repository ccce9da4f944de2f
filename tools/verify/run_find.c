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
static const char cannot_read[] = "cannot be read";

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

/* What is at a path, as S_IFDIR and its kind; 0: nothing. */
static const char *
type_at(const char *path, mode_t *type)
{
	struct stat st;

	*type = 0;
	if (!path)
		return no_memory;
	if (!stat(path, &st))
		*type = st.st_mode & S_IFMT;
	else if (errno != ENOENT && errno != ELOOP)
		return cannot_read;
	return NULL;
}

static bool
is_folder(const char *path)
{
	mode_t type;

	return !type_at(path, &type) && type == S_IFDIR;
}

static const char *
find_file(const char *folder, const char *name, bool *is_there)
{
	char *path = join(folder, name);
	mode_t type;
	const char *wrong = type_at(path, &type);

	free(path);
	*is_there = type && type != S_IFDIR;
	return wrong;
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

struct names {
	char **at;
	size_t n;
};

static void
free_names(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->at[i]);
	free(names->at);
}

/* Adds the path if it is a folder; takes it. */
static const char *
add_name(struct names *names, char *path)
{
	mode_t type;
	const char *wrong = type_at(path, &type);
	char **at = NULL;

	if (!wrong && type == S_IFDIR) {
		at = realloc(names->at, (names->n + 1) * sizeof(*at));
		wrong = at ? NULL : no_memory;
	}
	if (at) {
		names->at = at;
		at[names->n++] = path;
	} else {
		free(path);
	}
	return wrong;
}

/*
 * Folders in a folder, by name; hidden ones are left out. Who stopped halfway
 * would leave data sets out and pass.
 */
static const char *
list_folders(const char *folder, struct names *names)
{
	DIR *dir = opendir(folder);
	const char *wrong = NULL;
	struct dirent *e;

	*names = (struct names){NULL, 0};
	if (!dir)
		return errno == ENOMEM ? no_memory : cannot_read;
	while (!wrong && (errno = 0, e = readdir(dir)))
		if (e->d_name[0] != '.')
			wrong = add_name(names, join(folder, e->d_name));
	if (!wrong && errno)
		wrong = cannot_read;
	closedir(dir);
	if (names->n)
		qsort(names->at, names->n, sizeof(*names->at), compare_names);
	return wrong;
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
	struct names names;
	const char *wrong = list_folders(folder, &names);

	for (size_t i = 0; i < names.n && !wrong; i++) {
		if (!is_set(names.at[i]))
			continue;
		wrong = add_set(t, names.at[i]);
		names.at[i] = NULL;
	}
	free_names(&names);
	return wrong;
}

static const char *add_folder(
    struct run_targets *t, const char *folder, unsigned depth);

/* Those within a folder, but for data sets; *n: how many there are. */
static const char *
add_inner(struct run_targets *t, const char *folder, unsigned depth, size_t *n)
{
	struct names names;
	const char *wrong = list_folders(folder, &names);

	*n = 0;
	for (size_t i = 0; i < names.n && !wrong; i++) {
		if (is_set(names.at[i]))
			continue;
		++*n;
		wrong = add_folder(t, names.at[i], depth + 1);
	}
	free_names(&names);
	return wrong;
}

static const char *
add_folder(struct run_targets *t, const char *folder, unsigned depth)
{
	struct run_target *target;
	bool has_model;
	const char *wrong = find_file(folder, MODEL_NAME, &has_model);
	size_t n_inner = 0;
	char *model = NULL;

	if (depth == MAX_DEPTH)
		return "folders are nested too deeply";
	if (!wrong && !has_model)
		wrong = add_inner(t, folder, depth, &n_inner);
	if (wrong || n_inner)
		return wrong;
	if (has_model && !(model = join(folder, MODEL_NAME)))
		return no_memory;
	target = add_target(t, folder, model);
	return target ? add_sets_of(target, folder) : no_memory;
}

static const char *
add_file(struct run_targets *t, const char *path)
{
	char *model = strdup(path);

	return model && add_target(t, path, model) ? NULL : no_memory;
}

/* True if the operand was the model itself. */
static bool
is_file_target(const struct run_target *t)
{
	return t->model && !strcmp(t->path, t->model);
}

/* Is a folder a data set, whatever its name? */
static const char *
has_data(const char *folder, bool *has)
{
	bool model, input = false, output = false;
	const char *wrong = find_file(folder, MODEL_NAME, &model);

	if (!wrong)
		wrong = find_file(folder, "input_0.pb", &input);
	if (!wrong)
		wrong = find_file(folder, "output_0.pb", &output);
	*has = !model && (input || output);
	return wrong;
}

const char *
run_targets_add(struct run_targets *t, const char *operand)
{
	struct run_target *last = t->n ? &t->items[t->n - 1] : NULL;
	const char *wrong = NULL;
	bool is_data = false;

	if (!is_folder(operand))
		return add_file(t, operand);
	if (last && is_file_target(last))
		wrong = has_data(operand, &is_data);
	if (wrong)
		return wrong;
	if (!is_data)
		return add_folder(t, operand, 0);
	last->is_told = true;
	return add_set(last, strdup(operand));
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
		free_names(
		    &(struct names){t->items[i].sets, t->items[i].n_sets});
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
