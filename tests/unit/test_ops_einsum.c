/* SPDX-License-Identifier: Apache-2.0 */
/* ops/einsum*.c, ops/det.c: what numpy.einsum finds; equations with faults */
#include "support/fail_alloc.h"
#include "support/op_calls.h"

#define MAX_IN 3

struct equation {
	const char *text;
	size_t n_in;
	unsigned ranks[MAX_IN];
	int64_t sizes[MAX_IN][4];
	unsigned rank;
	int64_t output[4];
	double want[24];
};

/* Element i of operand k is (7 i + 3 k + 1) % 11 - 4. */
static const struct equation equations[] = {
    {"ij->ji", 1, {2}, {{2, 3}}, 2, {3, 2}, {-3, -4, 4, 3, 0, -1}},
    {"ii->i", 1, {2}, {{3, 3}}, 1, {3}, {-3, 3, -2}},
    {"ii", 1, {2}, {{3, 3}}, 0, {0}, {-2}},
    {"ij->", 1, {2}, {{2, 3}}, 0, {0}, {-1}},
    {"i,i", 2, {1, 1}, {{4}, {4}}, 0, {0}, {-12}},
    {"i,j->ij", 2, {1, 1}, {{2}, {3}}, 2, {2, 3}, {0, 12, -9, 0, -16, 12}},
    {"ij,jk", 2, {2, 2}, {{2, 3}, {3, 2}}, 2, {2, 2}, {12, 8, 3, 11}},
    {"ij,jk->ki", 2, {2, 2}, {{2, 3}, {3, 2}}, 2, {2, 2}, {12, 3, 8, 11}},
    {"bij,bjk->bik", 2, {3, 3}, {{2, 2, 3}, {2, 3, 2}}, 3, {2, 2, 2},
	{12, 8, 3, 11, -18, 24, -21, 22}},
    {"bij,jk->bik", 2, {3, 2}, {{2, 2, 3}, {3, 2}}, 3, {2, 2, 2},
	{12, 8, 3, 11, -6, -30, -15, -27}},
    {"ijk,jil->kl", 2, {3, 3}, {{2, 3, 2}, {3, 2, 2}}, 2, {2, 2},
	{29, -13, -41, 2}},
    {"i,ij,j->", 3, {1, 2, 1}, {{2}, {2, 3}, {3}}, 0, {0}, {-54}},
    {"...ii ->...i", 1, {3}, {{2, 3, 3}}, 2, {2, 3}, {-3, 3, -2, 5, 0, 6}},
    {"...ij,...jk->...ik", 2, {4, 3}, {{2, 1, 2, 2}, {3, 2, 2}}, 4,
	{2, 3, 2, 2},
	{12, 8, -12, 4, -26, 14, 8, -20, 13, 9, -16, 0, -3, -11, 6, -26, 20, 1,
	    32, 22, -1, -9, 14, -18}},
    {"ij...,jk...->ik...", 2, {3, 3}, {{2, 2, 3}, {2, 2, 3}}, 3, {2, 2, 3},
	{8, -1, -1, 15, 36, 0, -10, -3, -9, -21, 16, -4}},
    {"ij,ij->ij", 2, {2, 2}, {{2, 3}, {1, 3}}, 2, {2, 3},
	{0, -16, 0, 0, -12, -3}},
    {"ij,kj->", 2, {2, 2}, {{2, 3}, {2, 3}}, 0, {0}, {16}},
    {"iij,jk->ik", 2, {3, 2}, {{2, 2, 3}, {3, 2}}, 2, {2, 2},
	{12, 8, -15, -27}},
    {"a,b,c->cab", 3, {1, 1, 1}, {{2}, {2}, {2}}, 3, {2, 2, 2},
	{0, 36, 0, -48, 0, -12, 0, 16}},
    {"->", 1, {0}, {{0}}, 0, {0}, {-3}},
    {"", 1, {0}, {{0}}, 0, {0}, {-3}},
    {" , -> ", 2, {0, 0}, {{0}, {0}}, 0, {0}, {0}},
    {"B a,aB", 2, {2, 2}, {{2, 3}, {3, 2}}, 0, {0}, {23}},
    /* Upper case before lower. */
    {"aB", 1, {2}, {{2, 3}}, 2, {3, 2}, {-3, -4, 4, 3, 0, -1}},
    {"ij,ik->ijk", 2, {2, 2}, {{2, 2}, {2, 3}}, 3, {2, 2, 3},
	{0, 12, -9, 0, -16, 12, 0, 0, 0, 4, -24, -8}},
    {"abc,cd->abd", 2, {3, 2}, {{2, 2, 2}, {2, 2}}, 3, {2, 2, 2},
	{12, 8, -12, 4, -3, -11, 6, -26}},
    {"i...->...", 1, {2}, {{2, 3}}, 1, {3}, {-7, 7, -1}},
    {"...,...", 2, {1, 2}, {{2}, {3, 2}}, 2, {3, 2}, {0, -16, -9, -4, -18, 8}},
    /* Sums of nothing. */
    {"ij,jk", 2, {2, 2}, {{2, 0}, {0, 1}}, 2, {2, 1}, {0, 0}},
    {"ij->i", 1, {2}, {{2, 0}}, 1, {2}, {0, 0}},
};

static struct tp_tensor *
operand(
    enum tp_dtype dtype, const struct equation *q, size_t k, enum placement how)
{
	struct tp_tensor *t =
	    placed_tensor(dtype, q->sizes[k], q->ranks[k], how);

	for (uint64_t i = 0; i < tp_tensor_numel(t); i++)
		set_number(t, i, (double)((7 * i + 3 * k + 1) % 11) - 4);
	return t;
}

static void
equations_mean_what_numpy_takes_them_for(void **state)
{
	static const enum tp_dtype dtypes[] = {TP_DTYPE_F32, TP_DTYPE_F64,
	    TP_DTYPE_BF16, TP_DTYPE_I32, TP_DTYPE_I8};

	(void)state;
	for (size_t e = 0; e < COUNT_OF(equations); e++)
		for (unsigned v = 0; v < COUNT_OF(dtypes) * N_PLACEMENTS; v++) {
			const struct equation *q = &equations[e];
			const struct tp_attr attr = {.name = TP_STR("equation"),
			    .kind = TP_ATTR_STRING,
			    .s = tp_str(q->text)};
			enum tp_dtype dtype = dtypes[v / N_PLACEMENTS];
			struct tp_tensor *in[MAX_IN], *y;
			size_t n = 1;

			for (size_t k = 0; k < q->n_in; k++)
				in[k] = operand(dtype, q, k,
				    (enum placement)(v % N_PLACEMENTS));
			for (unsigned d = 0; d < q->rank; d++)
				n *= (size_t)q->output[d];
			y = op_result("Einsum", 12, &attr, 1, in, q->n_in);
			check_tensor(
			    y, dtype, q->output, q->rank, q->want, n, 0);
		}
}

static void
refuses(const char *equation, const char *why, struct tp_tensor *a,
    struct tp_tensor *b)
{
	const struct tp_attr attr = {.name = TP_STR("equation"),
	    .kind = TP_ATTR_STRING,
	    .s = tp_str(equation)};
	struct tp_tensor *const in[] = {a, b};
	char message[200];

	snprintf(message, sizeof(message), "Einsum: equation '%s': %s",
	    equation, why);
	op_refuses(TP_EARG, message, "Einsum", 12, &attr, 1, in, b ? 2 : 1);
}

#define ROW F32(DIMS(2), 1, 2)
#define SQUARE F32(DIMS(2, 2), 1, 2, 3, 4)

static void
faults_of_equations_are_told(void **state)
{
	(void)state;
	refuses("i", "fewer terms than inputs", ROW, ROW);
	refuses("i,j", "more terms than inputs", ROW, NULL);
	refuses("ij", "a term has not the axes of its input", ROW, NULL);
	refuses("i", "a term has not the axes of its input", SQUARE, NULL);
	refuses("ijk...", "a term has not the axes of its input", SQUARE, NULL);
	refuses("i->j", "no input has an output's axis", ROW, NULL);
	refuses("i->ii", "the output has an axis twice", ROW, NULL);
	refuses("i->i->i", "more than an output after '->'", ROW, NULL);
	refuses("i1->i", "expected a letter, '...', ',' or '->'", ROW, NULL);
	refuses("i-", "expected a letter, '...', ',' or '->'", ROW, NULL);
	refuses("..i", "a term has not the axes of its input", ROW, NULL);
	refuses("......i", "expected a letter, '...', ',' or '->'", ROW, NULL);
	op_refuses(TP_EARG, "Einsum: axis 'i' has sizes 2 and 3", "Einsum", 12,
	    ATTRS(ATTR_STRING("equation", "i,i")),
	    INPUTS(ROW, F32(DIMS(3), 1, 2, 3)));
	op_refuses(TP_EARG, "Einsum: input 1 has dtype f64, input 0 has f32",
	    "Einsum", 12, ATTRS(ATTR_STRING("equation", "i,i")),
	    INPUTS(ROW, F64(DIMS(2), 1, 2)));
	op_refuses(TP_EARG, "Einsum: input 1 is missing", "Einsum", 12,
	    ATTRS(ATTR_STRING("equation", "i,i,i")), INPUTS(ROW, NULL, ROW));
	op_refuses(TP_EARG, "Einsum: equation is missing", "Einsum", 12,
	    NO_ATTRS, INPUTS(ROW));
}

static void
determinants_are_found_by_elimination(void **state)
{
	(void)state;
	check_tensor(
	    op_result("Det", 11, NO_ATTRS,
		INPUTS(F32(DIMS(3, 2, 2), 1, 2, 3, 4, 0, 1, 1, 0, 2, 4, 1, 2))),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(-2, -1, 0), 0);
	check_tensor(op_result("Det", 22, NO_ATTRS,
			 INPUTS(F64(DIMS(3, 3), 2, -1, 3, 4, 0, 1, -2, 5, 7))),
	    TP_DTYPE_F64, SCALAR, NUMBERS(80), 1e-15);
	check_tensor(op_result("Det", 11, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(2, 0, 0)))),
	    TP_DTYPE_F32, DIMS(2), NUMBERS(1, 1), 0);
	op_refuses(TP_EARG, "Det: shape [2, 3], expected square matrices",
	    "Det", 11, NO_ATTRS, INPUTS(F32(DIMS(2, 3), 1, 2, 3, 4, 5, 6)));
	op_refuses(TP_EARG, "Det: shape [2], expected square matrices", "Det",
	    11, NO_ATTRS, INPUTS(ROW));
}

static enum tp_status
einsum_with(const struct tp_alloc *alloc, size_t e)
{
	const struct equation *q = &equations[e];
	const struct tp_attr attr = {.name = TP_STR("equation"),
	    .kind = TP_ATTR_STRING,
	    .s = tp_str(q->text)};
	struct tp_tensor *in[MAX_IN];
	struct tp_value out;
	enum tp_status rc;

	for (size_t k = 0; k < q->n_in; k++)
		in[k] = operand(TP_DTYPE_F32, q, k, CROSSED);
	rc = op_try("Einsum", 12, &attr, 1, in, q->n_in, &out, 1, alloc, NULL);
	tp_value_release(&out);
	for (size_t k = 0; k < q->n_in; k++)
		tp_tensor_free(in[k]);
	return rc;
}

static void
no_memory_is_a_clean_error(void **state)
{
	(void)state;
	for (size_t e = 0; e < COUNT_OF(equations); e++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;

		while (fail_alloc_next(&a, rc))
			rc = einsum_with(&a.alloc, e);
		assert_true(a.n_rounds > 4);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equations_mean_what_numpy_takes_them_for),
	    cmocka_unit_test(faults_of_equations_are_told),
	    cmocka_unit_test(determinants_are_found_by_elimination),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
