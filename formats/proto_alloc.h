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

/* What protobuf-c calls; init it, pass &a.base, as long as the calls last. */
struct tpi_proto_alloc {
	ProtobufCAllocator base;
	const struct tp_alloc *alloc;
	int failed; /* an allocation did */
};

void tpi_proto_alloc_init(
    struct tpi_proto_alloc *a, const struct tp_alloc *alloc);

/* n bytes that tpi_proto_free and protobuf-c can free; NULL: no memory. */
void *tpi_proto_malloc(const struct tp_alloc *alloc, size_t n);
void tpi_proto_mfree(const struct tp_alloc *alloc, void *p);

enum tp_status tpi_proto_unpack(const struct tp_alloc *alloc,
    const ProtobufCMessageDescriptor *desc, const void *data, size_t n,
    ProtobufCMessage **out, struct tp_err *err);

/* NULL is allowed. */
void tpi_proto_free(const struct tp_alloc *alloc, ProtobufCMessage *m);

#endif
