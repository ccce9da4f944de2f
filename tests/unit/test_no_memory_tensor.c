/* SPDX-License-Identifier: Apache-2.0 */
/* test_no_memory_tensor.c - libtensor's functions while the heap fails */
#include "support/no_memory.h"

#include "tp/tp.h"

#include "tp/access.h"
#include "tp/allocator.h"
#include "tp/autograd.h"
#include "tp/broadcast.h"
#include "tp/compare.h"
#include "tp/convert.h"
#include "tp/copy.h"
#include "tp/graph.h"
#include "tp/iter.h"
#include "tp/layout.h"
#include "tp/map.h"
#include "tp/mem_stats.h"
#include "tp/onnx_dtype.h"
#include "tp/op.h"
#include "tp/ops.h"
#include "tp/parallel.h"
#include "tp/print.h"
#include "tp/profile.h"
#include "tp/quant.h"
#include "tp/quant_fit.h"
#include "tp/scan.h"
#include "tp/sparse.h"
#include "tp/stats.h"
#include "tp/strings.h"
#include "tp/utf8.h"
#include "tp/value.h"
#include "tp/view.h"
#include "tp/vmap.h"

#include "support/tensors.h"

static const struct tp_device cpu = {TP_DEVICE_CPU, 0};
static const float floats[6] = {1, 2, 3, 4, 5, 6};
static const int64_t sizes_2_3[] = {2, 3}, sizes_3_2[] = {3, 2};
static const int64_t strides_1_1[] = {1, 1};
static const int64_t index_1_2[] = {1, 2}, sizes_1_3[] = {1, 3};
static const int axes_1[] = {1}, axes_1_0[] = {1, 0};
static const struct tp_shape_ref shapes[2] = {{sizes_2_3, 2}, {sizes_2_3, 2}};
static const struct tp_compare_rule any_rule = {.has_abs = true};
static const struct tp_op_opts one_thread_op = {.n_threads = 1};
static const struct tp_run_opts one_thread_run = {.n_threads = 1};

/* y = Relu(x) */
static const struct tp_str name_x = {"x", 1}, name_y = {"y", 1};
static const struct tp_binding relu_in = {.name = {"x", 1}};
static const struct tp_binding relu_out = {.name = {"y", 1}};
static const struct tp_node relu_node = {.op = {"Relu", 4},
    .inputs = &name_x,
    .outputs = &name_y,
    .n_inputs = 1,
    .n_outputs = 1};
static const struct tp_opset opset_17 = {.version = 17};
static const struct tp_graph_model relu_model = {.opsets = &opset_17,
    .n_opsets = 1,
    .graph = {.inputs = &relu_in,
	.outputs = &relu_out,
	.n_inputs = 1,
	.n_outputs = 1,
	.nodes = &relu_node,
	.n_nodes = 1}};

/* What functions get, and where they put what they make. */
struct world {
	/* f32: of 2 x 3, the same read as 3 x 2, of 1 x 3. */
	struct tp_tensor *x, *y, *scratch, *turned, *row;
	struct tp_tensor *f64;
	struct tp_tensor *leaf, *mid, *loss; /* with a history */
	struct tp_tensor *codes, *quantized, *scale;
	struct tp_tensor *sparse, *sparse_values, *sparse_indices;
	struct tp_quant_params params, params_2;
	struct tp_storage *storage, *storage_2;
	struct tp_strings *strings, *strings_2;
	struct tp_map map, map_2;
	struct tp_program *program, *program_2;
	struct tp_value value, value_out, list, items[1];
	const struct tp_op *op;
	struct tp_allocator *allocator, *pool;
	struct tp_data_ptr data, data_2;
	struct tp_tensor *out;
	void *block, *made;
	bool grows;
	float mid_before[6];

	struct tp_iter iter, iter_2;
	struct tp_strided strided;
	struct tp_compare compare, compare_2;
	struct tp_cast_stats cast, cast_2;
	struct tp_scan scan;
	struct tp_stats stats, stats_2;
	struct tp_histogram histogram;
	struct tp_quant_groups groups;
	struct tp_quant_grid grid;
	struct tp_scope scope;
	struct tp_profile_row profile_row;
	struct tp_mem_stats mem_stats;
	struct tp_err err;
	enum tp_attr_kind attr_kind;
	float floats[6], low, high, scale_1;
	int16_t zero_1;
	uint16_t halves[6];
	int8_t bytes[6];
	uint8_t packed[3];
	int64_t sizes[TP_MAX_RANK];
	unsigned rank;
	uint32_t code;
	uint64_t nbytes;
	size_t size;
	double number;
	char brief[TP_BRIEF_SIZE], text[64], shape_text[TP_SHAPE_TEXT_SIZE];
};

/*
 * ---- in arguments ----
 */

/* The block, which is gone when it has grown. */
static void *
grown_block(struct world *w)
{
	w->grows = true;
	return w->block;
}

static struct tp_storage *
add_reference(struct world *w)
{
	w->storage_2 = w->storage;
	return w->storage;
}

static const struct tp_tensor *const *
const_tensor(struct tp_tensor **t)
{
	union {
		struct tp_tensor **from;
		const struct tp_tensor *const *to;
	} u = {t};

	return u.to;
}

static enum tp_status
square(void *ctx, const struct tp_tensor *const *inputs, size_t n,
    struct tp_tensor **out, struct tp_err *err)
{
	(void)ctx, (void)n;
	return tp_mul(inputs[0], inputs[0], out, err);
}

static enum tp_status
square_all(void *ctx, const struct tp_tensor *const *inputs, size_t n,
    struct tp_tensor **outputs, size_t n_out, struct tp_err *err)
{
	(void)n_out;
	return square(ctx, inputs, n, outputs, err);
}

static void
see_nothing(void *ctx, char *const *data, const int64_t *steps, size_t n)
{
	(void)ctx, (void)data, (void)steps, (void)n;
}

static void
see_nothing_2(void *ctx, char *const *data, const int64_t *steps, size_t n,
    const int64_t *row_steps, size_t n_rows)
{
	(void)row_steps, (void)n_rows;
	see_nothing(ctx, data, steps, n);
}

static void
see_line(void *ctx, const char *line)
{
	(void)ctx, (void)line;
}

static void
do_nothing(void *ctx, size_t part)
{
	(void)ctx, (void)part;
}

static int
swallow(void *ctx, const char *s, size_t n)
{
	(void)ctx, (void)s, (void)n;
	return 0;
}

/*
 * ---- the world ----
 */

#define ok(call) assert_int_equal((call), TP_OK)

static struct tp_tensor *
of_floats(const int64_t *sizes, size_t n)
{
	return make_tensor(TP_DTYPE_F32, sizes, 2, floats, n * sizeof(float));
}

static void
make_quantized(struct world *w)
{
	static const int8_t codes[6] = {1, 2, 3, 4, 5, 6};
	static const int64_t one = 1;

	w->scale = make_tensor(TP_DTYPE_F32, &one, 1, floats, sizeof(float));
	w->params = (struct tp_quant_params){
	    .scheme = TP_QUANT_SYMMETRIC, .scale = w->scale};
	w->codes = make_tensor(TP_DTYPE_I8, sizes_2_3, 2, codes, 6);
	w->quantized = make_tensor(TP_DTYPE_I8, sizes_2_3, 2, codes, 6);
	ok(tp_tensor_set_quantizer(w->quantized, &w->params, NULL));
	ok(tp_quant_groups_init(
	    &w->groups, sizes_2_3, 2, TP_PER_TENSOR, 0, 0, NULL));
	w->grid = tp_quant_grid_of(tp_scheme_find("int8"), true);
	w->scale_1 = 1;
}

static void
make_sparse(struct world *w)
{
	/* (0, 1), (1, 2), and the first once more: it is to be coalesced. */
	static const int64_t indices[] = {0, 1, 1, 2, 0, 1}, n = 3;

	w->sparse_values =
	    make_tensor(TP_DTYPE_F32, &n, 1, floats, 3 * sizeof(float));
	w->sparse_indices =
	    make_tensor(TP_DTYPE_I64, sizes_3_2, 2, indices, sizeof(indices));
	ok(tp_sparse_new(w->sparse_values, w->sparse_indices, sizes_2_3, 2,
	    &w->sparse, NULL));
}

static void
make_history(struct world *w)
{
	w->leaf = of_floats(sizes_2_3, 6);
	ok(tp_tensor_set_requires_grad(w->leaf, true, NULL));
	ok(tp_exp(w->leaf, &w->mid, NULL));
	memcpy(w->mid_before, tp_tensor_data(w->mid), sizeof(w->mid_before));
	ok(tp_sum(w->mid, NULL, 0, false, &w->loss, NULL));
}

static void
make_values(struct world *w)
{
	struct tp_tensor *t = of_floats(sizes_2_3, 6);
	struct tp_value item;

	w->value = tp_value_of(of_floats(sizes_2_3, 6));
	w->items[0] = tp_value_of(of_floats(sizes_2_3, 6));
	item = tp_value_of(t);
	ok(tp_list_new(NULL, tp_value_type(&item), &item, 1, &w->list, NULL));
	ok(tp_program_new(NULL, &relu_model, &w->program, NULL));
	ok(tp_op_find(TP_STR(""), TP_STR("Relu"), 17, &w->op, NULL));
}

static void
world_make(struct world *w)
{
	const double doubles[] = {1, 2};
	const int64_t two = 2;
	uint64_t number;

	memset(w, 0, sizeof(*w));
	w->x = of_floats(sizes_2_3, 6);
	w->y = of_floats(sizes_2_3, 6);
	w->scratch = of_floats(sizes_2_3, 6);
	w->row = of_floats(sizes_1_3, 3);
	w->f64 = make_tensor(TP_DTYPE_F64, &two, 1, doubles, sizeof(doubles));
	ok(tp_tensor_transpose(w->x, 0, 1, &w->turned, NULL));
	make_history(w);
	make_quantized(w);
	make_sparse(w);
	make_values(w);
	ok(tp_storage_new(NULL, 64, &w->storage, NULL));
	ok(tp_storage_set_resizable(w->storage, true, NULL));
	ok(tp_strings_new(NULL, 0, &w->strings, NULL));
	ok(tp_strings_add(w->strings, TP_STR("one"), &number, NULL));
	tp_map_init(&w->map, NULL);
	tp_map_init(&w->map_2, NULL);
	ok(tp_map_add(&w->map, TP_STR("one"), 1, NULL, NULL));
	ok(tp_pool_allocator_new(NULL, &w->pool, NULL));
	ok(tp_iter_init(&w->iter, NULL, 0, const_tensor(&w->x), 1, 0, NULL));
	w->strided = tp_tensor_strided(w->x);
	w->histogram = (struct tp_histogram){.high = 10, .n_bins = 4};
	w->block = tp_mem_array(NULL, 10, 1);
	w->out = UNTOUCHED;
	w->allocator = UNTOUCHED;
	w->storage_2 = UNTOUCHED;
	w->strings_2 = UNTOUCHED;
	w->program_2 = UNTOUCHED;
}

static void
assert_floats(const struct tp_tensor *t)
{
	if (!t)
		return;
	assert_memory_equal(tp_tensor_data(t), floats,
	    (size_t)tp_tensor_numel(t) * sizeof(float));
}

static void
assert_not_made(const void *p)
{
	assert_true(!p || p == UNTOUCHED);
}

static void
world_check(struct world *w)
{
	static const int8_t codes[6] = {1, 2, 3, 4, 5, 6};
	size_t value;

	assert_not_made(w->out);
	assert_not_made(w->allocator);
	assert_not_made(w->storage_2);
	assert_not_made(w->strings_2);
	assert_not_made(w->program_2);
	assert_int_equal(w->value_out.kind, TP_VALUE_NONE);
	assert_null(w->data.data);

	assert_floats(w->x);
	assert_floats(w->y);
	assert_floats(w->scratch);
	assert_floats(w->row);
	assert_floats(w->leaf);
	assert_false(tp_tensor_requires_grad(w->x));
	/* Nothing was added up, and what was computed in place is as before. */
	assert_null(tp_tensor_grad(w->leaf));
	assert_memory_equal(
	    tp_tensor_data(w->mid), w->mid_before, sizeof(w->mid_before));
	assert_false(tp_tensor_is_quantized(w->codes));
	assert_memory_equal(tp_tensor_data(w->codes), codes, sizeof(codes));
	assert_memory_equal(tp_tensor_data(w->quantized), codes, sizeof(codes));
	assert_int_equal(tp_storage_nbytes(w->storage), 64);
	assert_true(tp_map_find(&w->map, TP_STR("one"), &value) && value == 1);
	assert_false(tp_map_find(&w->map_2, TP_STR("key"), &value));
	assert_string_equal(tp_strings_at(w->strings, 1).s, "one");
}

static void
free_made(void *p, void (*release)(void *p))
{
	if (p != UNTOUCHED)
		release(p);
}

static void
free_tensor(void *p)
{
	tp_tensor_free(p);
}

static void
free_allocator(void *p)
{
	tp_allocator_free(p);
}

static void
free_storage(void *p)
{
	tp_storage_unref(p);
}

static void
free_strings(void *p)
{
	tp_strings_free(p);
}

static void
free_program(void *p)
{
	tp_program_free(p);
}

static void
world_release(struct world *w)
{
	struct tp_tensor *const tensors[] = {w->loss, w->mid, w->leaf,
	    w->turned, w->x, w->y, w->scratch, w->row, w->f64, w->codes,
	    w->quantized, w->scale, w->sparse, w->sparse_values,
	    w->sparse_indices};

	free_made(w->out, free_tensor);
	free_made(w->allocator, free_allocator);
	free_made(w->storage_2, free_storage);
	free_made(w->strings_2, free_strings);
	free_made(w->program_2, free_program);
	tp_value_release(&w->value_out);
	tp_value_release(&w->value);
	tp_value_release(&w->list);
	tp_value_release(&w->items[0]);
	for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++)
		tp_tensor_free(tensors[i]);
	tp_storage_unref(w->storage);
	tp_strings_free(w->strings);
	tp_map_release(&w->map);
	tp_map_release(&w->map_2);
	tp_program_free(w->program);
	tp_allocator_free(w->pool);
	tp_data_ptr_clear(&w->data);
	tp_data_ptr_clear(&w->data_2);
	if (w->block && !(w->grows && w->made))
		tp_mem_free(NULL, w->block, 10, 1);
	if (w->made)
		tp_mem_free(NULL, w->made, 20, 1);
}

#define NO_MEMORY_LIST "unit/no_memory/tensor.def"
#include "support/no_memory_list.h"

int
main(int argc, char **argv)
{
	return no_memory_main("tensor", argc, argv, NULL, NULL);
}
