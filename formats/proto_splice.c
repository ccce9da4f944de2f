/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_splice.c - pack a message whose large fields lie elsewhere
 *
 * protobuf-c counts a field by its length alone and hands its data to the
 * buffer as it is, so a buffer that knows the addresses given out by
 * tpi_splice_place sees where each payload belongs.
 */
#include "proto_splice.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"

#include "grow.h"

#include "banned.h"

enum tp_status
tpi_splice_init(struct tpi_splice *s, const struct tp_alloc *alloc,
    size_t n_payloads, struct tp_err *err)
{
	memset(s, 0, sizeof(*s));
	s->alloc = alloc;
	s->n_payloads = n_payloads;
	s->marks = tp_mem_array(alloc, n_payloads, 1);
	s->nbytes = tp_mem_array(alloc, n_payloads, sizeof(*s->nbytes));
	if (!s->marks || !s->nbytes) {
		tpi_splice_release(s);
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for %zu payloads", n_payloads);
	}
	return TP_OK;
}

static void
drop_parts(struct tpi_splice *s)
{
	tp_mem_free(s->alloc, s->literal, s->literal_size, 1);
	tp_mem_free(s->alloc, s->parts, s->cap_parts, sizeof(*s->parts));
	s->literal = NULL;
	s->parts = NULL;
	s->literal_size = s->n_parts = s->cap_parts = 0;
	s->total = 0;
}

void
tpi_splice_release(struct tpi_splice *s)
{
	drop_parts(s);
	tp_mem_free(s->alloc, s->marks, s->n_payloads, 1);
	tp_mem_free(s->alloc, s->nbytes, s->n_payloads, sizeof(*s->nbytes));
	memset(s, 0, sizeof(*s));
}

enum tp_status
tpi_splice_place(struct tpi_splice *s, size_t i, uint64_t nbytes,
    ProtobufCBinaryData *field, struct tp_err *err)
{
	size_t len;

	if (i >= s->n_payloads)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "payload %zu of %zu",
		    i, s->n_payloads);
	if (tp_u64_to_size(nbytes, &len))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "a field of %" PRIu64 " bytes", nbytes);
	s->nbytes[i] = nbytes;
	field->data = s->marks + i;
	field->len = len;
	return TP_OK;
}

void
tpi_splice_drop(struct tpi_splice *s, size_t i)
{
	s->nbytes[i] = 0;
}

/* The bytes of all placed payloads. */
static bool
sum_payloads(const struct tpi_splice *s, uint64_t *sum)
{
	*sum = 0;
	for (size_t i = 0; i < s->n_payloads; i++)
		if (tp_add_u64(*sum, s->nbytes[i], sum))
			return false;
	return true;
}

uint64_t
tpi_splice_measure(const struct tpi_splice *s, const ProtobufCMessage *message)
{
	uint64_t sum;

	/*
	 * protobuf-c adds lengths without a check: payloads that are too large
	 * by themselves must not reach it where size_t is narrow.
	 */
	if (!sum_payloads(s, &sum) || sum > TPI_PROTO_MAX)
		return UINT64_MAX;
	return protobuf_c_message_get_packed_size(message);
}

/* The buffer that protobuf-c packs into. */
struct collector {
	ProtobufCBuffer base; /* first: protobuf-c passes its address */
	struct tpi_splice *s;
	size_t used; /* of s->literal */
	size_t n_payloads;
	bool no_memory, broken;
};

static struct tpi_splice_part *
add_part(struct collector *c)
{
	struct tpi_splice *s = c->s;
	void *parts = tpi_grow(s->alloc, s->parts, s->n_parts + 1,
	    &s->cap_parts, sizeof(*s->parts));

	if (!parts) {
		c->no_memory = true;
		return NULL;
	}
	s->parts = parts;
	return &s->parts[s->n_parts++];
}

static void
append(ProtobufCBuffer *base, size_t len, const uint8_t *data)
{
	struct collector *c = (struct collector *)base;
	struct tpi_splice *s = c->s;
	uintptr_t mark = (uintptr_t)data - (uintptr_t)s->marks;
	struct tpi_splice_part *part;

	if (c->no_memory || c->broken || len == 0)
		return;

	/* A payload: its address lies among the marks. */
	if (mark < s->n_payloads) {
		part = add_part(c);
		if (!part)
			return;
		*part = (struct tpi_splice_part){
		    .payload = mark, .nbytes = s->nbytes[mark]};
		c->n_payloads++;
		c->broken = s->marks[mark] || s->nbytes[mark] != len;
		s->marks[mark] = 1; /* seen */
		return;
	}

	/* Literal bytes, which join those before them. */
	if (len > s->literal_size - c->used) {
		c->broken = true;
		return;
	}
	part = s->n_parts ? &s->parts[s->n_parts - 1] : NULL;
	if (!part || part->payload != TP_NONE) {
		part = add_part(c);
		if (!part)
			return;
		*part = (struct tpi_splice_part){
		    .payload = TP_NONE, .bytes = s->literal + c->used};
	}
	memcpy(s->literal + c->used, data, len);
	c->used += len;
	part->nbytes += len;
}

enum tp_status
tpi_splice_pack(
    struct tpi_splice *s, const ProtobufCMessage *message, struct tp_err *err)
{
	struct collector c = {.base.append = append, .s = s};
	uint64_t total = tpi_splice_measure(s, message), sum, rest;
	size_t n_placed = 0, size;

	if (total > TPI_PROTO_MAX)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "a protobuf file ends at 2 GiB");
	for (size_t i = 0; i < s->n_payloads; i++)
		n_placed += s->nbytes[i] != 0;
	if (!sum_payloads(s, &sum) || tp_sub_u64(total, sum, &rest) ||
	    tp_u64_to_size(rest, &size))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a payload is not in the message");

	drop_parts(s);
	s->literal = tp_mem_array(s->alloc, size, 1);
	if (!s->literal)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for a message of %zu bytes", size);
	s->literal_size = size;
	memset(s->marks, 0, s->n_payloads);

	protobuf_c_message_pack_to_buffer(message, &c.base);
	if (c.no_memory || c.broken || c.n_payloads != n_placed ||
	    c.used != size) {
		drop_parts(s);
		return c.no_memory
			   ? tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
				 "out of memory for the parts of a message")
			   : tp_fail(err, TP_EARG, TP_NO_OFFSET,
				 "a payload is not in the message exactly "
				 "once");
	}
	s->total = total;
	return TP_OK;
}
