/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized.c - make a native file with a quantized tensor
 *
 *	quantized OUTPUT PER AXIS BLOCK SCALE
 *
 * "q" i8 [3, 4] holds 0 … 11; PER is 0 (tensor), 1 (channel), 2 (block). Each
 * scale in "s" is SCALE times its number, counted from 1; zero points are 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tp/endian.h>
#include <tp/format.h>

#define ROWS 3
#define COLUMNS 4

/* How many scales there are, and their shape. */
static size_t
scale_shape(const struct tp_quant_info *q, int64_t shape[2], unsigned *rank)
{
	static const int64_t sizes[2] = {ROWS, COLUMNS};

	*rank = q->per == TP_PER_TENSOR ? 0 : q->per == TP_PER_CHANNEL ? 1 : 2;
	if (q->per == TP_PER_CHANNEL)
		shape[0] = sizes[q->axis];
	for (unsigned d = 0; q->per == TP_PER_BLOCK && d < 2; d++)
		shape[d] = d == q->axis ? (sizes[d] + (int64_t)q->block - 1) /
					      (int64_t)q->block
					: sizes[d];
	return (
	    size_t)((*rank > 0 ? shape[0] : 1) * (*rank > 1 ? shape[1] : 1));
}

static enum tp_status
write_model(const char *path, const struct tp_model *model,
    const void *const bytes[3], struct tp_err *err)
{
	struct tp_create_options options = {.format = "native", .force = true};
	struct tp_writer *w = NULL;
	enum tp_status rc = tp_create(path, model, &options, &w, err);
	size_t n = 0;
	const size_t *order = rc ? NULL : tp_writer_order(w, &n);

	for (size_t i = 0; !rc && i < n; i++) {
		struct tp_stream *s = NULL;

		rc = tp_stream_memory(NULL, bytes[order[i]],
		    (size_t)model->storage_nbytes[order[i]], &s, err);
		if (!rc)
			rc = tp_writer_put(w, order[i], s, err);
		tp_stream_close(s);
	}
	if (!rc)
		rc = tp_writer_commit(w, err);
	tp_writer_free(w);
	return rc;
}

int
main(int argc, char **argv)
{
	static const int64_t shape[2] = {ROWS, COLUMNS};
	int8_t stored[ROWS * COLUMNS], zeros[ROWS * COLUMNS];
	uint8_t scales[ROWS * COLUMNS * sizeof(float)];
	struct tp_quant_info q = {.scale = 1, .zero_point = 2};
	struct tp_err err = TP_ERR_INIT;
	int64_t s_shape[2] = {1, 1};
	unsigned s_rank = 0;
	uint32_t bits;
	float scale;
	size_t n;

	if (argc != 6)
		return 2;
	q.per = (enum tp_quant_per)atoi(argv[2]);
	q.axis = (unsigned)atoi(argv[3]);
	q.block = (uint64_t)atoi(argv[4]);
	n = scale_shape(&q, s_shape, &s_rank);
	for (size_t i = 0; i < ROWS * COLUMNS; i++) {
		stored[i] = (int8_t)i;
		zeros[i] = 1;
		scale = strtof(argv[5], NULL) * (float)(i + 1);
		memcpy(&bits, &scale, sizeof(bits));
		tp_put_le32(scales + i * sizeof(bits), bits);
	}
	{
		const struct tp_entry entries[3] = {
		    {.name = TP_STR("q"),
			.dtype = TP_DTYPE_I8,
			.rank = 2,
			.shape = shape,
			.n_elems = ROWS * COLUMNS,
			.nbytes = sizeof(stored),
			.storage = 0,
			.quant = &q},
		    {.name = TP_STR("s"),
			.dtype = TP_DTYPE_F32,
			.rank = s_rank,
			.shape = s_shape,
			.n_elems = n,
			.nbytes = n * sizeof(float),
			.storage = 1},
		    {.name = TP_STR("z"),
			.dtype = TP_DTYPE_I8,
			.rank = s_rank,
			.shape = s_shape,
			.n_elems = n,
			.nbytes = n,
			.storage = 2},
		};
		const uint64_t sizes[3] = {
		    sizeof(stored), n * sizeof(float), n};
		const void *const bytes[3] = {stored, scales, zeros};
		const struct tp_model model = {.entries = entries,
		    .n_entries = 3,
		    .storage_nbytes = sizes,
		    .n_storages = 3};

		if (!write_model(argv[1], &model, bytes, &err))
			return 0;
	}
	fprintf(stderr, "quantized: %s: %s\n", argv[1], err.msg);
	return 1;
}
