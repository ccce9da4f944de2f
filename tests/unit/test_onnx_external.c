/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_external.c: values in files beside a model */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/onnx_wire.h"

static void
external(const char *words, const char *location, const char *offset,
    const char *length, const char *checksum)
{
	struct wire t = tensor(2, 4);

	wire_int(&t, 14, 1);
	if (location)
		add_location(&t, "location", location);
	if (offset)
		add_location(&t, "offset", offset);
	if (length)
		add_location(&t, "length", length);
	if (checksum)
		add_location(&t, "checksum", checksum);
	if (words)
		bad(&t, words);
	else
		good(&t, "cdef", 4);
}

static void
test_external(void **state)
{
	/* sha1sum of the six bytes. */
	static const char sum[] = "1f8ac10f23c5b5bc1167bda84b833e5c057a77d2";
	static const char wrong[] = "1f8ac10f23c5b5bc1167bda84b833e5c057a77d3";
	char upper[] = "1F8AC10F23C5B5BC1167BDA84B833E5C057A77D2";
	struct wire t = tensor(2, 4), g = {.n = 0};
	struct tp_reader *r = NULL;

	(void)state;
	write_file(temp_path(&test_dir, "w"), "abcdef", 6);
	external(NULL, "w", "2", NULL, NULL);
	external(NULL, "./w", "2", "4", sum);
	external(NULL, ".//w", "02", "4", upper);
	external("SHA-1", "w", "2", "4", wrong);
	external("SHA-1", "w", "2", "4", "");
	external("without a location", NULL, "2", "4", NULL);
	external("6 bytes, expected 4", "w", NULL, NULL, NULL);
	external(
	    "has 3 bytes from offset 3 on, expected 4", "w", "3", "4", NULL);
	external("has 0 bytes", "w", "7", "4", NULL);
	external("has 0 bytes", "w", "18446744073709551615", "4", NULL);
	external("not a number", "w", "18446744073709551616", "4", NULL);
	external("not a number", "w", "+2", "4", NULL);
	external("not a number", "w", " 2", "4", NULL);
	external("not a number", "w", "", "4", NULL);
	external("not a number", "w", "2", "0x4", NULL);
	external("external length is 0, expected 4", "w", "2", "0", NULL);
	external("leaves the folder", "..", NULL, NULL, NULL);
	external("leaves the folder", "a/..", NULL, NULL, NULL);
	external("leaves the folder", "../w", "2", "4", NULL);
	external("is absolute", "/w", "2", "4", NULL);

	add_location(&t, "location", "w");
	add_location(&t, "location", "w");
	wire_int(&t, 14, 1);
	bad(&t, "location given twice");

	/* A checksum may be left unread. */
	t = tensor(2, 6);
	add_location(&t, "location", "w");
	add_location(&t, "checksum", wrong);
	wire_int(&t, 14, 1);
	wire_msg(&g, 5, &t);
	assert_int_equal(open_graph(&g, TP_OPEN_NO_CHECKSUM, &r, NULL), TP_OK);
	check_bytes(r, 0, "abcdef", 6);
	tp_close(r);
}

static enum tp_status
open_external(const char *location, struct tp_err *err)
{
	struct wire t = tensor(2, 4);
	struct tp_reader *r = NULL;
	enum tp_status rc;

	wire_int(&t, 14, 1);
	add_location(&t, "location", location);
	rc = open_tensor(&t, &r, err);
	tp_close(r);
	return rc;
}

/* What is no regular file inside the folder. */
static void
test_external_files(void **state)
{
	struct tp_err err = TP_ERR_INIT;
	char target[600];

	(void)state;
	assert_int_equal(open_external("missing", &err), TP_EIO);
	assert_non_null(strstr(err.msg, "'missing'"));
	assert_int_equal(mkfifo(temp_path(&test_dir, "fifo"), 0600), 0);
	assert_int_equal(open_external("fifo", &err), TP_EIO);
	assert_int_equal(symlink("/dev/zero", temp_path(&test_dir, "dev")), 0);
	assert_int_equal(open_external("dev", &err), TP_EFORMAT);
	assert_int_equal(symlink("loop", temp_path(&test_dir, "loop")), 0);
	assert_int_equal(open_external("loop", &err), TP_EIO);
	assert_int_equal(symlink("/etc", temp_path(&test_dir, "etc")), 0);
	assert_int_equal(open_external("etc/passwd", &err), TP_EFORMAT);
	assert_non_null(strstr(err.msg, "leaves the folder"));

	/* A folder whose name only begins like that of the model. */
	snprintf(target, sizeof(target), "%sX", test_dir.path);
	assert_int_equal(mkdir(target, 0700), 0);
	assert_int_equal(symlink(target, temp_path(&test_dir, "out")), 0);
	assert_int_equal(open_external("out/x", &err), TP_EIO);
	snprintf(target, sizeof(target), "%sX/f", test_dir.path);
	write_file(target, "1234", 4);
	assert_int_equal(symlink(target, temp_path(&test_dir, "near")), 0);
	assert_int_equal(open_external("near", &err), TP_EFORMAT);
	assert_int_equal(unlink(target), 0);
	snprintf(target, sizeof(target), "%sX", test_dir.path);
	assert_int_equal(rmdir(target), 0);

	/* A folder in between, itself a link that stays inside. */
	assert_int_equal(mkdir(temp_path(&test_dir, "sub"), 0700), 0);
	write_file(temp_path(&test_dir, "sub/f"), "1234", 4);
	assert_int_equal(symlink("sub", temp_path(&test_dir, "link")), 0);
	assert_int_equal(open_external("link/f", &err), TP_OK);
	assert_int_equal(unlink(temp_path(&test_dir, "sub/f")), 0);
	assert_int_equal(rmdir(temp_path(&test_dir, "sub")), 0);
}

/* One file under several names is one source, one place is one storage. */
static void
test_external_shared(void **state)
{
	static const char *const locations[] = {"w", "./w", "w2", "w"};
	struct wire g = {.n = 0}, t;
	struct tp_reader *r = NULL;
	char name[2] = "a";

	(void)state;
	write_file(temp_path(&test_dir, "w"), "abcdefgh", 8);
	assert_int_equal(symlink("w", temp_path(&test_dir, "w2")), 0);
	for (size_t i = 0; i < 4; i++, name[0]++) {
		t.n = 0;
		wire_int(&t, 1, 4);
		wire_int(&t, 2, 2);
		wire_str(&t, 8, name);
		wire_int(&t, 14, 1);
		add_location(&t, "location", locations[i]);
		add_location(&t, "length", "4");
		if (i == 3)
			add_location(&t, "offset", "1");
		wire_msg(&g, 5, &t);
	}
	assert_int_equal(open_graph(&g, 0, &r, NULL), TP_OK);
	assert_non_null(tp_reader_file(r, 1, NULL));
	assert_null(tp_reader_file(r, 2, NULL));
	assert_int_equal(tp_reader_n_storages(r), 2);
	assert_int_equal(tp_reader_entry(r, 2)->storage, 0);
	assert_int_equal(tp_reader_entry(r, 3)->storage, 1);
	check_bytes(r, 2, "abcd", 4);
	check_bytes(r, 3, "bcde", 4);
	tp_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEMP_DIR_TEST(test_external),
	    TEMP_DIR_TEST(test_external_files),
	    TEMP_DIR_TEST(test_external_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
