/* SPDX-License-Identifier: Apache-2.0 */
/* native.c - the native format's descriptor; the layout is in native.h */
#include "native.h"

#include "tp/checked.h"

#include "banned.h"

static const uint16_t codes[TP_DTYPE_COUNT] = {
#define ROW(ID, code) [TP_DTYPE_##ID] = (code),
    TPI_NATIVE_DTYPES(ROW)
#undef ROW
};

/* enum tp_dtype of each code. */
static const uint8_t dtypes[] = {
#define ROW(ID, code) [(code)] = TP_DTYPE_##ID,
    TPI_NATIVE_DTYPES(ROW)
#undef ROW
};

uint16_t
tpi_native_dtype_code(enum tp_dtype dtype)
{
	return (size_t)dtype < TP_DTYPE_COUNT ? codes[dtype] : 0;
}

enum tp_dtype
tpi_native_dtype(uint16_t code)
{
	return code < sizeof(dtypes) ? (enum tp_dtype)dtypes[code]
				     : TP_DTYPE_NONE;
}

bool
tpi_native_n_chunks(uint64_t nbytes, uint32_t chunk_nbytes, size_t *n)
{
	uint64_t whole = nbytes / chunk_nbytes;

	return !tp_u64_to_size(whole + (nbytes % chunk_nbytes != 0), n);
}

static int
probe(const uint8_t *head, size_t n, uint64_t file_size)
{
	(void)file_size;
	return n >= 8 && tp_le64(head) == TPI_NATIVE_MAGIC ? 100 : 0;
}

static bool
holds_dtype(enum tp_dtype dtype, uint64_t n_elems)
{
	(void)n_elems;
	return tpi_native_dtype_code(dtype) != 0;
}

static bool
keeps_attachment(struct tp_str name)
{
	(void)name;
	return true;
}

const struct tp_format tpi_format_native = {
    .name = "native",
    .suffixes = (const char *const[]){".tpt", NULL},
    .caps = TPI_CAP_METADATA | TPI_CAP_ALIAS | TPI_CAP_STRIDES |
	    TPI_CAP_QUANTIZATION | TPI_CAP_SPARSE | TPI_CAP_HARDENED,
    .probe_len = 8,
    .probe = probe,
    .open = tpi_native_open,
    .stream = tpi_native_stream,
    .stream_from = tpi_native_stream_from,
    .attach = tpi_native_attach,
    .holds_dtype = holds_dtype,
    .keeps_attachment = keeps_attachment,
    .plan = tpi_native_plan,
    .put = tpi_native_put,
    .finish = tpi_native_finish,
    .discard = tpi_native_discard,
};
