/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/labels.c, trees.c, scores.c, features.c, linear.c, svm.c, encode.c:
 * operators of
 * ai.onnx.ml on values worked out by hand, and trees that are none
 */
#include "support/fail_alloc.h"
#include "support/op_calls.h"

static enum tp_status
ml_try(const char *onnx, int opset, const struct tp_attr *attrs, size_t n_attrs,
    struct tp_value *in, size_t n_in, struct tp_value *out,
    struct tp_strings *pool, const struct tp_alloc *alloc, struct tp_err *err)
{
	const struct tp_op_opts opts = {
	    .n_threads = 2, .alloc = alloc, .strings = pool};
	const struct tp_op *op = NULL;

	assert_int_equal(
	    tp_op_find(TP_STR("ai.onnx.ml"), tp_str(onnx), opset, &op, NULL),
	    TP_OK);
	return tp_op_run(op, attrs, n_attrs, in, n_in, out, 1, &opts, err);
}

static struct tp_tensor *
ml_result(const char *onnx, int opset, const struct tp_attr *attrs,
    size_t n_attrs, struct tp_tensor *const *in, size_t n_in)
{
	struct tp_value values[4], out;

	for (size_t k = 0; k < n_in; k++)
		values[k] = tp_value_of(in[k]);
	RUN(ml_try(
	    onnx, opset, attrs, n_attrs, values, n_in, &out, NULL, NULL, err));
	for (size_t k = 0; k < n_in; k++)
		tp_tensor_free(in[k]);
	return out.tensor;
}

static void
ml_refuses(const char *message, const char *onnx, int opset,
    const struct tp_attr *attrs, size_t n_attrs, struct tp_tensor *x)
{
	struct tp_value in = tp_value_of(x), out;
	struct tp_err err = TP_ERR_INIT;

	assert_int_equal(
	    ml_try(onnx, opset, attrs, n_attrs, &in, 1, &out, NULL, NULL, &err),
	    TP_EARG);
	assert_string_equal(err.msg, message);
	tp_tensor_free(x);
}

static void
features_are_changed_one_by_one(void **state)
{
	(void)state;
	check_tensor(
	    ml_result("Binarizer", 1, ATTRS(ATTR_FLOAT("threshold", 2)),
		INPUTS(I64(DIMS(4), 1, 2, 3, -4))),
	    TP_DTYPE_I64, DIMS(4), NUMBERS(0, 0, 1, 0), 0);
	check_tensor(
	    ml_result("Scaler", 1,
		ATTRS(ATTR_FLOATS("offset", 1, 2), ATTR_FLOATS("scale", 10)),
		INPUTS(I32(DIMS(2, 2), 1, 2, 3, 5))),
	    TP_DTYPE_F32, DIMS(2, 2), NUMBERS(0, 0, 20, 30), 0);
	check_tensor(ml_result("Imputer", 1,
			 ATTRS(ATTR_FLOATS("imputed_value_floats", 7, 8),
			     ATTR_FLOAT("replaced_value_float", NAN)),
			 INPUTS(F32(DIMS(2, 2), NAN, 2, 3, NAN))),
	    TP_DTYPE_F32, DIMS(2, 2), NUMBERS(7, 2, 3, 8), 0);
	check_tensor(ml_result("Imputer", 1,
			 ATTRS(ATTR_INTS("imputed_value_int64s", 9),
			     ATTR_INT("replaced_value_int64", 2)),
			 INPUTS(I64(DIMS(3), 1, 2, 3))),
	    TP_DTYPE_I64, DIMS(3), NUMBERS(1, 9, 3), 0);
	check_tensor(ml_result("ArrayFeatureExtractor", 1, NO_ATTRS,
			 INPUTS(F32(DIMS(2, 3), 1, 2, 3, 4, 5, 6),
			     I64(DIMS(1, 2), 2, 0))),
	    TP_DTYPE_F32, DIMS(2, 2), NUMBERS(3, 1, 6, 4), 0);
	check_tensor(ml_result("ArrayFeatureExtractor", 1, NO_ATTRS,
			 INPUTS(I32(DIMS(3), 7, 8, 9), I64(DIMS(2), 1, 1))),
	    TP_DTYPE_I32, DIMS(1, 2), NUMBERS(8, 8), 0);
	ml_refuses("Scaler: scale has 3 elements for 2 features", "Scaler", 1,
	    ATTRS(ATTR_FLOATS("scale", 1, 2, 3)), F32(DIMS(2), 1, 2));
	ml_refuses("Imputer: imputed_value_floats is missing", "Imputer", 1,
	    NO_ATTRS, F32(DIMS(2), 1, 2));
}

/* Equal NaN, equal zeros, and the first of equal keys. */
static void
numbers_have_labels(void **state)
{
	(void)state;
	check_tensor(ml_result("LabelEncoder", 2,
			 ATTRS(ATTR_FLOATS("keys_floats", NAN, 0, 2, 2),
			     ATTR_INTS("values_int64s", 10, 20, 30, 40)),
			 INPUTS(F32(DIMS(4), 2, -0.0, NAN, 5))),
	    TP_DTYPE_I64, DIMS(4), NUMBERS(30, 20, 10, -1), 0);
	check_tensor(ml_result("LabelEncoder", 4,
			 ATTRS(ATTR_INTS("keys_int64s", -3, 4),
			     ATTR_FLOATS("values_floats", 0.5, 1.5),
			     ATTR_FLOAT("default_float", 9)),
			 INPUTS(I64(DIMS(3), 4, -3, 0))),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(1.5, 0.5, 9), 0);
	ml_refuses("LabelEncoder: no values", "LabelEncoder", 2,
	    ATTRS(ATTR_INTS("keys_int64s", 1)), I64(DIMS(1), 1));
	ml_refuses("LabelEncoder: 1 keys and 2 values", "LabelEncoder", 2,
	    ATTRS(
		ATTR_INTS("keys_int64s", 1), ATTR_INTS("values_int64s", 1, 2)),
	    I64(DIMS(1), 1));
	ml_refuses("LabelEncoder: both keys_int64s and keys_floats",
	    "LabelEncoder", 2,
	    ATTRS(ATTR_INTS("keys_int64s", 1), ATTR_FLOATS("keys_floats", 2)),
	    I64(DIMS(1), 1));
	ml_refuses("LabelEncoder: the input has dtype f32, the keys have i64",
	    "LabelEncoder", 2,
	    ATTRS(ATTR_INTS("keys_int64s", 1), ATTR_INTS("values_int64s", 1)),
	    F32(DIMS(1), 1));
}

static void
strings_have_numbers(void **state)
{
	const struct tp_attr encoder =
	    ATTR_STRINGS("classes_strings", TP_STR("a"), TP_STR("b"));
	const struct tp_attr mapper[] = {
	    ATTR_STRINGS("cats_strings", TP_STR("x"), TP_STR("b")),
	    ATTR_INTS("cats_int64s", 5, 6), ATTR_INT("default_int64", 77)};
	struct tp_strings *pool = NULL;
	struct tp_value in, numbers, back;
	uint64_t b = 0, c = 0;

	(void)state;
	RUN(tp_strings_new(NULL, 0, &pool, err));
	RUN(tp_strings_add(pool, TP_STR("b"), &b, err));
	RUN(tp_strings_add(pool, TP_STR("c"), &c, err));
	in = tp_value_of(TENSOR(TP_DTYPE_U64, DIMS(2), (double)b, (double)c));
	in.kind = TP_VALUE_STRINGS;
	RUN(ml_try(
	    "LabelEncoder", 1, &encoder, 1, &in, 1, &numbers, pool, NULL, err));
	RUN(ml_try("LabelEncoder", 1, &encoder, 1, &numbers, 1, &back, pool,
	    NULL, err));
	assert_int_equal(back.kind, TP_VALUE_STRINGS);
	assert_int_equal(number_at(back.tensor, 0), b);
	assert_int_equal(
	    tp_str_cmp(tp_strings_at(pool, (uint64_t)number_at(back.tensor, 1)),
		TP_STR("_Unused")),
	    0);
	check_tensor(numbers.tensor, TP_DTYPE_I64, DIMS(2), NUMBERS(1, -1), 0);
	RUN(ml_try(
	    "CategoryMapper", 1, mapper, 3, &in, 1, &numbers, pool, NULL, err));
	check_tensor(numbers.tensor, TP_DTYPE_I64, DIMS(2), NUMBERS(6, 77), 0);
	tp_value_release(&in);
	tp_value_release(&back);
	tp_strings_free(pool);
}

/*
 * x0 <= 1 ? leaf 0 : x1 in {2, 3} ? leaf 1 : leaf 2; a second tree is node 1
 * alone. Lists that a test changes are its own.
 */
struct forest {
	int64_t features[2], yes[2], no[2], yes_leaf[2], no_leaf[2];
	int64_t targets[3], roots[2], missing[2];
	double modes[2];
	int64_t aggregate, after;
};

static const struct forest good = {.features = {0, 1},
    .yes = {0, 1},
    .no = {1, 2},
    .yes_leaf = {1, 1},
    .no_leaf = {0, 1},
    .targets = {0, 1, 0},
    .roots = {0, 1},
    .missing = {1, 0},
    .modes = {0, 6},
    .aggregate = 1};

#define LIST_OF(key, list)                                               \
	{                                                                \
		.name = TP_STR(key), .kind = TP_ATTR_INTS, .ints = list, \
		.n = COUNT_OF(list)                                      \
	}
#define NUMBERS_OF(key, value)                               \
	{                                                    \
		.name = TP_STR(key), .kind = TP_ATTR_TENSOR, \
		.tensor = &(value)                           \
	}

static enum tp_status
grow(const struct forest *f, const struct tp_alloc *alloc, struct tp_tensor *x,
    struct tp_value *y, struct tp_err *err)
{
	struct tp_value in = tp_value_of(x);
	struct tp_value modes =
	    tp_value_of(TENSOR(TP_DTYPE_U8, DIMS(2), f->modes[0], f->modes[1]));
	struct tp_value splits = tp_value_of(F32(DIMS(2), 1, 0));
	struct tp_value weights = tp_value_of(F32(DIMS(3), 10, 20, -30));
	struct tp_value members = tp_value_of(F32(DIMS(3), 2, 3, NAN));
	const struct tp_attr attrs[] = {
	    LIST_OF("nodes_featureids", f->features),
	    LIST_OF("nodes_truenodeids", f->yes),
	    LIST_OF("nodes_falsenodeids", f->no),
	    LIST_OF("nodes_trueleafs", f->yes_leaf),
	    LIST_OF("nodes_falseleafs", f->no_leaf),
	    LIST_OF("nodes_missing_value_tracks_true", f->missing),
	    LIST_OF("leaf_targetids", f->targets),
	    LIST_OF("tree_roots", f->roots), NUMBERS_OF("nodes_modes", modes),
	    NUMBERS_OF("nodes_splits", splits),
	    NUMBERS_OF("leaf_weights", weights),
	    NUMBERS_OF("membership_values", members), ATTR_INT("n_targets", 2),
	    ATTR_INT("aggregate_function", f->aggregate),
	    ATTR_INT("post_transform", f->after)};
	enum tp_status rc = ml_try("TreeEnsemble", 5, attrs, COUNT_OF(attrs),
	    &in, 1, y, NULL, alloc, err);

	tp_value_release(&modes);
	tp_value_release(&splits);
	tp_value_release(&weights);
	tp_value_release(&members);
	return rc;
}

static struct tp_tensor *
grown(const struct forest *f, struct tp_tensor *x)
{
	struct tp_value y;

	RUN(grow(f, NULL, x, &y, err));
	tp_tensor_free(x);
	return y.tensor;
}

static void
trees_vote(void **state)
{
	struct forest f = good;

	(void)state;
	/* Leaves by rows: 0 and 1, 2 and 2, 0 (NaN) and 2. */
	check_tensor(grown(&f, F32(DIMS(3, 2), 1, 3, 2, 4, NAN, 0)),
	    TP_DTYPE_F32, DIMS(3, 2), NUMBERS(10, 20, -60, 0, -20, 0), 0);
	f.aggregate = 0;
	check_tensor(grown(&f, F64(DIMS(2), 2, 4)), TP_DTYPE_F64, DIMS(1, 2),
	    NUMBERS(-30, 0), 0);
	f.aggregate = 2;
	check_tensor(grown(&f, F32(DIMS(1, 2), 1, 0)), TP_DTYPE_F32, DIMS(1, 2),
	    NUMBERS(-30, 0), 0);
	f.aggregate = 3;
	check_tensor(grown(&f, F32(DIMS(1, 2), 1, 0)), TP_DTYPE_F32, DIMS(1, 2),
	    NUMBERS(10, 0), 0);
	f.after = 1;
	check_tensor(grown(&f, F64(DIMS(1, 2), 1, 0)), TP_DTYPE_F64, DIMS(1, 2),
	    NUMBERS(1 / (1 + exp(-10)), 1 / (1 + exp(10))), 1e-15);
	f.after = 2;
	check_tensor(grown(&f, F64(DIMS(1, 2), 1, 0)), TP_DTYPE_F64, DIMS(1, 2),
	    NUMBERS(1 / (1 + exp(-10)), 0.5), 1e-15);
	/* A score of 0 stays. */
	f.after = 3;
	check_tensor(grown(&f, F64(DIMS(1, 2), 1, 0)), TP_DTYPE_F64, DIMS(1, 2),
	    NUMBERS(1, 0), 0);
}

static void
check_refused(const struct forest *f, const char *message)
{
	struct tp_tensor *x = F32(DIMS(1, 2), 5, 5);
	struct tp_err err = TP_ERR_INIT;
	struct tp_value y;

	assert_int_equal(grow(f, NULL, x, &y, &err), TP_EARG);
	assert_string_equal(err.msg, message);
	tp_tensor_free(x);
}

static void
what_is_no_tree_is_refused(void **state)
{
	struct forest f = good;

	(void)state;
	f.no[1] = 0;
	f.no_leaf[1] = 0;
	check_refused(&f, "TreeEnsemble: the nodes of tree 0 go in a circle");
	f = good;
	f.yes[0] = 3;
	check_refused(&f, "TreeEnsemble: node 0 goes to leaf 3 of 3");
	f = good;
	f.no[0] = INT64_MIN;
	check_refused(
	    &f, "TreeEnsemble: node 0 goes to node -9223372036854775808 of 2");
	f = good;
	f.features[1] = 2;
	check_refused(&f, "TreeEnsemble: node 1 asks for feature 2 of 2");
	f = good;
	f.targets[2] = 2;
	check_refused(&f, "TreeEnsemble: leaf 2 is for target 2 of 2");
	f = good;
	f.roots[1] = -1;
	check_refused(&f, "TreeEnsemble: tree 1 begins at node -1 of 2");
	f = good;
	f.modes[0] = 7;
	check_refused(&f, "TreeEnsemble: node 0 has mode 7");
	f = good;
	f.modes[0] = 6;
	check_refused(&f, "TreeEnsemble: node 1 has no set of members");
	f = good;
	f.after = 5;
	check_refused(
	    &f, "TreeEnsemble: aggregate_function 1, post_transform 5");
	ml_refuses("TreeEnsemble: nodes_truenodeids has 1 elements, expected 2",
	    "TreeEnsemble", 5,
	    ATTRS(ATTR_INT("n_targets", 1), ATTR_INTS("nodes_featureids", 0, 0),
		ATTR_INTS("nodes_truenodeids", 0)),
	    F32(DIMS(1), 1));
}

/* The quantiles of 0.975 and 0.5 are in every table. */
static void
scores_are_linear(void **state)
{
	(void)state;
	check_tensor(
	    ml_result("LinearRegressor", 1,
		ATTRS(ATTR_FLOATS("coefficients", 1, 2, 3, 4),
		    ATTR_FLOATS("intercepts", 10, 20), ATTR_INT("targets", 2)),
		INPUTS(I64(DIMS(2, 2), 1, 1, 0, 2))),
	    TP_DTYPE_F32, DIMS(2, 2), NUMBERS(13, 27, 14, 28), 0);
	check_tensor(ml_result("LinearRegressor", 1,
			 ATTRS(ATTR_FLOATS("coefficients", 1),
			     ATTR_STRING("post_transform", "PROBIT")),
			 INPUTS(F64(DIMS(5, 1), 0.975, 0.5, 0.025, 1e-9, 0))),
	    TP_DTYPE_F32, DIMS(5, 1),
	    NUMBERS(1.959963984540054, 0, -1.959963984540054,
		-5.997807015007687, -INFINITY),
	    1e-7);
	ml_refuses(
	    "LinearRegressor: 3 coefficients for 2 features and 1 scores",
	    "LinearRegressor", 1, ATTRS(ATTR_FLOATS("coefficients", 1, 2, 3)),
	    F32(DIMS(1, 2), 1, 2));
	ml_refuses("LinearRegressor: 2 intercepts, expected 1",
	    "LinearRegressor", 1,
	    ATTRS(ATTR_FLOATS("coefficients", 1),
		ATTR_FLOATS("intercepts", 1, 2)),
	    F32(DIMS(1, 1), 1));
}

static void
classes_have_the_largest_score(void **state)
{
	(void)state;
	check_tensor(ml_result("LinearClassifier", 1,
			 ATTRS(ATTR_FLOATS("coefficients", 1, -1, 2),
			     ATTR_INTS("classlabels_ints", 7, 8, 9)),
			 INPUTS(F32(DIMS(3, 1), 1, -1, 0))),
	    TP_DTYPE_I64, DIMS(3), NUMBERS(9, 8, 7), 0);
	/* One row for two labels. */
	check_tensor(ml_result("LinearClassifier", 1,
			 ATTRS(ATTR_FLOATS("coefficients", 1, 2),
			     ATTR_FLOATS("intercepts", -3),
			     ATTR_INTS("classlabels_ints", 7, 8)),
			 INPUTS(F32(DIMS(2, 2), 1, 2, 1, 0))),
	    TP_DTYPE_I64, DIMS(2), NUMBERS(8, 7), 0);
	ml_refuses("LinearClassifier: labels of no kind", "LinearClassifier", 1,
	    ATTRS(ATTR_FLOATS("coefficients", 1)), F32(DIMS(1, 1), 1));
}

#define SVM(kernel, ...)                                                   \
	ml_result("SVMRegressor", 1,                                       \
	    ATTRS(ATTR_STRING("kernel_type", kernel),                      \
		ATTR_FLOATS("kernel_params", 0.5, 1, 3),                   \
		ATTR_INT("n_supports", 2),                                 \
		ATTR_FLOATS("support_vectors", 1, 2, 0, -1),               \
		ATTR_FLOATS("coefficients", 2, -1), ATTR_FLOATS("rho", 4), \
		__VA_ARGS__),                                              \
	    INPUTS(F32(DIMS(1, 2), 3, 1)))

/* x = (3, 1) has products 5 and -1 with both, distances 5 and 13. */
static void
support_vectors_count(void **state)
{
	const int64_t one[] = {1, 1};
	const struct tp_attr none = ATTR_INT("one_class", 0);
	const struct tp_attr yes = ATTR_INT("one_class", 1);

	(void)state;
	check_tensor(SVM("LINEAR", none), TP_DTYPE_F32, one, 2, NUMBERS(15), 0);
	check_tensor(SVM("POLY", none), TP_DTYPE_F32, one, 2,
	    NUMBERS(4 + 2 * 42.875 - 0.125), 0);
	check_tensor(SVM("RBF", none), TP_DTYPE_F32, one, 2,
	    NUMBERS(4 + 2 * exp(-2.5) - exp(-6.5)), 1e-7);
	check_tensor(SVM("SIGMOID", none), TP_DTYPE_F32, one, 2,
	    NUMBERS(4 + 2 * tanh(3.5) - tanh(0.5)), 1e-7);
	check_tensor(SVM("LINEAR", yes), TP_DTYPE_F32, one, 2, NUMBERS(1), 0);
	check_tensor(ml_result("SVMRegressor", 1,
			 ATTRS(ATTR_FLOATS("coefficients", 2, -1),
			     ATTR_FLOATS("rho", 4)),
			 INPUTS(I64(DIMS(2, 2), 3, 1, 0, 0))),
	    TP_DTYPE_F32, DIMS(2, 1), NUMBERS(9, 4), 0);
	ml_refuses("SVMRegressor: 2 supports of 2 features, with 3 numbers, 2 "
		   "coefficients and 1 rho",
	    "SVMRegressor", 1,
	    ATTRS(ATTR_INT("n_supports", 2), ATTR_FLOATS("rho", 4),
		ATTR_FLOATS("coefficients", 2, -1),
		ATTR_FLOATS("support_vectors", 1, 2, 3)),
	    F32(DIMS(1, 2), 3, 1));
	ml_refuses("SVMRegressor: 0 kernel_params, expected 3", "SVMRegressor",
	    1, ATTRS(ATTR_STRING("kernel_type", "RBF")), F32(DIMS(1, 2), 3, 1));
}

static void
features_are_made(void **state)
{
	static const char *const norms[] = {"MAX", "L1", "L2"};
	static const double want[][4] = {{1, -4. / 3, 0, 0},
	    {3. / 7, -4. / 7, 0, 0}, {3. / 5, -4. / 5, 0, 0}};

	(void)state;
	for (int k = 0; k < 3; k++) {
		const struct tp_attr norm = {.name = TP_STR("norm"),
		    .kind = TP_ATTR_STRING,
		    .s = tp_str(norms[k])};

		check_tensor(ml_result("Normalizer", 1, &norm, 1,
				 INPUTS(F64(DIMS(2, 2), 3, -4, 0, 0))),
		    TP_DTYPE_F32, DIMS(2, 2), want[k], 4, 1e-7);
	}
	check_tensor(
	    ml_result("OneHotEncoder", 1, ATTRS(ATTR_INTS("cats_int64s", 4, 5)),
		INPUTS(F32(DIMS(3), 5, 6, 4))),
	    TP_DTYPE_F32, DIMS(3, 2), NUMBERS(0, 1, 0, 0, 1, 0), 0);
	ml_refuses("OneHotEncoder: element 0 is of no category",
	    "OneHotEncoder", 1,
	    ATTRS(ATTR_INTS("cats_int64s", 4), ATTR_INT("zeros", 0)),
	    I64(DIMS(1), 5));
	check_tensor(
	    ml_result("FeatureVectorizer", 1,
		ATTRS(ATTR_INTS("inputdimensions", 1, 2)),
		INPUTS(I64(DIMS(2, 1), 1, 2), F64(DIMS(2, 2), 3, 4, 5, 6))),
	    TP_DTYPE_F32, DIMS(2, 3), NUMBERS(1, 3, 4, 2, 5, 6), 0);
	ml_refuses("FeatureVectorizer: input 0 has not the rows or features "
		   "that are expected",
	    "FeatureVectorizer", 1, ATTRS(ATTR_INTS("inputdimensions", 3)),
	    F32(DIMS(1, 2), 1, 2));
}

static void
no_memory_is_a_clean_error(void **state)
{
	struct fail_alloc a = {.fail_at = 0};
	struct tp_tensor *x = F32(DIMS(1, 2), 1, 2);
	enum tp_status rc = TP_OK;
	struct tp_value y;

	(void)state;
	while (fail_alloc_next(&a, rc)) {
		rc = grow(&good, &a.alloc, x, &y, NULL);
		tp_value_release(&y);
	}
	assert_true(a.n_rounds > 6);
	a = (struct fail_alloc){.fail_at = 0};
	rc = TP_OK;
	while (fail_alloc_next(&a, rc)) {
		struct tp_value in = tp_value_of(x);

		rc = ml_try("LabelEncoder", 2,
		    ATTRS(ATTR_FLOATS("keys_floats", 2),
			ATTR_FLOATS("values_floats", 3)),
		    &in, 1, &y, NULL, &a.alloc, NULL);
		tp_value_release(&y);
	}
	assert_true(a.n_rounds > 3);
	tp_tensor_free(x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(features_are_changed_one_by_one),
	    cmocka_unit_test(numbers_have_labels),
	    cmocka_unit_test(strings_have_numbers),
	    cmocka_unit_test(trees_vote),
	    cmocka_unit_test(what_is_no_tree_is_refused),
	    cmocka_unit_test(scores_are_linear),
	    cmocka_unit_test(classes_have_the_largest_score),
	    cmocka_unit_test(support_vectors_count),
	    cmocka_unit_test(features_are_made),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
