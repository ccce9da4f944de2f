/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_corpus.c - make the files of tests/corpus/native
 *
 *	native_corpus FOLDER
 *
 * Good files are written by the library; the others are good files with a few
 * bytes changed and, but where a wrong checksum is the point, sealed anew. What
 * each is for stands in tests/corpus/README.md.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/native_files.h"
#include "support/temp_dir.h"

static const char *folder;

static void
die(const char *what)
{
	fprintf(stderr, "native_corpus: %s\n", what);
	exit(1);
}

static const char *
path_of(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s.tpt", folder, name);
	return path;
}

static void
make(const char *name, const struct native_model *n, uint64_t align)
{
	const struct tp_create_options o = {.align = align};
	struct tp_err err = TP_ERR_INIT;

	if (native_write(path_of(name), n, &o, &err))
		die(err.msg);
}

static void
make_packed(const char *name, const struct native_model *n)
{
	const struct tp_create_options o = {.compress = 9};
	struct tp_err err = TP_ERR_INIT;

	if (native_write(path_of(name), n, &o, &err))
		die(err.msg);
}

/* One storage and one tensor of it. */
static void
make_one(const char *name, const char *tensor, enum tp_dtype dtype,
    const int64_t *shape, unsigned rank, uint64_t n_elems, const void *bytes,
    uint64_t nbytes)
{
	const struct tp_entry e = {.name = tp_str(tensor),
	    .dtype = dtype,
	    .rank = rank,
	    .shape = shape,
	    .n_elems = n_elems,
	    .nbytes = nbytes};
	const struct native_model n = {.m = {.entries = &e,
					   .n_entries = 1,
					   .storage_nbytes = &nbytes,
					   .n_storages = 1},
	    .data = &bytes};

	make(name, &n, 0);
}

static void
make_good(void)
{
	static const uint8_t strings[] = {2, 0, 0, 0, 0, 0, 0, 0, 'h', 'i', 0,
	    0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 'a', 0, 'b'};
	static const uint8_t nibbles[] = {0x21, 0x43, 0x05};
	static const int64_t s3[] = {3}, s5[] = {5}, s0[] = {2, 0, 3};
	const struct native_model none = {.data = NULL};
	const struct native_model example = native_example();

	make("good-example", &example, 0);
	make("good-nothing", &none, 0);
	make("good-small", native_small(), 0);
	make("good-align-4096", native_small(), 4096);
	make_packed("good-zlib", native_small());
	make_one("good-strings", "s", TP_DTYPE_STRING, s3, 1, 3, strings,
	    sizeof(strings));
	make_one(
	    "good-u4", "odd", TP_DTYPE_U4, s5, 1, 5, nibbles, sizeof(nibbles));
	make_one("good-no-elements", "e", TP_DTYPE_F32, s0, 3, 0, "", 0);
	make_one("good-scalar", "s", TP_DTYPE_F16, NULL, 0, 1, "\0\x3c", 2);
}

/*
 * ---- from good to bad ----
 */

struct file {
	uint8_t *bytes;
	size_t n;
};

static struct file
take(const char *name)
{
	struct file f;

	f.bytes = read_file(path_of(name), &f.n);
	return f;
}

/* Write what was taken, under another name, and forget it. */
static void
put(const char *name, struct file f)
{
	unlink(path_of(name));
	write_file(path_of(name), f.bytes, f.n);
	free(f.bytes);
}

static void
put_sealed(const char *name, struct file f)
{
	native_seal(f.bytes);
	put(name, f);
}

/* k more bytes at `at`; sizes in the header follow when it is in the end. */
static void
insert(struct file *f, size_t at, const void *bytes, size_t k)
{
	uint8_t *out = calloc(f->n + k, 1);

	if (!out)
		die("no memory");
	memcpy(out, f->bytes, at);
	memcpy(out + at, bytes, k);
	memcpy(out + at + k, f->bytes + at, f->n - at);
	free(f->bytes);
	f->bytes = out;
	f->n += k;
	tp_put_le64(out + AT_FILE_NBYTES, f->n);
	tp_put_le64(out + AT_DIR_NBYTES, tp_le64(out + AT_DIR_NBYTES) + k);
}

static void
make_wrong_checksums(void)
{
	struct file f = take("good-example");

	/* CR LF of the magic as LF, all that follows one byte earlier. */
	memmove(f.bytes + 4, f.bytes + 5, f.n - 5);
	f.n--;
	put("bad-text-mode", f);

	f = take("good-example");
	f.bytes[AT_ALIGN + 1] ^= 1;
	put("bad-header-bit", f);

	f = take("good-example");
	f.bytes[f.n - 40] ^= 0x10;
	put("bad-directory-bit", f);

	f = take("good-example");
	f.bytes[HEADER_NBYTES + 3] ^= 0x80;
	put("bad-data-bit", f);

	f = take("good-example");
	f.n -= 8;
	put("bad-truncated", f);

	f = take("good-example");
	f.n = 63;
	put("bad-short-header", f);
}

static void
make_bad(void)
{
	struct file f = take("good-example");

	insert(&f, f.n, "", 1);
	tp_put_le64(f.bytes + AT_FILE_NBYTES, f.n - 1);
	tp_put_le64(
	    f.bytes + AT_DIR_NBYTES, tp_le64(f.bytes + AT_DIR_NBYTES) - 1);
	put_sealed("bad-trailing-byte", f);

	f = take("good-small");
	tp_put_le64(f.bytes + native_record(f.bytes, 0, 1) + 8, 64);
	put_sealed("bad-overlap", f);

	f = take("good-small");
	tp_put_le64(f.bytes + native_record(f.bytes, 0, 0) + 8, 128);
	tp_put_le64(f.bytes + native_record(f.bytes, 0, 1) + 8, 64);
	put_sealed("bad-unsorted", f);

	f = take("good-small");
	tp_put_le64(f.bytes + native_record(f.bytes, 0, 4) + 16, UINT64_MAX);
	tp_put_le64(f.bytes + native_record(f.bytes, 0, 4) + 24, UINT64_MAX);
	put_sealed("bad-outside", f);

	f = take("good-small");
	f.bytes[HEADER_NBYTES + 16] = 1;
	put_sealed("bad-padding", f);

	f = take("good-small");
	tp_put_le64(f.bytes + native_record(f.bytes, 1, 0) + 40, 1ull << 32);
	tp_put_le64(f.bytes + native_record(f.bytes, 1, 0) + 48, 1ull << 32);
	put_sealed("bad-shape-overflow", f);

	f = take("good-small");
	tp_put_le64(f.bytes + native_record(f.bytes, 1, 1) + 56, 1ull << 63);
	put_sealed("bad-stride-overflow", f);

	f = take("good-small");
	memcpy(f.bytes + native_record(f.bytes, 1, 0) + 56, "tie", 3);
	put_sealed("bad-name-twice", f);

	f = take("good-small");
	tp_put_le64(f.bytes + native_section(f.bytes, 1) + 8, UINT64_MAX);
	put_sealed("bad-count", f);

	f = take("good-small");
	tp_put_le32(f.bytes + native_record(f.bytes, 1, 0), UINT32_MAX);
	put_sealed("bad-record-size", f);

	f = take("good-zlib");
	tp_put_le64(f.bytes + native_record(f.bytes, 0, 2) + 24, 1u << 20);
	put_sealed("bad-zlib-bomb", f);

	f = take("good-zlib");
	f.bytes[tp_le64(f.bytes + native_record(f.bytes, 0, 2) + 8) + 2] = 0xff;
	put("bad-zlib-data", f);
}

static void
make_later(void)
{
	static const uint8_t section[SECTION_NBYTES + 8] = {
	    6, [8] = 1, [16] = 8, [SECTION_NBYTES] = 1};
	struct file f = take("good-example");
	size_t record = native_record(f.bytes, 1, 0);
	size_t head = native_section(f.bytes, 1);

	insert(&f, record + tp_le32(f.bytes + record), "novelty", 8);
	tp_put_le32(f.bytes + record, tp_le32(f.bytes + record) + 8);
	tp_put_le64(f.bytes + head + 16, tp_le64(f.bytes + head + 16) + 8);
	insert(&f, f.n, section, sizeof(section));
	tp_put_le16(f.bytes + AT_MINOR, 1);
	put_sealed("good-minor-1", f);

	f = take("good-example");
	insert(&f, f.n, section, sizeof(section));
	f.bytes[f.n - sizeof(section) + 4] = 1;
	tp_put_le16(f.bytes + AT_MINOR, 1);
	put_sealed("unsupported-section", f);

	f = take("good-example");
	tp_put_le16(f.bytes + AT_MAJOR, 2);
	put_sealed("unsupported-major-2", f);

	f = take("good-example");
	tp_put_le32(f.bytes + native_record(f.bytes, 0, 0) + 4, 7);
	put_sealed("unsupported-encoding", f);

	f = take("good-example");
	tp_put_le16(f.bytes + native_record(f.bytes, 1, 0) + 4, 200);
	put_sealed("unsupported-dtype", f);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		die("which folder?");
	folder = argv[1];
	make_good();
	make_wrong_checksums();
	make_bad();
	make_later();
	return 0;
}
