/* SPDX-License-Identifier: Apache-2.0 */
/* sink.c: a name holds the old file or the whole new one, never a part */
#include "support/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/sink.h"
#include "formats/stream.h"
#include "support/fail_alloc.h"
#include "support/temp_dir.h"

static void
assert_file(const char *path, const char *text)
{
	char *data = read_file(path, NULL);

	assert_string_equal(data, text);
	free(data);
}

static void
commit(struct tpi_sink *s)
{
	assert_int_equal(tpi_sink_flush(s, NULL), TP_OK);
	assert_int_equal(tpi_sink_rename(s, NULL), TP_OK);
}

static void
the_name_appears_at_the_commit(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "new");
	struct tpi_sink *s;

	assert_int_equal(
	    tpi_sink_open(NULL, path, false, TP_SYNC_ALWAYS, &s, NULL), TP_OK);
	assert_int_equal(tpi_sink_write(s, "hello", 5, NULL), TP_OK);
	assert_int_equal(tpi_sink_align(s, 8, NULL), TP_OK);
	assert_int_equal(tpi_sink_write(s, "!", 1, NULL), TP_OK);
	assert_int_equal(tpi_sink_patch(s, 5, "abc", 3, NULL), TP_OK);
	assert_int_equal(tpi_sink_size(s), 9);
	assert_int_not_equal(access(path, F_OK), 0);
	commit(s);
	tpi_sink_close(s);
	assert_file(path, "helloabc!");
	assert_int_equal(temp_dir_count(d), 1);
}

static void
without_a_commit_nothing_is_left(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "old");
	struct tpi_sink *s;

	write_file(path, "old", 3);
	assert_int_equal(
	    tpi_sink_open(NULL, path, true, TP_SYNC_AUTO, &s, NULL), TP_OK);
	assert_int_equal(tpi_sink_write(s, "new", 3, NULL), TP_OK);
	assert_int_equal(temp_dir_count(d), 2);
	tpi_sink_close(s);
	assert_file(path, "old");
	assert_int_equal(temp_dir_count(d), 1);
}

static void
an_existing_file_needs_force_and_keeps_its_mode(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "old");
	struct tp_err err = TP_ERR_INIT;
	struct tpi_sink *s = NULL;
	struct stat st;

	write_file(path, "old", 3);
	chmod(path, 0640);
	assert_int_equal(
	    tpi_sink_open(NULL, path, false, TP_SYNC_AUTO, &s, &err),
	    TP_EOUTPUT);
	assert_null(s);
	assert_string_equal(err.msg, "exists already");
	assert_int_equal(
	    tpi_sink_open(NULL, path, true, TP_SYNC_AUTO, &s, NULL), TP_OK);
	assert_int_equal(tpi_sink_write(s, "new", 3, NULL), TP_OK);
	commit(s);
	tpi_sink_close(s);
	assert_file(path, "new");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void
a_file_that_came_meanwhile_is_kept(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "late");
	struct tpi_sink *s;

	assert_int_equal(
	    tpi_sink_open(NULL, path, false, TP_SYNC_NEVER, &s, NULL), TP_OK);
	write_file(path, "theirs", 6);
	assert_int_equal(tpi_sink_flush(s, NULL), TP_OK);
	assert_int_equal(tpi_sink_rename(s, NULL), TP_EOUTPUT);
	tpi_sink_close(s);
	assert_file(path, "theirs");
	assert_int_equal(temp_dir_count(d), 1);
}

static void
a_left_over_part_is_taken_over_a_locked_one_is_not(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "x");
	struct tp_err err = TP_ERR_INIT;
	struct tpi_sink *first, *second = NULL;

	write_file(temp_path(d, ".x.tp-part"), "from a run that died", 20);
	assert_int_equal(
	    tpi_sink_open(NULL, path, false, TP_SYNC_NEVER, &first, NULL),
	    TP_OK);
	assert_int_equal(
	    tpi_sink_open(NULL, path, false, TP_SYNC_NEVER, &second, &err),
	    TP_EOUTPUT);
	assert_non_null(strstr(err.msg, "another run is writing it"));
	assert_int_equal(tpi_sink_write(first, "ok", 2, NULL), TP_OK);
	commit(first);
	tpi_sink_close(first);
	assert_file(path, "ok");
	assert_int_equal(temp_dir_count(d), 1);
}

static void
a_link_is_followed_not_replaced(void **state)
{
	struct temp_dir *d = *state;
	const char *target = temp_path(d, "target");
	const char *link_path = temp_path(d, "link");
	struct tpi_sink *s = NULL;
	struct stat st;

	write_file(target, "old", 3);
	assert_int_equal(symlink("target", link_path), 0);
	assert_int_equal(
	    tpi_sink_open(NULL, link_path, true, TP_SYNC_NEVER, &s, NULL),
	    TP_OK);
	assert_int_equal(tpi_sink_write(s, "new", 3, NULL), TP_OK);
	commit(s);
	tpi_sink_close(s);
	assert_file(target, "new");
	assert_int_equal(lstat(link_path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));

	unlink(target);
	assert_int_equal(
	    tpi_sink_open(NULL, link_path, true, TP_SYNC_NEVER, &s, NULL),
	    TP_EOUTPUT);
}

static void
what_cannot_be_written_is_refused(void **state)
{
	struct temp_dir *d = *state;
	char long_name[300], path[600];
	struct tpi_sink *s = NULL;

	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[250] = '\0';
	snprintf(path, sizeof(path), "%s/%s", d->path, long_name);
	assert_int_equal(
	    tpi_sink_open(NULL, path, true, TP_SYNC_NEVER, &s, NULL),
	    TP_EOUTPUT);
	assert_int_equal(
	    tpi_sink_open(NULL, d->path, true, TP_SYNC_NEVER, &s, NULL),
	    TP_EOUTPUT);
	assert_int_equal(tpi_sink_open(NULL, temp_path(d, "none/x"), true,
			     TP_SYNC_NEVER, &s, NULL),
	    TP_EOUTPUT);
	assert_int_equal(temp_dir_count(d), 0);
}

static void
a_device_is_written_to_and_stays_a_device(void **state)
{
	struct tpi_sink *s;
	struct stat st;

	(void)state;
	assert_int_equal(
	    tpi_sink_open(NULL, "/dev/null", false, TP_SYNC_AUTO, &s, NULL),
	    TP_OK);
	assert_int_equal(tpi_sink_write(s, "x", 1, NULL), TP_OK);
	commit(s);
	tpi_sink_close(s);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));

	assert_int_equal(
	    tpi_sink_open(NULL, "/dev/full", true, TP_SYNC_AUTO, &s, NULL),
	    TP_OK);
	assert_int_equal(tpi_sink_write(s, "x", 1, NULL), TP_OK);
	assert_int_equal(tpi_sink_flush(s, NULL), TP_OK);
	assert_int_equal(tpi_sink_rename(s, NULL), TP_EOUTPUT);
	tpi_sink_close(s);
}

enum way {
	BY_KERNEL,
	BY_HAND,
};

/* n bytes of the source behind the three that the sink has. */
static struct tp_stream *
open_stream(const struct tp_alloc *alloc, const struct tpi_source *src,
    enum way way, size_t n)
{
	struct tp_stream *stream = NULL;

	if (tpi_stream_raw(alloc, src, way == BY_KERNEL ? 3 : 5, n, false, 0,
		TP_STR("t"), &stream, NULL))
		return NULL;
	if (way == BY_HAND)
		stream->src = NULL;
	return stream;
}

/* Larger than any buffer, at odd offsets. */
static void
streams_arrive_byte_for_byte(void **state)
{
	struct temp_dir *d = *state;
	const size_t n = 17 * TPI_CHUNK + 17;
	const char *in = temp_path(d, "in"), *out = temp_path(d, "out");
	uint8_t *data = malloc(n);
	char *back;

	assert_non_null(data);
	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
	write_file(in, data, n);
	for (enum way way = BY_KERNEL; way <= BY_HAND; way++) {
		struct tpi_source *src;
		struct tp_stream *stream;
		struct tpi_sink *s;
		size_t got;

		assert_int_equal(tpi_source_open(NULL, in, &src, NULL), TP_OK);
		stream = open_stream(NULL, src, way, n - 5);
		assert_non_null(stream);
		assert_int_equal(
		    tpi_sink_open(NULL, out, true, TP_SYNC_NEVER, &s, NULL),
		    TP_OK);
		assert_int_equal(tpi_sink_write(s, "abc", 3, NULL), TP_OK);
		assert_int_equal(tpi_sink_stream(s, stream, NULL), TP_OK);
		assert_int_equal(tp_stream_left(stream), 0);
		assert_int_equal(tpi_sink_write(s, "z", 1, NULL), TP_OK);
		commit(s);
		back = read_file(out, &got);
		assert_int_equal(got, 3 + n - 5 + 1);
		assert_memory_equal(back, "abc", 3);
		assert_memory_equal(
		    back + 3, data + (way == BY_KERNEL ? 3 : 5), n - 5);
		assert_int_equal(back[got - 1], 'z');
		free(back);
		tp_stream_close(stream);
		tpi_source_close(src);
		tpi_sink_close(s);
	}
	free(data);
}

/* A sink over path with the text new, flushed. */
static struct tpi_sink *
new_text(const char *path, bool force)
{
	struct tpi_sink *s = NULL;

	assert_int_equal(
	    tpi_sink_open(NULL, path, force, TP_SYNC_NEVER, &s, NULL), TP_OK);
	assert_int_equal(tpi_sink_write(s, "new", 3, NULL), TP_OK);
	assert_int_equal(tpi_sink_flush(s, NULL), TP_OK);
	return s;
}

static void
a_commit_can_be_undone_until_it_is_settled(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "old"), *other = temp_path(d, "none");

	for (int leave = 0; leave < 2; leave++) {
		struct tpi_sink *s, *t;

		write_file(path, "old", 3);
		s = new_text(path, true);
		t = new_text(other, false);
		assert_int_equal(tpi_sink_set_aside(s, leave, NULL), TP_OK);
		assert_int_equal(tpi_sink_set_aside(t, leave, NULL), TP_OK);
		assert_int_equal(access(path, F_OK), leave ? 0 : -1);
		assert_int_equal(tpi_sink_rename(s, NULL), TP_OK);
		assert_int_equal(tpi_sink_rename(t, NULL), TP_OK);
		assert_file(path, "new");
		assert_file(other, "new");
		tpi_sink_undo(s);
		tpi_sink_undo(t);
		assert_file(path, "old");
		tpi_sink_close(s);
		tpi_sink_close(t);
		assert_int_equal(temp_dir_count(d), 1);

		s = new_text(path, true);
		assert_int_equal(tpi_sink_set_aside(s, leave, NULL), TP_OK);
		assert_int_equal(tpi_sink_rename(s, NULL), TP_OK);
		assert_int_equal(temp_dir_count(d), 2);
		tpi_sink_settle(s);
		tpi_sink_undo(s);
		tpi_sink_close(s);
		assert_file(path, "new");
		assert_int_equal(temp_dir_count(d), 1);

		/* Before anything has its name. */
		s = new_text(path, true);
		assert_int_equal(tpi_sink_set_aside(s, leave, NULL), TP_OK);
		tpi_sink_undo(s);
		tpi_sink_close(s);
		assert_file(path, "new");
		assert_int_equal(temp_dir_count(d), 1);
	}
}

static void
without_force_nothing_is_set_aside(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "late");
	struct tpi_sink *s = new_text(path, false);

	write_file(path, "theirs", 6);
	assert_int_equal(tpi_sink_set_aside(s, false, NULL), TP_OK);
	assert_int_equal(tpi_sink_rename(s, NULL), TP_EOUTPUT);
	tpi_sink_undo(s);
	tpi_sink_close(s);
	assert_file(path, "theirs");
	assert_int_equal(temp_dir_count(d), 1);
}

static void
no_memory_leaves_nothing(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "mem");
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	while (fail_alloc_next(&a, rc)) {
		struct tpi_sink *s = NULL;

		rc = tpi_sink_open(
		    &a.alloc, path, false, TP_SYNC_NEVER, &s, NULL);
		tpi_sink_close(s);
		assert_int_equal(temp_dir_count(d), 0);
	}
}

/* An input that was cut short meanwhile, or no memory for a buffer. */
static void
streams_that_fail_are_told(void **state)
{
	struct temp_dir *d = *state;
	const size_t n = 17 * TPI_CHUNK;
	const char *in = temp_path(d, "in"), *out = temp_path(d, "out");
	struct tpi_source *src = NULL;
	uint8_t *data = calloc(n + 5, 1);

	write_file(in, data, n + 5);
	free(data);
	assert_int_equal(tpi_source_open(NULL, in, &src, NULL), TP_OK);
	for (enum way way = BY_KERNEL; way <= BY_HAND; way++) {
		struct fail_alloc a = {0};
		enum tp_status rc = TP_OK;

		while (fail_alloc_next(&a, rc)) {
			struct tp_stream *stream =
			    open_stream(&a.alloc, src, way, n);
			struct tpi_sink *s = NULL;

			rc = stream ? tpi_sink_open(&a.alloc, out, true,
					  TP_SYNC_NEVER, &s, NULL)
				    : TP_ENOMEM;
			if (!rc)
				rc = tpi_sink_write(s, "abc", 3, NULL);
			if (!rc)
				rc = tpi_sink_stream(s, stream, NULL);
			tp_stream_close(stream);
			tpi_sink_close(s);
		}
	}
	assert_int_equal(truncate(in, (off_t)n / 2), 0);
	for (enum way way = BY_KERNEL; way <= BY_HAND; way++) {
		struct tp_stream *stream = open_stream(NULL, src, way, n);
		struct tp_err err = TP_ERR_INIT;
		struct tpi_sink *s = NULL;

		assert_int_equal(
		    tpi_sink_open(NULL, out, true, TP_SYNC_NEVER, &s, NULL),
		    TP_OK);
		assert_int_equal(tpi_sink_write(s, "abc", 3, NULL), TP_OK);
		assert_int_equal(tpi_sink_stream(s, stream, &err), TP_EIO);
		assert_non_null(strstr(err.msg, "cut short"));
		tp_stream_close(stream);
		tpi_sink_close(s);
	}
	tpi_source_close(src);
}

/* A stream of letters that writes them itself, the last one first. */
struct letters {
	struct tp_stream s;
	bool fails;
};

static enum tp_status
pour_letters(struct tp_stream *s, int fd, uint64_t offset, struct tp_err *err)
{
	if (((struct letters *)s)->fails)
		return tp_fail(err, TP_ERANGE, TP_NO_OFFSET, "no such letter");
	for (uint64_t i = s->nbytes; i-- > 0;) {
		char c = (char)('a' + i % 26);

		assert_int_equal(pwrite(fd, &c, 1, (off_t)(offset + i)), 1);
	}
	return tpi_stream_moved(s, s->nbytes, err);
}

static void
a_stream_may_write_itself(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "poured");
	struct letters l = {.s = {.nbytes = 70000, .pour = pour_letters}};
	struct tp_err err = TP_ERR_INIT;
	struct tpi_sink *s;
	size_t size;
	char *data;

	assert_int_equal(
	    tpi_sink_open(NULL, path, false, TP_SYNC_NEVER, &s, NULL), TP_OK);
	assert_int_equal(tpi_sink_write(s, "<", 1, NULL), TP_OK);
	assert_int_equal(tpi_sink_stream(s, &l.s, NULL), TP_OK);
	l.fails = true;
	l.s.pos = 0;
	assert_int_equal(tpi_sink_stream(s, &l.s, &err), TP_ERANGE);
	assert_int_equal(tpi_sink_size(s), 70001);
	assert_int_equal(tpi_sink_write(s, ">", 1, NULL), TP_OK);
	commit(s);
	tpi_sink_close(s);

	data = read_file(path, &size);
	assert_int_equal(size, 70002);
	assert_int_equal(data[0], '<');
	for (size_t i = 0; i < 70000; i++)
		assert_int_equal(data[1 + i], 'a' + i % 26);
	assert_int_equal(data[70001], '>');
	free(data);
}

static void
room_is_left_and_filled(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "rooms");
	struct tpi_room room = {NULL, 0, 0};
	struct tp_stream *later = NULL, *other = NULL;
	struct tp_err err = TP_ERR_INIT;
	struct tpi_sink *s;

	assert_int_equal(
	    tpi_sink_open(NULL, path, false, TP_SYNC_NEVER, &s, NULL), TP_OK);
	assert_int_equal(tp_stream_memory(NULL, "12", 2, &later, NULL), TP_OK);
	assert_int_equal(tpi_sink_write(s, "<", 1, NULL), TP_OK);
	later->room = &room;
	assert_int_equal(tpi_sink_stream(s, later, NULL), TP_OK);
	assert_int_equal(tp_stream_left(later), 0);
	tp_stream_close(later);
	assert_int_equal(tpi_sink_size(s), 3);
	assert_int_equal(tpi_sink_write(s, ">", 1, NULL), TP_OK);
	/* Not more, and not less, than it was made for. */
	assert_int_equal(tp_stream_memory(NULL, "123", 3, &other, NULL), TP_OK);
	assert_int_equal(tpi_sink_fill(&room, other, &err), TP_EARG);
	assert_int_equal(tp_stream_read(other, &(char[1]){0}, 1, NULL), TP_OK);
	assert_int_equal(tpi_sink_fill(&room, other, NULL), TP_OK);
	tp_stream_close(other);
	assert_int_equal(tpi_sink_write(s, "!", 1, NULL), TP_OK);
	commit(s);
	tpi_sink_close(s);
	assert_file(path, "<23>!");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEMP_DIR_TEST(the_name_appears_at_the_commit),
	    TEMP_DIR_TEST(without_a_commit_nothing_is_left),
	    TEMP_DIR_TEST(an_existing_file_needs_force_and_keeps_its_mode),
	    TEMP_DIR_TEST(a_file_that_came_meanwhile_is_kept),
	    TEMP_DIR_TEST(a_left_over_part_is_taken_over_a_locked_one_is_not),
	    TEMP_DIR_TEST(a_link_is_followed_not_replaced),
	    TEMP_DIR_TEST(what_cannot_be_written_is_refused),
	    TEMP_DIR_TEST(a_device_is_written_to_and_stays_a_device),
	    TEMP_DIR_TEST(streams_arrive_byte_for_byte),
	    TEMP_DIR_TEST(streams_that_fail_are_told),
	    TEMP_DIR_TEST(a_stream_may_write_itself),
	    TEMP_DIR_TEST(room_is_left_and_filled),
	    TEMP_DIR_TEST(a_commit_can_be_undone_until_it_is_settled),
	    TEMP_DIR_TEST(without_force_nothing_is_set_aside),
	    TEMP_DIR_TEST(no_memory_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
