/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_skim.c - what the walk over protobuf accepts, protobuf-c unpacks */
#include "fuzz.h"

#include "formats/proto_alloc.h"
#include "formats/proto_skim.h"
#include "onnx.pb-c.h"

static const ProtobufCMessageDescriptor *const messages[] = {
    &tp_onnx__model_proto__descriptor, &tp_onnx__tensor_proto__descriptor,
    &tp_onnx__graph_proto__descriptor, &tp_onnx__type_proto__descriptor};

void
fuzz_input(const uint8_t *data, size_t n)
{
	const struct tp_limits limits = tp_limits_default();
	struct tp_err err = TP_ERR_INIT;
	unsigned choice = fuzz_choice(data, &n);
	ProtobufCMessage *m = NULL;
	struct fuzz_cost cost = {0, 0};
	enum tp_status rc;

	fuzz_begin();
	rc = tpi_skim_unpack(
	    NULL, data, n, messages[choice % 4], &limits, &m, &err);
	fuzz_end(&cost, "unpacking");
	MUST((rc == TP_OK) == (m != NULL));
	MUST(rc == TP_OK || err.msg[0]);
	if (m) {
		size_t packed = protobuf_c_message_get_packed_size(m);

		/* Unpacked typed values take more bytes, by a small factor. */
		MUST(packed <= 16 * n + 16);
	}
	tpi_proto_free(NULL, m);
}
