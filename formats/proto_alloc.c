/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_alloc.c - protobuf-c with the memory of a struct tp_alloc
 *
 * protobuf-c frees without saying how much; so each block begins with its size:
 *
 *	size (padded to 16 bytes) | what protobuf-c sees
 */
#include "tp/checked.h"

#include "proto_alloc.h"

#include "banned.h"

#define HEAD ((size_t)16)

void *
tpi_proto_malloc(const struct tp_alloc *alloc, size_t n)
{
	size_t whole;
	size_t *p;

	if (tp_add_size(n, HEAD, &whole))
		return NULL;
	p = tp_mem_array(alloc, whole, 1);
	if (!p)
		return NULL;
	*p = whole;
	return (char *)p + HEAD;
}

void
tpi_proto_mfree(const struct tp_alloc *alloc, void *p)
{
	size_t *head;

	if (!p)
		return;
	head = (size_t *)(void *)((char *)p - HEAD);
	tp_mem_free(alloc, head, *head, 1);
}

static void *
proto_alloc(void *ctx, size_t n)
{
	struct tpi_proto_alloc *a = ctx;
	void *p = tpi_proto_malloc(a->alloc, n);

	if (!p)
		a->failed = 1;
	return p;
}

static void
proto_free(void *ctx, void *p)
{
	struct tpi_proto_alloc *a = ctx;

	tpi_proto_mfree(a->alloc, p);
}

void
tpi_proto_alloc_init(struct tpi_proto_alloc *a, const struct tp_alloc *alloc)
{
	a->base.alloc = proto_alloc;
	a->base.free = proto_free;
	a->base.allocator_data = a;
	a->alloc = alloc;
	a->failed = 0;
}

enum tp_status
tpi_proto_unpack(const struct tp_alloc *alloc,
    const ProtobufCMessageDescriptor *desc, const void *data, size_t n,
    ProtobufCMessage **out, struct tp_err *err)
{
	struct tpi_proto_alloc a;

	tpi_proto_alloc_init(&a, alloc);
	*out = protobuf_c_message_unpack(desc, &a.base, n, data);
	if (*out)
		return TP_OK;
	if (a.failed)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for the structure of %s", desc->short_name);
	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET, "%s cannot be parsed",
	    desc->short_name);
}

void
tpi_proto_free(const struct tp_alloc *alloc, ProtobufCMessage *m)
{
	struct tpi_proto_alloc a;

	tpi_proto_alloc_init(&a, alloc);
	if (m)
		protobuf_c_message_free_unpacked(m, &a.base);
}
