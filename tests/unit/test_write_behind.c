/* SPDX-License-Identifier: Apache-2.0 */
/* write_behind.c: what is given arrives, failures are told, nothing leaks */
#include "support/cmocka_all.h"

#include <fcntl.h>

#include "formats/write_behind.h"

#include "support/fail_alloc.h"
#include "support/temp_dir.h"

#define NBYTES ((size_t)4096)
#define N_BUFFERS 300

/* Where there is one processor nothing is gained, and nothing to be tested. */
static struct tpi_behind *
new_or_skip(const struct tp_alloc *alloc, int fd)
{
	struct tpi_behind *b = tpi_behind_new(alloc, fd, NBYTES);

	if (!b) {
		print_message("SKIPPED: one processor only\n");
		close(fd);
		skip();
	}
	return b;
}

/* Buffers of different sizes at their offsets, the last ones first. */
static void
buffers_arrive(void **state)
{
	int fd = open(temp_path(&test_dir, "a"), O_CREAT | O_RDWR, 0600);
	struct tpi_behind *b;
	struct fail_alloc alloc;
	struct tp_err err = TP_ERR_INIT;
	uint8_t *buf, back[NBYTES];

	(void)state;
	fail_alloc_init(&alloc, 0);
	b = new_or_skip(&alloc.alloc, fd);
	buf = tp_mem_array(&alloc.alloc, NBYTES, 1);
	assert_non_null(buf);
	for (size_t i = N_BUFFERS; i-- > 0;) {
		size_t n = NBYTES - i;

		memset(buf, (int)(i & 0xff), n);
		if (tpi_behind_give(b, &buf, n, i * NBYTES, &err))
			fail_msg("%s", err.msg);
	}
	assert_int_equal(tpi_behind_wait(b, &err), TP_OK);
	for (size_t i = 0; i < N_BUFFERS; i++) {
		size_t n = NBYTES - i;

		assert_int_equal(
		    pread(fd, back, n, (off_t)(i * NBYTES)), (ssize_t)n);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(back[k], i & 0xff);
	}
	assert_int_equal(tpi_behind_wait(b, &err), TP_OK);
	tpi_behind_free(b);
	tp_mem_free(&alloc.alloc, buf, NBYTES, 1);
	assert_int_equal(alloc.n_live, 0);
	close(fd);
}

/* What was given is written even if nobody waits for it. */
static void
free_waits(void **state)
{
	int fd = open(temp_path(&test_dir, "f"), O_CREAT | O_RDWR, 0600);
	struct tpi_behind *b = new_or_skip(NULL, fd);
	uint8_t *buf = tp_mem_array(NULL, NBYTES, 1);

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
		    tpi_behind_give(b, &buf, NBYTES, i * NBYTES, NULL), TP_OK);
	tpi_behind_free(b);
	assert_int_equal(lseek(fd, 0, SEEK_END), 3 * NBYTES);
	tp_mem_free(NULL, buf, NBYTES, 1);
	close(fd);
}

static void
a_failed_write_is_told(void **state)
{
	int fd = open("/dev/null", O_RDONLY);
	struct tpi_behind *b = new_or_skip(NULL, fd);
	uint8_t *buf = tp_mem_array(NULL, NBYTES, 1), *mine;
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	assert_int_equal(tpi_behind_give(b, &buf, NBYTES, 0, &err), TP_OK);
	assert_int_equal(tpi_behind_wait(b, &err), TP_EOUTPUT);
	assert_non_null(strstr(err.msg, "write of 4096 bytes at 0"));

	/* And again, each time, without taking the buffer. */
	mine = buf;
	assert_int_equal(
	    tpi_behind_give(b, &buf, NBYTES, NBYTES, &err), TP_EOUTPUT);
	assert_ptr_equal(buf, mine);
	assert_int_equal(tpi_behind_wait(b, NULL), TP_EOUTPUT);
	tpi_behind_free(b);
	tp_mem_free(NULL, buf, NBYTES, 1);
	close(fd);
}

static void
without_memory_there_is_none(void **state)
{
	int fd = open("/dev/null", O_WRONLY);

	(void)state;
	for (size_t at = 1; at <= 4; at++) {
		struct fail_alloc alloc;

		fail_alloc_init(&alloc, at);
		assert_null(tpi_behind_new(&alloc.alloc, fd, NBYTES));
		assert_int_equal(alloc.n_live, 0);
	}
	tpi_behind_free(NULL);
	assert_int_equal(tpi_behind_wait(NULL, NULL), TP_OK);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(buffers_arrive),
	    cmocka_unit_test(free_waits),
	    cmocka_unit_test(a_failed_write_is_told),
	    cmocka_unit_test(without_memory_there_is_none),
	};

	return cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
}
