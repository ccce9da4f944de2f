/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_read.h - what the parts of the ONNX reader share
 *
 * Opening reads the tree, makes an entry of each slot and lets the tree go:
 * what is kept is where the payloads are. The graph is read a second time if it
 * is asked for, into a tree that may then be changed.
 */
#ifndef TPI_ONNX_READ_H
#define TPI_ONNX_READ_H

#include "onnx_external.h"
#include "onnx_slots.h"
#include "onnx_tree.h"
#include "plugin.h"

/* Where the bytes of a storage come from that do not lie in a file as such. */
struct tpi_onnx_origin {
	const void *data; /* in memory; or NULL */
	size_t payload;	  /* typed fields; TP_NONE if raw */
	enum tp_dtype dtype;
	struct tp_str what;
};

/* r->priv */
struct tpi_onnx_reader {
	struct tpi_skim skim;
	struct tpi_onnx_origin *origins; /* one for each storage */
	size_t n_origins, cap_origins;
	struct tp_map locations; /* of external files, to sources */
	struct tp_map places;	 /* (file, offset, length), to storages */
	char (*digests)[41];	 /* of source i, "" if not known */
	size_t cap_digests;
};

/* Give a reader what the functions below work with. */
enum tp_status tpi_onnx_reader_init(struct tp_reader *r, struct tp_err *err);

/* The tensor of a slot, dense, as a storage and the rest of an entry. */
enum tp_status tpi_onnx_add_slot(struct tp_reader *r,
    const struct tpi_onnx_slot *slot, const struct tpi_onnx_scope *scope,
    struct tp_err *err);

/*
 * The dtype and shape of a tensor, checked; *nbytes for all but strings. shape
 * is room for TP_MAX_RANK.
 */
enum tp_status tpi_onnx_tensor_type(const TpOnnx__TensorProto *t,
    struct tp_str what, struct tp_entry *e, int64_t *shape, struct tp_err *err);

/* A storage with the payload of a tensor, whose type is in *e. */
enum tp_status tpi_onnx_add_payload(struct tp_reader *r,
    const TpOnnx__TensorProto *t, struct tp_str what, const struct tp_entry *e,
    size_t *storage, struct tp_err *err);

/* A storage of bytes in memory, which are in the arena. */
enum tp_status tpi_onnx_add_memory(struct tp_reader *r, const void *data,
    uint64_t nbytes, struct tp_str what, size_t *storage, struct tp_err *err);

/*
 * The storages from number `first` on belong to a tensor of that name, which
 * stays: until now they had the name in the tree.
 */
void tpi_onnx_name_storages(
    struct tp_reader *r, size_t first, struct tp_str name);

/* How the weights are quantized, as DequantizeLinear nodes say. */
enum tp_status tpi_onnx_add_quantizers(struct tp_reader *r,
    const struct tpi_onnx_slots *slots, struct tp_err *err);

/* The functions of the descriptor. */
enum tp_status tpi_onnx_open(struct tp_reader *r, struct tp_err *err);
enum tp_status tpi_onnx_stream(struct tp_reader *r, size_t storage,
    struct tp_stream **out, struct tp_err *err);
enum tp_status tpi_onnx_attach(
    struct tp_reader *r, size_t i, struct tp_err *err);
void tpi_onnx_close(struct tp_reader *r);

#endif
