/* SPDX-License-Identifier: Apache-2.0 */
/* schemas/native.md: its example is what is written, its codes are ours */
#include "support/cmocka_all.h"

#include <ctype.h>

#include "tp/dtype.h"

#include "formats/native.h"

#include "support/native_files.h"
#include "support/temp_dir.h"

#define SPEC TP_SOURCE_DIR "/schemas/native.md"

static FILE *
open_spec(void)
{
	FILE *f = fopen(SPEC, "r");

	if (!f)
		fail_msg("cannot open %s", SPEC);
	return f;
}

/*
 * A line of the dump: `OFFSET  hh hh hh …  what it is`. Two spaces end each
 * part. Appends the bytes; the offset must be where they go.
 */
static size_t
parse_line(const char *line, uint8_t *bytes, size_t n, size_t cap)
{
	char *end;

	assert_int_equal(strtoul(line, &end, 16), n);
	assert_memory_equal(end, "  ", 2);
	end++;
	while (end[0] == ' ' && isxdigit((unsigned char)end[1])) {
		assert_true(n < cap);
		bytes[n++] = (uint8_t)strtoul(end + 1, &end, 16);
	}
	return n;
}

static size_t
read_dump(uint8_t *bytes, size_t cap)
{
	char line[256];
	bool inside = false;
	FILE *f = open_spec();
	size_t n = 0;

	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "```", 3))
			inside = !strcmp(line, "```hex\n");
		else if (inside)
			n = parse_line(line, bytes, n, cap);
	}
	fclose(f);
	return n;
}

static void
the_dump_is_what_is_written(void **state)
{
	const struct native_model example = native_example();
	struct tp_err err = TP_ERR_INIT;
	uint8_t dump[1024] = {0};
	size_t n = read_dump(dump, sizeof(dump)), n_file;
	uint8_t *file;

	(void)state;
	if (native_write(temp_path(&test_dir, "e.tpt"), &example, NULL, &err))
		fail_msg("%s", err.msg);
	file = read_file(temp_path(&test_dir, "e.tpt"), &n_file);
	for (size_t i = 0; i < n_file && i < n; i++)
		if (file[i] != dump[i])
			fail_msg("byte %zu: written %02x, the dump has %02x", i,
			    file[i], dump[i]);
	assert_int_equal(n_file, n);
	free(file);
}

static void
the_dump_can_be_read(void **state)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	uint8_t dump[1024] = {0};
	size_t n = read_dump(dump, sizeof(dump));

	(void)state;
	write_file(temp_path(&test_dir, "d"), dump, n);
	if (tp_open(temp_path(&test_dir, "d"), NULL, &r, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(tp_reader_n_entries(r), 2);
	assert_string_equal(tp_reader_entry(r, 1)->name.s, "head");
	assert_int_equal(tp_reader_entry(r, 1)->storage, 0);
	assert_string_equal(tp_reader_meta(r, 0)->value.s, "pt");
	tp_close(r);
}

/* A row of the table: | code | dtype | bits | | code | dtype | bits | */
static unsigned
check_codes(const char *line)
{
	char name[2][16];
	unsigned code[2], bits[2];

	if (sscanf(line, "| %u | %15s | %u | | %u | %15s | %u |", &code[0],
		name[0], &bits[0], &code[1], name[1], &bits[1]) != 6)
		return 0;
	for (int i = 0; i < 2; i++) {
		enum tp_dtype dtype = tp_dtype_find(name[i]);

		assert_int_not_equal(dtype, TP_DTYPE_NONE);
		assert_int_equal(tpi_native_dtype_code(dtype), code[i]);
		assert_int_equal(tpi_native_dtype((uint16_t)code[i]), dtype);
		assert_int_equal(tp_dtype_bits(dtype), bits[i]);
	}
	return 2;
}

static void
codes_of_dtypes(void **state)
{
	unsigned n_codes = 0;
	FILE *f = open_spec();
	char line[512];

	(void)state;
	while (fgets(line, sizeof(line), f))
		n_codes += check_codes(line);
	fclose(f);
	assert_int_equal(n_codes, TP_DTYPE_COUNT - 1);
	assert_int_equal(tpi_native_dtype(0), TP_DTYPE_NONE);
	assert_int_equal(tpi_native_dtype(29), TP_DTYPE_NONE);
	assert_int_equal(tpi_native_dtype(65535), TP_DTYPE_NONE);
	assert_int_equal(tpi_native_dtype_code(TP_DTYPE_NONE), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_dump_is_what_is_written),
	    cmocka_unit_test(the_dump_can_be_read),
	    cmocka_unit_test(codes_of_dtypes),
	};

	return cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
}
