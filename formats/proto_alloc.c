/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_alloc.c - protobuf-c with the memory of a struct tp_alloc
 *
 * protobuf-c frees without saying how much; so each block begins with its size:
 *
 *	size (padded to 16 bytes) | what protobuf-c sees
 */
#include "proto_alloc.h"

#include <stdbool.h>

#include "tp/checked.h"

#include "banned.h"

#define HEAD ((size_t)16)

struct proto_alloc {
	ProtobufCAllocator base;
	const struct tp_alloc *alloc;
	bool failed; /* an allocation did */
};

static void *
proto_alloc(void *ctx, size_t n)
{
	struct proto_alloc *a = ctx;
	size_t *p = NULL;
	size_t whole;

	if (!tp_add_size(n, HEAD, &whole))
		p = tp_mem_array(a->alloc, whole, 1);
	if (!p) {
		a->failed = true;
		return NULL;
	}
	*p = whole;
	return (char *)p + HEAD;
}

static void
proto_free(void *ctx, void *p)
{
	struct proto_alloc *a = ctx;
	size_t *head;

	if (!p)
		return;
	head = (size_t *)(void *)((char *)p - HEAD);
	tp_mem_free(a->alloc, head, *head, 1);
}

static void
proto_alloc_init(struct proto_alloc *a, const struct tp_alloc *alloc)
{
	a->base.alloc = proto_alloc;
	a->base.free = proto_free;
	a->base.allocator_data = a;
	a->alloc = alloc;
	a->failed = false;
}

static enum tp_status
unpacked(const ProtobufCMessageDescriptor *desc, const ProtobufCMessage *m,
    bool no_memory, struct tp_err *err)
{
	if (m)
		return TP_OK;
	if (no_memory)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for the structure of %s", desc->short_name);
	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET, "%s cannot be parsed",
	    desc->short_name);
}

enum tp_status
tpi_proto_unpack(const struct tp_alloc *alloc,
    const ProtobufCMessageDescriptor *desc, const void *data, size_t n,
    ProtobufCMessage **out, struct tp_err *err)
{
	struct proto_alloc a;

	proto_alloc_init(&a, alloc);
	*out = protobuf_c_message_unpack(desc, &a.base, n, data);
	return unpacked(desc, *out, a.failed, err);
}

struct in_arena {
	struct tpi_arena *arena;
	bool failed;
};

static void *
arena_alloc(void *ctx, size_t n)
{
	struct in_arena *a = ctx;
	void *p = tpi_arena_array(a->arena, n, 1);

	if (!p)
		a->failed = true;
	return p;
}

static void
arena_free(void *ctx, void *p)
{
	(void)ctx;
	(void)p;
}

enum tp_status
tpi_proto_unpack_in(struct tpi_arena *arena,
    const ProtobufCMessageDescriptor *desc, const void *data, size_t n,
    ProtobufCMessage **out, struct tp_err *err)
{
	struct in_arena in = {.arena = arena};
	ProtobufCAllocator a = {arena_alloc, arena_free, &in};

	*out = protobuf_c_message_unpack(desc, &a, n, data);
	return unpacked(desc, *out, in.failed, err);
}

void
tpi_proto_free(const struct tp_alloc *alloc, ProtobufCMessage *m)
{
	struct proto_alloc a;

	proto_alloc_init(&a, alloc);
	if (m)
		protobuf_c_message_free_unpacked(m, &a.base);
}
