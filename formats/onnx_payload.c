/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_payload.c - bytes of a storage as they stand in an ONNX file
 */
#include "onnx_payload.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/endian.h"

#include "banned.h"

#define VARINT_MAX 10 /* bytes of 64 bits in groups of 7 */
#define PIECE ((size_t)16 << 10)

static unsigned
varint_width(uint64_t v)
{
	unsigned n = 1;

	for (; v >= 0x80; v >>= 7)
		n++;
	return n;
}

/* v in exactly `width` bytes, which are enough. */
static void
put_varint(uint8_t *p, uint64_t v, unsigned width)
{
	for (unsigned i = 0; i < width; i++, v >>= 7)
		p[i] = (uint8_t)((v & 0x7f) | (i + 1 < width ? 0x80 : 0));
}

/* The bytes of all strings without their lengths. */
static bool
text_nbytes(const struct tpi_onnx_payload *p, uint64_t *text)
{
	uint64_t lengths;

	return !tp_mul_u64(p->n_elems, 8, &lengths) &&
	       !tp_sub_u64(p->size, lengths, text);
}

enum tp_status
tpi_onnx_payload_measure(struct tpi_onnx_payload *p, struct tp_err *err)
{
	static const uint64_t stored[] = {
	    [TPI_FORM_FIXED32] = 4, [TPI_FORM_VARINT] = 8};
	static const uint64_t written[] = {
	    [TPI_FORM_FIXED32] = 4, [TPI_FORM_VARINT] = VARINT_MAX};
	uint64_t text = 0, each, n, expected;

	switch (p->form) {
	case TPI_FORM_RAW:
		p->nbytes = p->size;
		return TP_OK;
	case TPI_FORM_FIXED32:
	case TPI_FORM_VARINT:
		if (tp_mul_u64(p->n_elems, stored[p->form], &expected) ||
		    expected != p->size)
			goto mismatch;
		each = written[p->form];
		break;
	case TPI_FORM_BYTES:
		if (!text_nbytes(p, &text))
			goto mismatch;
		each = varint_width(text);
		break;
	default:
		goto mismatch;
	}
	/* Every element but the first has a tag of its own. */
	if (tp_mul_u64(p->n_elems, each + 1, &n) || tp_add_u64(n, text, &n))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "tensor '%s': %" PRIu64 " elements are too many",
		    TP_BRIEF(p->name), p->n_elems);
	p->nbytes = p->n_elems ? n - 1 : 0;
	return TP_OK;

mismatch:
	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
	    "tensor '%s': %" PRIu64 " elements in %" PRIu64 " bytes",
	    TP_BRIEF(p->name), p->n_elems, p->size);
}

/* Read n bytes for nothing. */
static enum tp_status
skip(struct tp_stream *s, uint64_t n, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	uint8_t buf[PIECE];

	while (!rc && n > 0) {
		size_t part = n < sizeof(buf) ? (size_t)n : sizeof(buf);

		rc = tp_stream_read(s, buf, part, err);
		n -= part;
	}
	return rc;
}

static enum tp_status
copy(struct tpi_sink *sink, struct tp_stream *s, uint64_t n, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	uint8_t buf[PIECE];

	if (n == tp_stream_left(s))
		return tpi_sink_stream(sink, s, err);
	while (!rc && n > 0) {
		size_t part = n < sizeof(buf) ? (size_t)n : sizeof(buf);

		rc = tp_stream_read(s, buf, part, err);
		if (!rc)
			rc = tpi_sink_write(sink, buf, part, err);
		n -= part;
	}
	return rc;
}

static enum tp_status
write_raw(const struct tpi_onnx_payload *p, struct tpi_sink *sink,
    struct tp_stream *s, struct tp_err *err)
{
	enum tp_status rc = skip(s, p->skip, err);

	if (!rc)
		rc = copy(sink, s, p->size, err);
	/* To the end, where a checksum is compared. */
	return rc ? rc : skip(s, tp_stream_left(s), err);
}

/* Floats and integers, a few hundred at a time. */
static enum tp_status
write_numbers(const struct tpi_onnx_payload *p, struct tpi_sink *sink,
    struct tp_stream *s, struct tp_err *err)
{
	enum { N = 256 };
	bool floats = p->form == TPI_FORM_FIXED32;
	size_t from = floats ? 4 : 8, to = floats ? 4 : VARINT_MAX;
	uint8_t in[N * 8], out[N * (VARINT_MAX + 1)];
	enum tp_status rc = TP_OK;

	for (uint64_t done = 0; !rc && done < p->n_elems; done += N) {
		uint64_t left = p->n_elems - done;
		size_t n = left < N ? (size_t)left : N;
		uint8_t *q = out;

		rc = tp_stream_read(s, in, n * from, err);
		if (rc)
			break;
		for (size_t i = 0; i < n; i++) {
			if (done + i > 0)
				*q++ = p->tag;
			if (floats)
				tp_put_le32(q, tp_le32(in + i * from));
			else
				put_varint(
				    q, tp_le64(in + i * from), VARINT_MAX);
			q += to;
		}
		rc = tpi_sink_write(sink, out, (size_t)(q - out), err);
	}
	return rc;
}

/* A stream read in pieces, for what takes a few bytes at a time. */
struct feed {
	struct tp_stream *s;
	size_t pos, n;
	uint8_t buf[PIECE];
};

/* Borrow 1 to n of the next bytes. */
static enum tp_status
feed_some(struct feed *f, uint64_t n, const uint8_t **out, size_t *got,
    struct tp_err *err)
{
	if (f->pos == f->n) {
		uint64_t left = tp_stream_left(f->s);
		size_t part = left < PIECE ? (size_t)left : PIECE;
		enum tp_status rc;

		if (part == 0)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "a stream that is too short");
		rc = tp_stream_read(f->s, f->buf, part, err);
		if (rc)
			return rc;
		f->pos = 0;
		f->n = part;
	}
	*got = f->n - f->pos < n ? f->n - f->pos : (size_t)n;
	*out = f->buf + f->pos;
	f->pos += *got;
	return TP_OK;
}

static enum tp_status
feed_length(struct feed *f, uint64_t *len, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	const uint8_t *p = NULL;
	uint8_t bytes[8];
	size_t got;

	for (size_t i = 0; !rc && i < sizeof(bytes); i += got) {
		rc = feed_some(f, sizeof(bytes) - i, &p, &got, err);
		if (rc)
			return rc;
		memcpy(bytes + i, p, got);
	}
	*len = tp_le64(bytes);
	return rc;
}

static enum tp_status
feed_text(struct feed *f, uint64_t n, struct tpi_sink *sink, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	const uint8_t *p = NULL;
	size_t got = 0;

	for (; !rc && n > 0; n -= got) {
		rc = feed_some(f, n, &p, &got, err);
		if (!rc)
			rc = tpi_sink_write(sink, p, got, err);
	}
	return rc;
}

/*
 * text is what the lengths still to come may add up to, so that neither the
 * stream nor the room that was planned is overrun.
 */
static enum tp_status
write_strings(const struct tpi_onnx_payload *p, struct tpi_sink *sink,
    struct tp_stream *s, struct tp_err *err)
{
	struct feed f = {.s = s};
	uint8_t out[1 + VARINT_MAX];
	enum tp_status rc = TP_OK;
	uint64_t text = 0, len = 0;
	unsigned width;

	if (!text_nbytes(p, &text))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s' was not measured", TP_BRIEF(p->name));
	width = varint_width(text);
	for (uint64_t i = 0; i < p->n_elems; i++) {
		rc = feed_length(&f, &len, err);
		if (rc)
			return rc;
		if (len > text)
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "tensor '%s': string %" PRIu64 " of %" PRIu64
			    " bytes where %" PRIu64 " are left",
			    TP_BRIEF(p->name), i, len, text);
		text -= len;
		out[0] = p->tag;
		put_varint(out + 1, len, width);
		rc = i > 0 ? tpi_sink_write(sink, out, 1 + width, err)
			   : tpi_sink_write(sink, out + 1, width, err);
		if (!rc)
			rc = feed_text(&f, len, sink, err);
		if (rc)
			return rc;
	}
	if (text)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': %" PRIu64 " bytes after the last string",
		    TP_BRIEF(p->name), text);
	return TP_OK;
}

enum tp_status
tpi_onnx_payload_write(const struct tpi_onnx_payload *p, struct tpi_sink *sink,
    struct tp_stream *s, struct tp_err *err)
{
	switch (p->form) {
	case TPI_FORM_RAW:
		return write_raw(p, sink, s, err);
	case TPI_FORM_FIXED32:
	case TPI_FORM_VARINT:
		return write_numbers(p, sink, s, err);
	case TPI_FORM_BYTES:
		return write_strings(p, sink, s, err);
	}
	return tp_fail(err, TP_EARG, TP_NO_OFFSET, "no such form");
}
