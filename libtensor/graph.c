/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - a program: the plans of a model's graphs */
#include "graph.h"

#include "banned.h"

/* Graphs are found by where they are. */
static struct tp_str
address_of(const struct tp_graph *const *graph)
{
	return (struct tp_str){(const char *)graph, sizeof(*graph)};
}

static enum tp_status
make_room(struct tp_program *program, struct tp_err *err)
{
	size_t room = program->plan_room ? program->plan_room * 2 : 8;
	struct tpi_plan **plans;

	if (program->n_plans < program->plan_room)
		return TP_OK;
	plans = tp_mem_grow(program->alloc, program->plans, program->plan_room,
	    room, sizeof(*plans));
	if (!plans)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu graphs", room);
	program->plans = plans;
	program->plan_room = room;
	return TP_OK;
}

enum tp_status
tpi_program_add(
    struct tp_program *program, struct tpi_plan *plan, struct tp_err *err)
{
	enum tp_status rc = make_room(program, err);

	if (!rc)
		rc = tp_map_add(&program->by_graph, address_of(&plan->graph),
		    program->n_plans, NULL, err);
	if (rc) {
		tpi_plan_free(plan);
		return rc;
	}
	program->plans[program->n_plans++] = plan;
	return TP_OK;
}

struct tpi_plan *
tpi_program_find(const struct tp_program *program, const struct tp_graph *graph)
{
	size_t k;

	if (!tp_map_find(&program->by_graph, address_of(&graph), &k))
		return NULL;
	return program->plans[k];
}

enum tp_status
tp_program_new(const struct tp_alloc *alloc, const struct tp_graph_model *model,
    struct tp_program **out, struct tp_err *err)
{
	struct tp_program *program = tp_mem_array(alloc, 1, sizeof(*program));
	enum tp_status rc;

	*out = NULL;
	if (!program)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a program");
	program->alloc = alloc;
	program->model = model;
	tp_map_init(&program->by_graph, alloc);
	tp_map_init(&program->callee_names, alloc);
	rc = tpi_callees_init(program, err);
	if (!rc)
		rc = tpi_plan_new(
		    program, &model->graph, NULL, NULL, 0, &program->main, err);
	if (rc) {
		tp_program_free(program);
		return rc;
	}
	*out = program;
	return TP_OK;
}

void
tp_program_free(struct tp_program *program)
{
	if (!program)
		return;
	for (size_t i = 0; i < program->n_plans; i++)
		tpi_plan_free(program->plans[i]);
	tp_mem_free(program->alloc, program->plans, program->plan_room,
	    sizeof(struct tpi_plan *));
	tp_map_release(&program->by_graph);
	tpi_callees_release(program);
	tp_mem_free(program->alloc, program, 1, sizeof(*program));
}
