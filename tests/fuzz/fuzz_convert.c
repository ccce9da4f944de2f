/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_convert.c - any model into each format and, read back, equal to itself
 *
 * What cannot be held is left out on request; then a transfer is refused for a
 * reason, or it succeeds and tp_transfer_verify finds nothing.
 */
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

#include "tp/transfer.h"

static const char *const outputs[] = {"out.tpt", "out.safetensors", "out.onnx"};

static enum tp_status
choose(void *ctx, const struct tp_reader *r, size_t entry,
    struct tp_choice *choice, struct tp_err *err)
{
	const unsigned *how = ctx;

	(void)err;
	if (*how & 8 && tp_reader_entry(r, entry)->dtype == TP_DTYPE_F32)
		choice->dtype = TP_DTYPE_BF16;
	return TP_OK;
}

/* True if the file was written. */
static bool
convert(struct tp_reader *r, const char *path, unsigned how)
{
	static const enum tp_external external[] = {TP_EXTERNAL_AUTO,
	    TP_EXTERNAL_ALWAYS, TP_EXTERNAL_NEVER, TP_EXTERNAL_ALWAYS};
	struct tp_transfer_options o = {
	    .create = {.force = true,
		.sync = TP_SYNC_NEVER,
		.compress = how & 1 ? 1 : 0,
		.external = external[how >> 4 & 3],
		.external_threshold = how & 64 ? 1 : 0},
	    .choose = choose,
	    .choose_ctx = &how,
	    .overflow = TP_OVERFLOW_INF,
	    .allow_loss = TP_LOSS_ALL,
	    .n_threads = how & 4 ? 2 : 1,
	};
	struct tp_err err = TP_ERR_INIT;
	struct tp_transfer *t = NULL;
	bool written = fuzz_transfer(r, path, &o, &t, &err);

	MUST(written || err.msg[0] || (t && tp_transfer_nbytes(t) > 0));
	tp_transfer_free(t);
	return written;
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	struct tp_err err = TP_ERR_INIT;
	unsigned how = fuzz_choice(data, &n);
	struct tp_reader *r =
			     fuzz_open(fuzz_file("in", data, n), NULL, 0, &err),
			 *back;

	if (!r)
		return;
	for (size_t i = 0; i < 3; i++) {
		const char *path = fuzz_path(outputs[i]);

		if (!convert(r, path, how))
			continue;
		back = fuzz_open(path, NULL, 0, &err);
		MUST(back);
		fuzz_walk(back);
		/* Once more from there: nothing is lost on the way. */
		convert(back, fuzz_path("again.tpt"), 0);
		tp_close(back);
	}
	tp_close(r);
}
