/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_external.c - an ONNX model with a tensor whose external_data entries are
 * the input: lines KEY=VALUE. Beside the model lie w.bin, 64 bytes, d/w.bin, 96
 * bytes, a link to a file outside the folder, and a pipe.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct text {
	uint8_t bytes[8192];
	size_t n;
};

/* A field of bytes: its tag, its length below 16384, what is in it. */
static void
put_field(struct text *t, unsigned number, const void *bytes, size_t n)
{
	MUST(t->n + n + 4 < sizeof(t->bytes));
	t->bytes[t->n++] = (uint8_t)(number << 3 | 2);
	t->bytes[t->n++] = (uint8_t)(n & 0x7f) | 0x80;
	t->bytes[t->n++] = (uint8_t)(n >> 7);
	memcpy(t->bytes + t->n, bytes, n);
	t->n += n;
}

/* external_data: a StringStringEntryProto a line, of the first of them. */
static void
put_entries(struct text *tensor, const uint8_t *data, size_t n)
{
	for (unsigned lines = 0; n > 0 && lines < 64; lines++) {
		const uint8_t *end = memchr(data, '\n', n), *is;
		size_t len = end ? (size_t)(end - data) : n;
		struct text entry = {.n = 0};

		is = memchr(data, '=', len);
		if (is) {
			put_field(&entry, 1, data, (size_t)(is - data));
			put_field(
			    &entry, 2, is + 1, len - (size_t)(is - data) - 1);
			put_field(tensor, 13, entry.bytes, entry.n);
		}
		n -= end ? len + 1 : len;
		data += end ? len + 1 : len;
	}
}

/* What may be beside a model. */
static void
make_folder(void)
{
	static const uint8_t w_bin[64] = {1, 2, 3}, longer[96] = {4, 5, 6};

	fuzz_file("w.bin", w_bin, sizeof(w_bin));
	MUST(!symlink("/etc/passwd", fuzz_path("out")));
	MUST(!mkfifo(fuzz_path("pipe"), 0600));
	MUST(!mkdir(fuzz_path("d"), 0700));
	fuzz_file("d/w.bin", longer, sizeof(longer));
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	/* dims 16, data_type FLOAT, data_location EXTERNAL */
	static const uint8_t begin[] = {0x08, 16, 0x10, 1, 0x70, 1};
	static const uint8_t ir_version[] = {0x08, 8};
	static int made;
	struct text tensor = {.n = sizeof(begin)}, graph = {.n = 0}, model;
	struct tp_err err = TP_ERR_INIT;
	unsigned choice = fuzz_choice(data, &n), flags = choice & 3;
	struct tp_reader *r;

	if (n > 6000)
		return;
	if (!made++)
		make_folder();
	memcpy(tensor.bytes, begin, sizeof(begin));
	put_field(&tensor, 8, "w", 1);
	put_entries(&tensor, data, n);
	put_field(&graph, 5, tensor.bytes, tensor.n);
	memcpy(model.bytes, ir_version, sizeof(ir_version));
	model.n = sizeof(ir_version);
	put_field(&model, 7, graph.bytes, graph.n);
	r = fuzz_open(
	    fuzz_file("m.onnx", model.bytes, model.n), "onnx", flags, &err);
	if (r) {
		/* What is read lies in w.bin. */
		for (size_t i = 1; tp_reader_file(r, i, NULL); i++)
			MUST(strstr(tp_reader_file(r, i, NULL), "w.bin"));
		fuzz_walk(r);
		fuzz_other_ways(r, model.bytes, model.n, flags, choice);
	}
	tp_close(r);
}
