/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/quantize_plan.h - a scheme for each tensor, chosen from several
 *
 *  1. tp_plan_new for a reader: every tensor stays as it is.
 *  2. tp_quantize_reader with one scheme, tp_plan_offer, tp_close; again for
 *     each scheme. What became of a tensor is then one of its choices.
 *  3. tp_plan_reach or tp_plan_fit chooses; or tp_plan_read takes what a file
 *     says, instead of 2.
 *  4. tp_quantize_reader with the recipes that tp_plan_recipe tells.
 *
 * A plan holds a few numbers for each tensor and choice. The same choices in
 * the same order give the same plan.
 */
#ifndef TP_QUANTIZE_PLAN_H
#define TP_QUANTIZE_PLAN_H

#include "tp/json.h"
#include "tp/quantized.h"

/* Schemes that can be offered, the float that is there among them. */
#define TP_PLAN_CHOICES 8

struct tp_plan;

/* The reader stays open as long as the plan is used. */
TP_API TP_NODISCARD enum tp_status tp_plan_new(const struct tp_alloc *alloc,
    const struct tp_reader *r, struct tp_plan **out, struct tp_err *err);
TP_API void tp_plan_free(struct tp_plan *plan);

/*
 * Take what tp_quantize_reader made of the plan's reader as choices. One that
 * is neither smaller nor more exact than another is left out; of equals the
 * first stays. TP_ELIMIT when there are too many.
 */
TP_API TP_NODISCARD enum tp_status tp_plan_offer(struct tp_plan *plan,
    const struct tp_reader *quantized, struct tp_err *err);

/* For each tensor the smallest choice whose SQNR is that many dB at least. */
TP_API void tp_plan_reach(struct tp_plan *plan, double sqnr);

/*
 * The choices with the largest SQNR of the worst tensor among those that are
 * nbytes at most in all, as struct tp_quantized_item counts them; what is left
 * over then raises the next worst, as far as it goes. TP_EUNSUPPORTED tells how
 * many bytes the smallest choices are when those are more.
 */
TP_API TP_NODISCARD enum tp_status tp_plan_fit(
    struct tp_plan *plan, uint64_t nbytes, struct tp_err *err);

/* What was chosen; without a scheme, `why` says why the tensor is kept. */
TP_API const struct tp_recipe *tp_plan_recipe(
    const struct tp_plan *plan, size_t entry);

/* One JSON object that fits schemas/quantize-plan.schema.json. */
TP_API void tp_plan_write(const struct tp_plan *plan, struct tp_json *j);

/*
 * Choose what such a file says. TP_EFORMAT when it is not what the schema says;
 * TP_ENOTFOUND names a tensor that only the file or only the model has.
 */
TP_API TP_NODISCARD enum tp_status tp_plan_read(
    struct tp_plan *plan, const char *path, struct tp_err *err);

#endif
