/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_checkpoint.c - make a small model file; an example of the library
 *
 *	sample_checkpoint OUTPUT
 *
 * A convolutional network of two layers with a token embedding that the output
 * layer shares: float, half and bfloat16 weights, a 64-bit counter, metadata.
 * The values come from a fixed generator, so the file is always the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tp/tp.h>
#include <tp/convert.h>
#include <tp/format.h>

#define MAX_RANK 4

static const struct layer {
	const char *name;
	enum tp_dtype dtype;
	unsigned rank;
	int64_t shape[MAX_RANK];
	const char *tied_to; /* an earlier one that holds the values */
} layers[] = {
    {"conv1.weight", TP_DTYPE_F32, 4, {8, 3, 3, 3}, NULL},
    {"conv1.bias", TP_DTYPE_F32, 1, {8}, NULL},
    {"bn1.weight", TP_DTYPE_F32, 1, {8}, NULL},
    {"bn1.bias", TP_DTYPE_F32, 1, {8}, NULL},
    {"bn1.num_batches_tracked", TP_DTYPE_I64, 0, {0}, NULL},
    {"conv2.weight", TP_DTYPE_F16, 4, {16, 8, 3, 3}, NULL},
    {"conv2.bias", TP_DTYPE_F16, 1, {16}, NULL},
    {"embedding.weight", TP_DTYPE_BF16, 2, {64, 16}, NULL},
    {"output.weight", TP_DTYPE_BF16, 2, {64, 16}, "embedding.weight"},
};
#define N_LAYERS (sizeof(layers) / sizeof(layers[0]))

/* A model and the bytes of its storages, little-endian as files want them. */
struct sample {
	struct tp_entry entries[N_LAYERS];
	uint64_t storage_nbytes[N_LAYERS];
	uint8_t *bytes[N_LAYERS];
	size_t n_storages;
};

/* The next of a fixed sequence of numbers in [-0.25, 0.25). */
static float
next_value(uint32_t *state)
{
	*state = *state * 1664525U + 1013904223U;
	return ((float)(*state >> 8) / 16777216.0F - 0.5F) * 0.5F;
}

static void
put_value(enum tp_dtype dtype, uint8_t *bytes, uint64_t i, uint32_t *state)
{
	float value = next_value(state);
	uint16_t half = 0;
	uint32_t bits;

	switch (tp_dtype_bits(dtype)) {
	case 64:
		tp_put_le64(bytes + 8 * i, 1000);
		break;
	case 32:
		memcpy(&bits, &value, sizeof(bits));
		tp_put_le32(bytes + 4 * i, bits);
		break;
	default:
		if (tp_convert(dtype, &half, TP_DTYPE_F32, &value, 1,
			TP_OVERFLOW_ERROR, 0, NULL, NULL))
			abort();
		tp_put_le16(bytes + 2 * i, half);
	}
}

/* Entry i, and, unless it is tied to an earlier one, a storage for it. */
static enum tp_status
fill_entry(struct sample *s, size_t i, uint32_t *state, struct tp_err *err)
{
	const struct layer *layer = &layers[i];
	struct tp_entry *e = &s->entries[i];
	enum tp_status rc;

	e->name = tp_str(layer->name);
	e->dtype = layer->dtype;
	e->rank = layer->rank;
	e->shape = layer->shape;
	rc = tp_shape_numel(layer->shape, layer->rank, &e->n_elems, err);
	if (rc)
		return rc;
	rc = tp_dtype_nbytes(layer->dtype, e->n_elems, &e->nbytes, err);
	if (rc)
		return rc;

	for (size_t k = 0; layer->tied_to && k < i; k++)
		if (!strcmp(layers[k].name, layer->tied_to)) {
			e->storage = s->entries[k].storage;
			return TP_OK;
		}
	e->storage = s->n_storages;
	s->bytes[e->storage] = calloc((size_t)e->nbytes, 1);
	if (!s->bytes[e->storage])
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %" PRIu64 " bytes", e->nbytes);
	s->storage_nbytes[s->n_storages++] = e->nbytes;
	for (uint64_t k = 0; k < e->n_elems; k++)
		put_value(e->dtype, s->bytes[e->storage], k, state);
	return TP_OK;
}

/* Feed the writer the storages in the order in which it wants them. */
static enum tp_status
put_storages(struct tp_writer *w, const struct sample *s, struct tp_err *err)
{
	size_t n = 0;
	const size_t *order = tp_writer_order(w, &n);

	for (size_t i = 0; i < n; i++) {
		struct tp_stream *stream = NULL;
		enum tp_status rc;

		rc = tp_stream_memory(NULL, s->bytes[order[i]],
		    (size_t)s->storage_nbytes[order[i]], &stream, err);
		if (!rc)
			rc = tp_writer_put(w, order[i], stream, err);
		tp_stream_close(stream);
		if (rc)
			return rc;
	}
	return TP_OK;
}

static enum tp_status
write_sample(const struct sample *s, const char *path, struct tp_err *err)
{
	const struct tp_meta metadata[] = {
	    {TP_STR("architecture"), TP_STR("two-layer CNN, tied embeddings")},
	    {TP_STR("format"), TP_STR("pt")},
	    {TP_STR("step"), TP_STR("1000")},
	};
	const struct tp_model model = {
	    .entries = s->entries,
	    .n_entries = N_LAYERS,
	    .storage_nbytes = s->storage_nbytes,
	    .n_storages = s->n_storages,
	    .meta = metadata,
	    .n_meta = sizeof(metadata) / sizeof(metadata[0]),
	};
	const struct tp_create_options options = {.force = true};
	struct tp_writer *w = NULL;
	enum tp_status rc;

	rc = tp_create(path, &model, &options, &w, err);
	if (!rc)
		rc = put_storages(w, s, err);
	if (!rc)
		rc = tp_writer_commit(w, err);
	tp_writer_free(w);
	return rc;
}

int
main(int argc, char **argv)
{
	struct tp_err err = TP_ERR_INIT;
	struct sample sample = {.n_storages = 0};
	uint32_t state = 1;
	enum tp_status rc = TP_OK;

	if (argc != 2) {
		fprintf(stderr, "usage: %s OUTPUT\n", argv[0]);
		return 2;
	}
	for (size_t i = 0; !rc && i < N_LAYERS; i++)
		rc = fill_entry(&sample, i, &state, &err);
	if (!rc)
		rc = write_sample(&sample, argv[1], &err);
	if (rc)
		fprintf(stderr, "%s: %s\n", argv[1], err.msg);
	for (size_t i = 0; i < sample.n_storages; i++)
		free(sample.bytes[i]);
	return rc ? 1 : 0;
}
