/* SPDX-License-Identifier: Apache-2.0 */
/* The native format: damaged files, and files that were made to do harm */
#include "support/cmocka_all.h"

#include <limits.h>

#include "support/fact.h"
#include "support/native_files.h"
#include "support/temp_dir.h"

/* A whole file in memory, and its copy that is being broken. */
static uint8_t *whole;
static size_t n_whole;

static int
make_file(void **state)
{
	const struct tp_create_options o = {.compress = 6};

	temp_dir_setup(state);
	if (native_write(temp_path(&test_dir, "w"), native_small(), &o, NULL))
		return 1;
	whole = read_file(temp_path(&test_dir, "w"), &n_whole);
	return 0;
}

static int
remove_file(void **state)
{
	free(whole);
	return temp_dir_teardown(state);
}

/* Open the bytes as a file, and read all of it if that works. */
static enum tp_status
try_bytes(const uint8_t *bytes, size_t n, unsigned flags, bool *opened,
    struct tp_err *err)
{
	const struct tp_open_options o = {.format = "native", .flags = flags};
	struct tp_reader *r = NULL;
	enum tp_status rc;

	/* A file that is cut and written anew is slow on some systems. */
	unlink(temp_path(&test_dir, "t"));
	write_file(temp_path(&test_dir, "t"), bytes, n);
	rc = tp_open(temp_path(&test_dir, "t"), &o, &r, err);
	*opened = r != NULL;
	assert_int_equal(rc == TP_OK, r != NULL);
	if (!rc)
		rc = read_all(r, err);
	tp_close(r);
	return rc;
}

static void
the_file_itself_is_good(void **state)
{
	struct tp_err err = TP_ERR_INIT;
	bool opened;

	(void)state;
	if (try_bytes(whole, n_whole, 0, &opened, &err))
		fail_msg("%s", err.msg);

	/* What the tables below take for granted. */
	assert_int_equal(tp_le32(whole + native_record(whole, 0, 0) + 4), 0);
	assert_int_equal(tp_le32(whole + native_record(whole, 0, 2) + 4), 1);
}

/* The record of storage i, or of the attachment for 5. */
static const uint8_t *
place_record(unsigned i)
{
	return whole + (i < 5 ? native_record(whole, 0, i)
			      : native_record(whole, 4, 0));
}

/* In which of them the byte lies; -1 for header, padding and directory. */
static int
place_of(size_t at)
{
	for (unsigned i = 0; i < 6; i++) {
		const uint8_t *record = place_record(i);
		uint64_t offset = tp_le64(record + 8);

		if (at >= offset && at < offset + tp_le64(record + 16))
			return (int)i;
	}
	return -1;
}

static bool
is_deflated(int place)
{
	return place >= 0 && tp_le32(place_record((unsigned)place) + 4) == 1;
}

static void
every_flipped_bit_is_found(void **state)
{
	static const char *const names[] = {
	    "emb", "five", "zeros", "sparse", "scale", "blob"};
	unsigned n_harmless = 0;

	(void)state;
	for (size_t i = 0; i < 8 * n_whole; i++) {
		struct tp_err err = TP_ERR_INIT;
		int place = place_of(i / 8);
		enum tp_status rc;
		bool opened;

		whole[i / 8] ^= (uint8_t)(1u << i % 8);
		rc = try_bytes(whole, n_whole, 0, &opened, &err);
		whole[i / 8] ^= (uint8_t)(1u << i % 8);

		/*
		 * Structure fails at once, data when it is read. A deflated
		 * piece has bits that mean nothing: the decoded bytes are right
		 * then.
		 */
		if (opened && rc == TP_OK && is_deflated(place)) {
			n_harmless++;
			continue;
		}
		if (opened != (place >= 0) || rc == TP_OK)
			fail_msg("bit %zu: opened %d, %s", i, opened, err.msg);
		if (place < 0) {
			assert_int_equal(rc, TP_EFORMAT);
			continue;
		}
		if (!is_deflated(place))
			assert_int_equal(rc, TP_EMISMATCH);
		if (!strstr(err.msg, names[place]))
			fail_msg("bit %zu: %s", i, err.msg);
	}
	print_fact("damaged.native_bits", 8 * n_whole);
	assert_in_range(n_harmless, 0, 40);
}

static void
checksums_can_be_ignored(void **state)
{
	size_t at = (size_t)tp_le64(whole + native_record(whole, 0, 0) + 8);
	struct tp_err err = TP_ERR_INIT;
	bool opened;

	(void)state;
	whole[at] ^= 1;
	assert_int_equal(
	    try_bytes(whole, n_whole, 0, &opened, &err), TP_EMISMATCH);
	assert_non_null(strstr(err.msg, "'emb': checksum"));
	assert_int_equal(
	    try_bytes(whole, n_whole, TP_OPEN_NO_CHECKSUM, &opened, &err),
	    TP_OK);
	whole[at] ^= 1;
}

static void
every_truncation_is_found(void **state)
{
	uint8_t *longer = calloc(n_whole + 1, 1);
	struct tp_err err = TP_ERR_INIT;
	bool opened;

	(void)state;
	for (size_t n = 0; n < n_whole; n++) {
		assert_int_equal(
		    try_bytes(whole, n, 0, &opened, &err), TP_EFORMAT);
		assert_false(opened);
	}
	assert_non_null(longer);
	memcpy(longer, whole, n_whole);
	assert_int_equal(
	    try_bytes(longer, n_whole + 1, 0, &opened, &err), TP_EFORMAT);
	assert_non_null(strstr(err.msg, "its header says"));
	print_fact("damaged.native_cuts", n_whole);
	free(longer);
}

/*
 * ---- files with right checksums ----
 */

enum where {
	HEADER = -1,
	STORAGES,
	TENSORS,
	QUANTIZERS,
	METADATA,
	ATTACHMENTS
};
#define SECTION UINT_MAX /* as record: the section itself */

struct craft {
	enum where section;
	unsigned record;
	size_t at;
	unsigned nbytes;
	uint64_t value;
	enum tp_status status;
	const char *message;
};

#define BIG UINT64_MAX
#define TWO(n) (UINT64_C(1) << (n))

static const struct craft crafts[] = {
    {HEADER, 0, 0, 1, 0x88, TP_EFORMAT, "its magic is wrong"},
    {HEADER, 0, 8, 4, 0x04030201, TP_EFORMAT, "byte-order mark 04030201"},
    {HEADER, 0, AT_MAJOR, 2, 2, TP_EUNSUPPORTED, "version 2.0, only 1"},
    {HEADER, 0, AT_MAJOR, 2, 0, TP_EUNSUPPORTED, "version 0.0, only 1"},
    {HEADER, 0, AT_FILE_NBYTES, 8, 1, TP_EFORMAT, "its header says 1"},
    {HEADER, 0, AT_DIR_OFFSET, 8, 56, TP_EFORMAT, "directory at 56"},
    {HEADER, 0, AT_ALIGN, 4, 0, TP_EFORMAT, "alignment 0, expected"},
    {HEADER, 0, AT_ALIGN, 4, 4, TP_EFORMAT, "alignment 4, expected"},
    {HEADER, 0, AT_ALIGN, 4, 96, TP_EFORMAT, "alignment 96, expected"},
    {HEADER, 0, AT_ALIGN, 4, 131072, TP_EFORMAT, "alignment 131072"},
    {HEADER, 0, AT_ALIGN, 4, 128, TP_EFORMAT,
	"storage 0: offset 64 is not a multiple of the alignment 128"},
    {HEADER, 0, AT_ALIGN, 4, 8, TP_EFORMAT, "leaves 48 bytes unused"},
    {HEADER, 0, AT_RESERVED, 8, 1, TP_EFORMAT, "reserved bytes"},
    {HEADER, 0, AT_RESERVED + 8, 4, 1, TP_EFORMAT, "reserved bytes"},

    {STORAGES, SECTION, 0, 4, 2, TP_EFORMAT,
	"section of kind 2, expected 1 (storage)"},
    {STORAGES, SECTION, 4, 4, 1, TP_EFORMAT, "flags 1, expected 0"},
    {STORAGES, SECTION, 8, 8, 4, TP_EFORMAT, "follow its 4 records"},
    {STORAGES, SECTION, 8, 8, 6, TP_EFORMAT, "6 records in 216 bytes"},
    {STORAGES, SECTION, 8, 8, BIG, TP_EFORMAT, "records in 216 bytes"},
    {STORAGES, SECTION, 16, 8, BIG - 7, TP_EFORMAT, "but"},
    {STORAGES, SECTION, 16, 8, 40, TP_EFORMAT, "5 records in 40 bytes"},
    {TENSORS, SECTION, 8, 8, TWO(61), TP_EFORMAT, "tensor section: 2305843"},

    {STORAGES, 0, 0, 4, 0, TP_EFORMAT, "storage 0: record of 0 bytes"},
    {STORAGES, 0, 0, 4, 36, TP_EFORMAT, "storage 0: record of 36 bytes"},
    {STORAGES, 0, 0, 4, 44, TP_EFORMAT, "storage 0: record of 44 bytes"},
    {STORAGES, 0, 0, 4, 48, TP_EFORMAT, "8 bytes follow the end of its"},
    {STORAGES, 4, 0, 4, 0xfffffff8, TP_EFORMAT, "record of 4294967288 bytes"},
    {STORAGES, 0, 4, 4, 2, TP_EUNSUPPORTED, "storage 0: encoding 2, only"},
    {STORAGES, 1, 8, 8, 72, TP_EFORMAT, "offset 72 is not a multiple of"},
    {STORAGES, 1, 8, 8, 64, TP_EFORMAT,
	"storage 1: offset 64 lies before 80, where what precedes it ends"},
    {STORAGES, 1, 8, 8, 192, TP_EFORMAT, "leaves 112 bytes unused"},
    {STORAGES, 0, 8, 8, 0, TP_EFORMAT, "offset 0 lies before 64"},
    {STORAGES, 1, 8, 8, BIG - 63, TP_EFORMAT, "bytes unused"},
    {STORAGES, 4, 16, 8, BIG, TP_EFORMAT, "18446744073709551615 bytes at"},
    {STORAGES, 4, 16, 8, 100000, TP_EFORMAT, "pass the directory at"},
    {STORAGES, 0, 24, 8, 8, TP_EFORMAT, "storage 0: 8 raw bytes stored in 16"},
    {STORAGES, 0, 36, 4, 4096, TP_EFORMAT, "pieces of 4096; expected"},
    {STORAGES, 2, 36, 4, 0, TP_EFORMAT, "storage 2: pieces of 0 bytes"},
    {STORAGES, 2, 36, 4, 2048, TP_EFORMAT, "pieces of 2048 bytes"},
    {STORAGES, 2, 36, 4, 5000, TP_EFORMAT, "pieces of 5000 bytes"},
    {STORAGES, 2, 36, 4, TWO(27), TP_EFORMAT, "pieces of 134217728 bytes"},
    {STORAGES, 2, 24, 8, BIG, TP_EFORMAT, "ends before their sizes"},
    {STORAGES, 2, 24, 8, TWO(22), TP_EFORMAT, "ends before their sizes"},
    {STORAGES, 2, 24, 8, TWO(20), TP_EFORMAT,
	"piece 0 of 1048576 bytes cannot be stored in"},
    {STORAGES, 2, 24, 8, 10, TP_EFORMAT, "piece 0 of 10 bytes cannot be"},
    {STORAGES, 2, 40, 4, 0, TP_EFORMAT, "cannot be stored in 0"},
    {STORAGES, 2, 40, 4, 5, TP_EFORMAT, "its pieces take 5 bytes"},
    {STORAGES, 2, 40, 4, 5000, TP_EFORMAT, "its pieces take 5000 bytes"},
    {STORAGES, 2, 44, 4, 1, TP_EFORMAT, "padding holds 1, expected 0"},

    {TENSORS, 0, 4, 2, 0, TP_EUNSUPPORTED, "tensor 0: dtype code 0"},
    {TENSORS, 0, 4, 2, 29, TP_EUNSUPPORTED, "tensor 0: dtype code 29"},
    {TENSORS, 0, 4, 2, 65535, TP_EUNSUPPORTED, "dtype code 65535"},
    {TENSORS, 0, 4, 2, 25, TP_EFORMAT, "'emb': 4 elements of f64 need more"},
    {TENSORS, 0, 6, 1, 65, TP_ELIMIT, "tensor 0: rank 65"},
    {TENSORS, 0, 6, 1, 64, TP_EFORMAT, "does not fit in its record"},
    {TENSORS, 0, 6, 1, 3, TP_EFORMAT, "does not fit in its record"},
    {TENSORS, 0, 7, 1, 4, TP_EUNSUPPORTED, "tensor 0: origin 4"},
    {TENSORS, 0, 8, 4, 32, TP_EUNSUPPORTED, "tensor 0: flags 32"},
    {TENSORS, 0, 8, 4, 16 + 1, TP_EFORMAT, "does not fit in its record"},
    {TENSORS, 0, 12, 4, 5, TP_EFORMAT, "'emb': storage 5 of 5"},
    {TENSORS, 0, 12, 4, UINT32_MAX, TP_EFORMAT, "storage 4294967295 of 5"},
    {TENSORS, 0, 16, 8, 1, TP_EFORMAT, "5 elements of f32 need more than"},
    {TENSORS, 0, 16, 8, BIG, TP_EFORMAT, "'emb'"},
    {TENSORS, 0, 16, 8, TWO(62), TP_EFORMAT, "'emb'"},
    {TENSORS, 0, 24, 4, 1, TP_EFORMAT, "tensor 0: quantizer 1 of 1"},
    {TENSORS, 0, 28, 4, UINT32_MAX, TP_EFORMAT, "does not fit in its record"},
    {TENSORS, 0, 28, 4, 20, TP_EFORMAT, "does not fit in its record"},
    {TENSORS, 0, 32, 4, 9, TP_EFORMAT, "does not fit in its record"},
    {TENSORS, 0, 36, 4, 4, TP_EFORMAT, "does not fit in its record"},
    {TENSORS, 0, 40, 8, BIG, TP_EFORMAT, "'emb'"},
    {TENSORS, 0, 40, 8, TWO(62), TP_EFORMAT, "'emb'"},
    {TENSORS, 0, 40, 8, 3, TP_EFORMAT, "6 elements of f32 need more than"},
    {TENSORS, 0, 56, 1, 0xff, TP_EFORMAT, "is not UTF-8 at byte 0"},
    {TENSORS, 0, 59, 1, 1, TP_EFORMAT, "padding holds 1, expected 0"},
    {TENSORS, 0, 56, 3, 0x656974, TP_EFORMAT, "duplicate tensor name 'tie'"},
    {TENSORS, 1, 56, 8, 3, TP_EFORMAT, "'tie'"},
    {TENSORS, 1, 56, 8, BIG, TP_EFORMAT, "reach before its storage"},
    {TENSORS, 1, 56, 8, TWO(63), TP_EFORMAT, "'tie'"},
    {TENSORS, 1, 75, 1, 0x80, TP_EFORMAT, "its scope '\\x80' is not UTF-8"},
    {TENSORS, 1, 76, 1, 0x80, TP_EFORMAT, "local name '\\x80' is not UTF-8"},
    {TENSORS, 4, 56, 8, 10, TP_EFORMAT, "10 sparse values for 9 elements"},
    {TENSORS, 4, 56, 8, BIG, TP_EFORMAT, "'sparse'"},
    {TENSORS, 4, 64, 4, 5, TP_EFORMAT, "not a possible sparse tensor"},
    {TENSORS, 4, 64, 4, 4, TP_EFORMAT, "sparse indices"},
    {TENSORS, 4, 68, 4, 1, TP_EFORMAT, "an unused field is not zero"},

    {QUANTIZERS, 0, 4, 1, 3, TP_EUNSUPPORTED, "quantizer 0: scheme 0, kind 3"},
    {QUANTIZERS, 0, 4, 1, 1, TP_OK, NULL},
    {QUANTIZERS, 0, 4, 1, 2, TP_EFORMAT, "blocks of 0"},
    {QUANTIZERS, 0, 5, 1, 2, TP_EUNSUPPORTED, "flags 2"},
    {QUANTIZERS, 0, 6, 2, 1, TP_EUNSUPPORTED, "scheme 1"},
    {QUANTIZERS, 0, 8, 4, 1, TP_EFORMAT, "an unused field is not zero"},
    {QUANTIZERS, 0, 12, 4, 6, TP_EFORMAT, "scale or zero point is no"},
    {QUANTIZERS, 0, 16, 4, 6, TP_EFORMAT, "scale or zero point is no"},
    {QUANTIZERS, 0, 20, 4, 1, TP_EFORMAT, "an unused field is not zero"},
    {QUANTIZERS, 0, 24, 8, 1, TP_EFORMAT, "an unused field is not zero"},

    {METADATA, 0, 4, 4, 100, TP_EFORMAT, "does not fit in its record"},
    {METADATA, 0, 8, 4, UINT32_MAX, TP_EFORMAT, "does not fit in its record"},
    {METADATA, 0, 12, 4, 1, TP_EFORMAT, "an unused field is not zero"},
    {METADATA, 0, 17, 1, '2', TP_EFORMAT, "duplicate metadata key 'k2'"},
    {METADATA, 0, 18, 1, 0xc0, TP_EFORMAT, "is not UTF-8"},

    {ATTACHMENTS, 0, 8, 8, 64, TP_EFORMAT, "attachment 0: offset 64 lies"},
    {ATTACHMENTS, 0, 16, 8, 9, TP_EFORMAT, "10 raw bytes stored in 9"},
    {ATTACHMENTS, 0, 40, 4, 40, TP_EFORMAT, "does not fit in its record"},
    {ATTACHMENTS, 0, 40, 4, TWO(31), TP_ELIMIT, "name of 2147483648 bytes"},
    {ATTACHMENTS, 0, 44, 4, 1, TP_EFORMAT, "an unused field is not zero"},
    {ATTACHMENTS, 0, 48, 1, 0xff, TP_EFORMAT, "its name '\\xfflob' is not"},
};

static void
crafted_files_are_refused(void **state)
{
	uint8_t *bytes = calloc(n_whole, 1);

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < COUNT_OF(crafts); i++) {
		const struct craft *c = &crafts[i];
		struct tp_err err = TP_ERR_INIT;
		size_t at = c->at;
		enum tp_status rc;
		bool opened;

		if (c->section != HEADER && c->record == SECTION)
			at += native_section(whole, (unsigned)c->section);
		else if (c->section != HEADER)
			at += native_record(
			    whole, (unsigned)c->section, c->record);
		memcpy(bytes, whole, n_whole);
		for (unsigned b = 0; b < c->nbytes; b++)
			bytes[at + b] = (uint8_t)(c->value >> 8 * b);

		/* The seal needs to know where the directory is. */
		if (c->section == HEADER)
			tp_put_le32(bytes + AT_HEADER_CRC,
			    tpi_crc32c(0, bytes, AT_HEADER_CRC));
		else
			native_seal(bytes);
		rc = try_bytes(bytes, n_whole, 0, &opened, &err);
		if (rc != c->status || opened != (rc == TP_OK) ||
		    (c->message && !strstr(err.msg, c->message)))
			fail_msg("row %zu (\"%s\"): status %d, \"%s\"", i,
			    c->message ? c->message : "fine", rc, err.msg);
	}
	free(bytes);
}

/*
 * Directories with some bytes replaced by numbers that tend to hurt, sealed
 * anew. Nothing may crash (the sanitizers watch) and what opens must be
 * readable or say why not. The same files each time.
 */
static void
random_directories(void **state)
{
	static const uint64_t hurting[] = {0, 1, 7, 8, 0x7f, 0x80, 0xff, 0x100,
	    0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff, TWO(32), TWO(62),
	    TWO(63) - 1, TWO(63), BIG - 7, BIG};
	size_t dir_at = (size_t)tp_le64(whole + AT_DIR_OFFSET);
	uint8_t *bytes = calloc(n_whole + 8, 1);
	unsigned n_opened = 0;
	uint64_t x = 20261130;

	(void)state;
	assert_non_null(bytes);
	for (unsigned i = 0; i < 4000; i++) {
		struct tp_err err = TP_ERR_INIT;
		bool opened;

		memcpy(bytes, whole, n_whole);
		for (unsigned k = 0; k <= i % 3; k++) {
			size_t at, width;
			uint64_t value;

			x = x * UINT64_C(6364136223846793005) + 1442695;
			at = dir_at + (size_t)(x >> 33) % (n_whole - dir_at);
			width = (size_t)1 << (x >> 20 & 3);
			value = hurting[(x >> 24 & 0xff) % COUNT_OF(hurting)];
			at -= at % width;
			for (size_t b = 0; b < width; b++)
				bytes[at + b] = (uint8_t)(value >> 8 * b);
		}
		native_seal(bytes);
		if (try_bytes(bytes, n_whole, 0, &opened, &err))
			assert_true(err.msg[0] != '\0');
		n_opened += opened;
	}
	free(bytes);

	/* Some numbers are free to be anything; most are not. */
	print_fact("damaged.native_directories", 4000);
	assert_in_range(n_opened, 100, 2000);
}

/*
 * ---- later minor versions ----
 */

/* A copy with k bytes put in at `at`, sizes and checksums made right. */
static uint8_t *
insert(size_t at, const void *bytes, size_t k)
{
	uint8_t *out = calloc(n_whole + k, 1);

	assert_non_null(out);
	memcpy(out, whole, at);
	memcpy(out + at, bytes, k);
	memcpy(out + at + k, whole + at, n_whole - at);
	tp_put_le64(out + AT_FILE_NBYTES, n_whole + k);
	tp_put_le64(out + AT_DIR_NBYTES, tp_le64(whole + AT_DIR_NBYTES) + k);
	return out;
}

static void
expect(uint8_t *bytes, size_t n, unsigned minor, enum tp_status status,
    const char *message)
{
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;
	bool opened;

	tp_put_le16(bytes + AT_MINOR, (uint16_t)minor);
	native_seal(bytes);
	rc = try_bytes(bytes, n, 0, &opened, &err);
	if (rc != status || (message && !strstr(err.msg, message)))
		fail_msg("status %d, \"%s\"", rc, err.msg);
}

static void
longer_records_are_for_later_versions(void **state)
{
	static const unsigned n_records[] = {5, 6, 1, 2, 1};
	static const char more[8] = "novelty";

	(void)state;
	for (unsigned section = 0; section < 5; section++)
		for (unsigned i = 0; i < n_records[section]; i++) {
			size_t head = native_section(whole, section);
			size_t record = native_record(whole, section, i);
			uint32_t size = tp_le32(whole + record);
			uint8_t *b = insert(record + size, more, 8);

			tp_put_le32(b + record, size + 8);
			tp_put_le64(
			    b + head + 16, tp_le64(whole + head + 16) + 8);
			expect(b, n_whole + 8, 1, TP_OK, NULL);
			expect(b, n_whole + 8, 0, TP_EFORMAT,
			    "bytes follow the end of its record");
			free(b);
		}
}

static void
further_sections_are_for_later_versions(void **state)
{
	static const uint8_t section[SECTION_NBYTES + 8] = {
	    6, [8] = 1, [16] = 8, [SECTION_NBYTES] = 1};
	uint8_t *b = insert(n_whole, section, sizeof(section));
	size_t n = n_whole + sizeof(section);

	(void)state;
	expect(b, n, 1, TP_OK, NULL);
	expect(b, n, 0, TP_EFORMAT, "32 bytes follow the last section");

	b[n_whole + 4] = 1;
	expect(b, n, 1, TP_EUNSUPPORTED,
	    "section of kind 6 is not known and must not be skipped");
	b[n_whole + 4] = 0;
	b[n_whole + 16] = 16;
	expect(b, n, 1, TP_EFORMAT, "section of kind 6: 16 bytes, but 8");
	free(b);

	b = insert(n_whole, section, 8);
	expect(b, n_whole + 8, 1, TP_EFORMAT, "8 bytes follow");
	free(b);
}

static void
count_warning(void *ctx, const char *path, const char *message)
{
	assert_non_null(path);
	assert_non_null(strstr(message, "minor version 7 is newer than 0"));
	++*(int *)ctx;
}

static void
a_later_version_is_told(void **state)
{
	int n_warnings = 0;
	const struct tp_open_options o = {
	    .warn = count_warning, .warn_ctx = &n_warnings};
	uint8_t *b = insert(n_whole, "", 0);
	struct tp_reader *r = NULL;

	(void)state;
	tp_put_le16(b + AT_MINOR, 7);
	tp_put_le64(b + AT_RESERVED, 1);
	native_seal(b);
	write_file(temp_path(&test_dir, "n"), b, n_whole);
	assert_int_equal(
	    tp_open(temp_path(&test_dir, "n"), &o, &r, NULL), TP_OK);
	assert_int_equal(n_warnings, 1);
	tp_close(r);
	free(b);
}

static void
space_before_the_directory(void **state)
{
	static const uint8_t zeros[8];
	size_t at = (size_t)tp_le64(whole + AT_DIR_OFFSET);
	uint8_t *b = insert(at, zeros, 8);

	(void)state;
	tp_put_le64(b + AT_DIR_OFFSET, at + 8);
	tp_put_le64(b + AT_DIR_NBYTES, n_whole - at);
	expect(b, n_whole + 8, 0, TP_EFORMAT, "unused bytes before the dir");
	free(b);
}

/* One storage of eight bytes, or of 1 MiB of zeros that is deflated. */
static enum tp_status
open_expanding(const struct tp_entry *entries, size_t n, bool deflated,
    uint64_t expansion, struct tp_err *err)
{
	static const uint8_t zeros[1 << 20];
	const uint64_t nbytes[] = {deflated ? sizeof(zeros) : 8, 8};
	const void *const data[] = {zeros, zeros};
	const struct native_model model = {{.entries = entries,
					       .n_entries = n,
					       .storage_nbytes = nbytes,
					       .n_storages = 2},
	    data};
	const struct tp_create_options create = {.compress = deflated ? 9 : 0};
	const struct tp_open_options open = {
	    .limits = {.expansion = expansion}};
	const char *path = temp_path(&test_dir, "expanding");
	struct tp_reader *r = NULL;
	enum tp_status rc;

	assert_int_equal(native_write(path, &model, &create, err), TP_OK);
	rc = tp_open(path, &open, &r, err);
	tp_close(r);
	return rc;
}

static void
expansion_is_limited(void **state)
{
	static const int64_t many[] = {1 << 25}, one[] = {1}, still[] = {0};
	static const struct tp_sparse_info sparse = {
	    .n_values = 1, .indices = 1};
	/* All of the storage, as values and as indices. */
	static const struct tp_sparse_info coordinates = {
	    .n_values = 2048, .indices = 0, .coordinates = true};
	int64_t deep[64];
	const struct tp_entry repeated = {.name = LIT("a"),
	    .dtype = TP_DTYPE_U8,
	    .rank = 1,
	    .shape = many,
	    .strides = still,
	    .n_elems = 1 << 25,
	    .nbytes = 1 << 25};
	struct tp_entry e = repeated, views[17];
	struct tp_err err = TP_ERR_INIT;
	char names[17];

	(void)state;
	for (size_t d = 0; d < 64; d++)
		deep[d] = d ? 1 : 2048;
	assert_int_equal(open_expanding(&e, 1, false, 0, &err), TP_OK);
	assert_int_equal(open_expanding(&e, 1, false, 1032, &err), TP_ELIMIT);
	assert_non_null(strstr(err.msg, "'a': the expansion of "));
	assert_non_null(strstr(err.msg, "goes beyond 16777216 bytes"));
	assert_int_equal(open_expanding(&e, 1, false, 1 << 20, &err), TP_OK);
	e.strides = NULL;
	e.sparse = &sparse;
	assert_int_equal(open_expanding(&e, 1, false, 1032, &err), TP_ELIMIT);

	/* Sixteen times a storage is what is always allowed. */
	for (size_t i = 0; i < 17; i++) {
		names[i] = (char)('a' + i);
		views[i] = (struct tp_entry){.name = {&names[i], 1},
		    .dtype = TP_DTYPE_U8,
		    .rank = 1,
		    .shape = one,
		    .n_elems = 1,
		    .nbytes = 1};
	}
	assert_int_equal(open_expanding(views, 16, true, 1, &err), TP_OK);
	assert_int_equal(open_expanding(views, 17, true, 1, &err), TP_ELIMIT);
	assert_non_null(strstr(err.msg, "'q': the expansion of "));
	assert_int_equal(open_expanding(views, 17, false, 1, &err), TP_OK);

	/* Coordinates are read as well: eight times two of them. */
	for (size_t i = 0; i < 9; i++) {
		views[i].sparse = &coordinates;
		views[i].rank = 64;
		views[i].shape = deep;
		views[i].n_elems = views[i].nbytes = coordinates.n_values;
	}
	assert_int_equal(open_expanding(views, 8, true, 1, &err), TP_OK);
	assert_int_equal(open_expanding(views, 9, true, 1, &err), TP_ELIMIT);
	assert_non_null(strstr(err.msg, "'i': the expansion of "));
}

static void
limits_hold(void **state)
{
	struct tp_open_options o = {.limits = {.directory_bytes = 100}};
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;

	(void)state;
	assert_int_equal(
	    tp_open(temp_path(&test_dir, "w"), &o, &r, &err), TP_ELIMIT);
	assert_non_null(strstr(err.msg, "the limit is 100"));
	o.limits = (struct tp_limits){.tensors = 3};
	assert_int_equal(
	    tp_open(temp_path(&test_dir, "w"), &o, &r, &err), TP_ELIMIT);
	o.limits = (struct tp_limits){.name_bytes = 3};
	assert_int_equal(
	    tp_open(temp_path(&test_dir, "w"), &o, &r, &err), TP_ELIMIT);
	o.limits = (struct tp_limits){.metadata_bytes = 1};
	assert_int_equal(
	    tp_open(temp_path(&test_dir, "w"), &o, &r, &err), TP_ELIMIT);
	o.limits = (struct tp_limits){.metadata = 1};
	assert_int_equal(
	    tp_open(temp_path(&test_dir, "w"), &o, &r, &err), TP_ELIMIT);
	assert_non_null(strstr(err.msg, "more than 1 pairs of metadata"));
	o.limits = (struct tp_limits){.metadata = 2};
	assert_int_equal(
	    tp_open(temp_path(&test_dir, "w"), &o, &r, &err), TP_OK);
	tp_close(r);
	r = NULL;
	assert_null(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_file_itself_is_good),
	    cmocka_unit_test(every_flipped_bit_is_found),
	    cmocka_unit_test(checksums_can_be_ignored),
	    cmocka_unit_test(every_truncation_is_found),
	    cmocka_unit_test(crafted_files_are_refused),
	    cmocka_unit_test(random_directories),
	    cmocka_unit_test(longer_records_are_for_later_versions),
	    cmocka_unit_test(further_sections_are_for_later_versions),
	    cmocka_unit_test(a_later_version_is_told),
	    cmocka_unit_test(space_before_the_directory),
	    cmocka_unit_test(expansion_is_limited),
	    cmocka_unit_test(limits_hold),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
