/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out.h - an ONNX file being written, between the parts of the writer
 *
 *	onnx_skeleton.c	 which entry goes into which slot of a graph
 *	onnx_values.c	 an entry into its slot
 *	onnx_tensor.c	 one entry into one message; a model without a graph
 *	onnx_layout.c	 what lies in the model, what in the file beside it
 *	onnx_write.c	 the steps, and the bytes
 */
#ifndef TPI_ONNX_OUT_H
#define TPI_ONNX_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "onnx.pb-c.h"
#include "onnx_payload.h"
#include "onnx_slots.h"
#include "plugin.h"
#include "pool.h"
#include "proto_splice.h"

/* Bytes of a storage on their way into a field of the message. */
struct tpi_onnx_place {
	struct tpi_onnx_payload payload;
	size_t storage;
	size_t next; /* place of the same storage, TP_NONE after the last */
	bool oldest; /* the first place of its storage; last in the chain */
	/* The field: raw_data of a tensor, or an unknown field. One is NULL. */
	TpOnnx__TensorProto *tensor;
	ProtobufCMessageUnknownField *unknown;
	bool may_move;	/* into the data file */
	bool reluctant; /* but only if it must: Constants, which runtimes want
			   in the model */
	bool external;
	uint64_t offset; /* in the data file */
};

struct tpi_onnx_out {
	struct tp_writer *w;
	const struct tp_model *m;
	const struct tp_alloc *alloc;

	/* The message; all of it goes once it is packed. */
	struct tpi_pool pool;	/* as it was unpacked */
	struct tpi_arena arena; /* what was added */
	TpOnnx__ModelProto *message;
	struct tpi_onnx_slots slots;

	struct tpi_onnx_place *places;
	size_t n_places, cap_places;
	size_t *first_place; /* of each storage, TP_NONE if there is none */

	struct tpi_splice splice;
	size_t next_part;
	struct tpi_sink *model_sink, *data_sink;
	uint64_t data_nbytes; /* of the data file; 0: there is none */
};

/*
 * ---- onnx_tensor.c ----
 */

enum tp_status tpi_onnx_no_memory(struct tp_err *err);

/* A new message; NULL without memory. */
void *tpi_onnx_message(
    struct tpi_onnx_out *o, const ProtobufCMessageDescriptor *desc);
#define TPI_ONNX_MESSAGE(o, Type, descriptor) \
	((TpOnnx__##Type *)tpi_onnx_message(  \
	    (o), &tp_onnx__##descriptor##__descriptor))

/*
 * Let a tensor be a dense entry: dims, data_type and payload are replaced, name
 * and all else stay.
 */
enum tp_status tpi_onnx_fill_dense(struct tpi_onnx_out *o,
    TpOnnx__TensorProto *t, const struct tp_entry *e, bool reluctant,
    struct tp_err *err);

/* The same for a sparse entry; values and indices are made if need be. */
enum tp_status tpi_onnx_fill_sparse(struct tpi_onnx_out *o,
    TpOnnx__SparseTensorProto *s, const struct tp_entry *e, struct tp_err *err);

/*
 * Let the field `number` of a message, which must not be set otherwise, hold
 * the elements of an entry.
 */
enum tp_status tpi_onnx_fill_field(struct tpi_onnx_out *o,
    ProtobufCMessage *message, unsigned number, enum tpi_onnx_form form,
    const struct tp_entry *e, struct tp_err *err);

/* Metadata of the model in place of that of the message. */
enum tp_status tpi_onnx_fill_meta(struct tpi_onnx_out *o, struct tp_err *err);

/* A message of initializers only. */
enum tp_status tpi_onnx_make_model(struct tpi_onnx_out *o, struct tp_err *err);

/*
 * ---- onnx_skeleton.c ----
 */

/* The graph of an attachment, its slots filled with the entries. */
enum tp_status tpi_onnx_fill_skeleton(struct tpi_onnx_out *o,
    const struct tp_attachment *skeleton, struct tp_err *err);

/*
 * ---- onnx_values.c ----
 */

/* An attribute of a Constant that holds plain numbers or strings. */
struct tpi_onnx_plain {
	enum tpi_slot_kind kind;
	enum tp_dtype dtype;
	unsigned rank;
	unsigned number; /* of the field of AttributeProto */
	enum tpi_onnx_form form;
};
/* NULL for other kinds of slots. */
const struct tpi_onnx_plain *tpi_onnx_plain(enum tpi_slot_kind kind);

/*
 * Put an entry into a slot. *moved is set when an initializer became sparse, or
 * dense: then tpi_onnx_relist puts all of them into the list of their kind.
 */
enum tp_status tpi_onnx_fill_slot(struct tpi_onnx_out *o,
    struct tpi_onnx_slot *slot, const struct tp_entry *e, bool *moved,
    struct tp_err *err);
enum tp_status tpi_onnx_relist(struct tpi_onnx_out *o, struct tp_err *err);

/*
 * ---- onnx_layout.c ----
 */

/*
 * Decide for each place where its bytes lie, and pack the message. Nothing is
 * left of the choice but what the message and the places say.
 */
enum tp_status tpi_onnx_lay_out(struct tpi_onnx_out *o, struct tp_err *err);

/* Storages of fewer bytes stay inside the model. */
uint64_t tpi_onnx_threshold(const struct tp_create_options *options);

#endif
