/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regex.c - RegexFullMatch: which strings a pattern matches from end to end
 *
 * The pattern is in the language of RE2; PCRE2 does the matching.
 */
#include "text.h"

#include <string.h>

#include "tp/checked.h"
#include "tp/copy.h"

#include "../tensor.h"
#include "re2.h"

#include "../banned.h"

static const struct tp_attr *
pattern_of(const struct tpi_call *c)
{
	return tpi_attr_find(c, "pattern");
}

#if TP_REGEX

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Steps of one match, and KiB: a pattern that explodes fails, not hangs. */
#define MATCH_STEPS 10000000
#define MATCH_KIB (64 * 1024)

/* PCRE2 does not tell the size of what it gives back. */
union head {
	size_t nbytes;
	max_align_t align;
};

static void *
take_memory(size_t nbytes, void *ctx)
{
	union head *h = NULL;

	if (!tp_add_size(nbytes, sizeof(*h), &nbytes))
		h = tp_mem_array(ctx, nbytes, 1);
	if (!h)
		return NULL;
	h->nbytes = nbytes;
	return h + 1;
}

static void
give_back(void *p, void *ctx)
{
	union head *h = p;

	if (h)
		tp_mem_free(ctx, h - 1, h[-1].nbytes, 1);
}

/* PCRE2's objects for one call. */
struct matcher {
	pcre2_general_context *memory;
	pcre2_compile_context *how;
	pcre2_code *code;
	pcre2_match_context *limits;
	pcre2_match_data *found;
	struct tpi_scratch pattern;
};

static void
release_matcher(const struct tpi_call *c, struct matcher *m)
{
	pcre2_match_data_free(m->found);
	pcre2_match_context_free(m->limits);
	pcre2_code_free(m->code);
	pcre2_compile_context_free(m->how);
	pcre2_general_context_free(m->memory);
	tpi_scratch_release(c, &m->pattern);
}

static enum tp_status
no_memory(const struct tpi_call *c, struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "%s: no memory for a pattern", c->op->onnx);
}

static enum tp_status
compile(
    const struct tpi_call *c, struct matcher *m, size_t len, struct tp_err *err)
{
	const uint32_t flags = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF |
			       PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C |
			       PCRE2_ANCHORED | PCRE2_ENDANCHORED;
	char why[160] = "";
	size_t at = 0;
	int code = 0;

	pcre2_set_newline(m->how, PCRE2_NEWLINE_LF);
	m->code = pcre2_compile(
	    (PCRE2_SPTR)m->pattern.s, len, flags, &code, &at, m->how);
	if (m->code)
		return TP_OK;
	if (code == PCRE2_ERROR_HEAP_FAILED)
		return no_memory(c, err);
	pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why));
	return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: pattern '%s': %s",
	    c->op->onnx, TP_BRIEF(pattern_of(c)->s), why);
}

/* Release *m whatever the outcome. */
static enum tp_status
make_matcher(const struct tpi_call *c, struct matcher *m, struct tp_err *err)
{
	struct tp_str pattern = pattern_of(c)->s;
	size_t room, len = 0;
	enum tp_status rc;

	memset(m, 0, sizeof(*m));
	if (tp_mul_size(pattern.len, TPI_RE2_GROWTH, &room) ||
	    tp_add_size(room, 1, &room))
		return no_memory(c, err);
	rc = tpi_scratch_room(c, &m->pattern, room, err);
	if (rc)
		return rc;
	if (!tpi_re2_rewrite(pattern, m->pattern.s, &len))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: pattern '%s' has what RE2 does not know", c->op->onnx,
		    TP_BRIEF(pattern));
	/* The allocator is only handed on. */
	m->memory = pcre2_general_context_create(
	    take_memory, give_back, (void *)(uintptr_t)c->alloc);
	if (m->memory) {
		m->how = pcre2_compile_context_create(m->memory);
		m->limits = pcre2_match_context_create(m->memory);
		m->found = pcre2_match_data_create(1, m->memory);
	}
	if (!m->how || !m->limits || !m->found)
		return no_memory(c, err);
	pcre2_set_match_limit(m->limits, MATCH_STEPS);
	pcre2_set_heap_limit(m->limits, MATCH_KIB);
	return compile(c, m, len, err);
}

static enum tp_status
match(const struct tpi_call *c, const struct matcher *m, struct tp_str text,
    uint8_t *out, struct tp_err *err)
{
	int n = pcre2_match(
	    m->code, (PCRE2_SPTR)text.s, text.len, 0, 0, m->found, m->limits);

	*out = n >= 0;
	if (n >= 0 || n == PCRE2_ERROR_NOMATCH)
		return TP_OK;
	if (n == PCRE2_ERROR_NOMEMORY)
		return no_memory(c, err);
	return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
	    "%s: pattern '%s' takes too long on '%s'", c->op->onnx,
	    TP_BRIEF(pattern_of(c)->s), TP_BRIEF(text));
}

static enum tp_status
match_all(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *packed = NULL;
	const uint64_t *numbers;
	struct matcher m;
	uint8_t *out = (uint8_t *)tpi_tensor_address(c->out[0]);
	enum tp_status rc = make_matcher(c, &m, err);

	if (!rc)
		rc = tp_tensor_contiguous(c->in[0], &packed, err);
	numbers = rc ? NULL : tp_tensor_data(packed);
	for (uint64_t i = 0; !rc && i < packed->n_elems; i++)
		rc = match(c, &m, tp_strings_at(c->opts->strings, numbers[i]),
		    &out[i], err);
	tp_tensor_free(packed);
	release_matcher(c, &m);
	return rc;
}

#else

static enum tp_status
match_all(struct tpi_call *c, struct tp_err *err)
{
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "%s: this build has no PCRE2", c->op->onnx);
}

#endif

static enum tp_status
infer_regex_full_match(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_status rc = tpi_check_strings(c, 0, err);

	infos[0] = tpi_info_of(c->in[0]);
	infos[0].dtype = TP_DTYPE_BOOL;
	if (!rc && !pattern_of(c))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: pattern is missing", c->op->onnx);
	return rc;
}

static const struct tpi_attr_spec regex_attrs[] = {
    {"pattern", TP_ATTR_STRING}, {NULL, 0}};

const struct tp_op tpi_regex_ops[] = {
    {.name = "regex_full_match",
	.onnx = "RegexFullMatch",
	.since = 20,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.strings_in = TPI_BIT(0),
	.dtypes = TPI_BIT(TP_DTYPE_STRING),
	.attrs = regex_attrs,
	.infer = infer_regex_full_match,
	.run = match_all},
    {.name = NULL},
};
