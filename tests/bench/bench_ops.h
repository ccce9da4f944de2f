/* SPDX-License-Identifier: Apache-2.0 */
/* bench_ops.h - operators on one thread, and nets made of them */
#ifndef BENCH_OPS_H
#define BENCH_OPS_H

#include "bench.h"

#include "tp/op.h"
#include "tp/tensor.h"

/* Run one; into NULL: the result is made, and given to *out or freed. */
void bench_op(const char *name, int opset, const struct tp_attr *attrs,
    size_t n_attrs, struct tp_tensor *const *in, size_t n_in,
    struct tp_tensor *into, struct tp_tensor **out);

/* f32, every element set. */
struct tp_tensor *bench_tensor(const int64_t *sizes, unsigned rank);

/* Nets for an image [1, 3, 224, 224], node by node. */
#define BENCH_NETS 2
struct bench_net;
struct bench_net *bench_net_new(unsigned which);
void bench_net_free(struct bench_net *net);
const char *bench_net_name(unsigned which);
double bench_net_wanted(unsigned which);
bench_fn bench_net_run;
/* Products of numbers that one run takes, known when there was one. */
double bench_net_products(const struct bench_net *net);

#endif
