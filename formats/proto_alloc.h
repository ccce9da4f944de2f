/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_alloc.h - protobuf-c with the memory of a struct tp_alloc
 *
 * protobuf-c trusts what it unpacks: it recurses as deeply as messages nest and
 * fails on groups. So only bytes that passed proto_skim.h are given to it.
 */
#ifndef TPI_PROTO_ALLOC_H
#define TPI_PROTO_ALLOC_H

#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "tp/alloc.h"
#include "tp/error.h"

#include "arena.h"

enum tp_status tpi_proto_unpack(const struct tp_alloc *alloc,
    const ProtobufCMessageDescriptor *desc, const void *data, size_t n,
    ProtobufCMessage **out, struct tp_err *err);

/* The same into an arena: nothing of it is freed before that is. */
enum tp_status tpi_proto_unpack_in(struct tpi_arena *arena,
    const ProtobufCMessageDescriptor *desc, const void *data, size_t n,
    ProtobufCMessage **out, struct tp_err *err);

/* NULL is allowed. */
void tpi_proto_free(const struct tp_alloc *alloc, ProtobufCMessage *m);

#endif
