/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.c: names, sizes and the byte counts of packed elements */
#include "support/cmocka_all.h"

#include "tp/dtype.h"
#include "tp/onnx_dtype.h"

static void
every_name_finds_its_dtype(void **state)
{
	(void)state;
	for (unsigned i = TP_DTYPE_NONE + 1; i < TP_DTYPE_COUNT; i++)
		assert_int_equal(tp_dtype_find(tp_dtype_name(i)), i);
	assert_int_equal(tp_dtype_find("BFloat16"), TP_DTYPE_BF16);
	assert_int_equal(tp_dtype_find("none"), TP_DTYPE_NONE);
	assert_int_equal(tp_dtype_find(""), TP_DTYPE_NONE);
	assert_int_equal(tp_dtype_find("f322"), TP_DTYPE_NONE);
}

static void
packed_elements_fill_bytes(void **state)
{
	static const struct {
		enum tp_dtype dtype;
		uint64_t n, nbytes;
	} rows[] = {
	    {TP_DTYPE_U4, 0, 0},
	    {TP_DTYPE_U4, 1, 1},
	    {TP_DTYPE_U4, 2, 1},
	    {TP_DTYPE_U4, 5, 3},
	    {TP_DTYPE_I2, 4, 1},
	    {TP_DTYPE_I2, 5, 2},
	    {TP_DTYPE_F6E2M3, 4, 3},
	    {TP_DTYPE_F6E2M3, 5, 4},
	    {TP_DTYPE_F32, 3, 12},
	    {TP_DTYPE_C128, 2, 32},
	    {TP_DTYPE_U8, UINT64_MAX, UINT64_MAX},
	    {TP_DTYPE_I4, UINT64_MAX, UINT64_C(1) << 63},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t nbytes = 77;

		assert_int_equal(
		    tp_dtype_nbytes(rows[i].dtype, rows[i].n, &nbytes, NULL),
		    TP_OK);
		assert_int_equal(nbytes, rows[i].nbytes);
	}
}

static void
overflow_and_strings_are_refused(void **state)
{
	struct tp_err err = TP_ERR_INIT;
	uint64_t nbytes = 77;

	(void)state;
	assert_int_equal(tp_dtype_nbytes(TP_DTYPE_F32, (UINT64_C(1) << 62) + 1,
			     &nbytes, &err),
	    TP_ELIMIT);
	assert_int_equal(
	    tp_dtype_nbytes(TP_DTYPE_U16, UINT64_MAX, &nbytes, &err),
	    TP_ELIMIT);
	assert_int_equal(
	    tp_dtype_nbytes(TP_DTYPE_STRING, 1, &nbytes, &err), TP_EARG);
	assert_int_equal(nbytes, 77);
}

static void
onnx_numbers_and_names_lead_back(void **state)
{
	int64_t code = 1;

	(void)state;
	for (; tp_onnx_dtype(code); code++)
		assert_int_equal(tp_onnx_code(tp_onnx_dtype(code)), code);
	assert_int_equal(code, 27);
	assert_int_equal(tp_onnx_dtype(0), TP_DTYPE_NONE);
	assert_int_equal(tp_onnx_dtype(-1), TP_DTYPE_NONE);
	assert_int_equal(tp_onnx_dtype(INT64_C(1) << 32 | 1), TP_DTYPE_NONE);
	assert_int_equal(tp_onnx_code(TP_DTYPE_F6E2M3), 0);
	assert_int_equal(tp_onnx_dtype_named(TP_STR("DOUBLE")), TP_DTYPE_F64);
	assert_int_equal(tp_onnx_dtype_named(TP_STR("double")), TP_DTYPE_NONE);
	assert_int_equal(tp_onnx_dtype_named(TP_STR("")), TP_DTYPE_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_name_finds_its_dtype),
	    cmocka_unit_test(packed_elements_fill_bytes),
	    cmocka_unit_test(overflow_and_strings_are_refused),
	    cmocka_unit_test(onnx_numbers_and_names_lead_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
