/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_nets.c - nets of the shapes of ResNet-18 and MobileNet-v2
 *
 * Batch normalization is part of the weights, as converters leave it.
 */
#include "bench_ops.h"

#include <stdlib.h>

#include "tp/view.h"

#define MAX_WEIGHTS 128

struct bench_net {
	unsigned which;
	struct tp_tensor *image;
	/* In the order in which layers ask for them; made by the first run. */
	struct tp_tensor *weights[MAX_WEIGHTS];
	unsigned n_weights, next;
	double products;
};

static struct tp_tensor *
weights(struct bench_net *net, const int64_t *sizes, unsigned rank)
{
	if (net->next == MAX_WEIGHTS)
		abort();
	if (net->next == net->n_weights)
		net->weights[net->n_weights++] = bench_tensor(sizes, rank);
	return net->weights[net->next++];
}

/* These take their input and give back what they make of it. */
static struct tp_tensor *
apply(const char *name, int opset, const struct tp_attr *attrs, size_t n_attrs,
    struct tp_tensor *x, struct tp_tensor *other)
{
	struct tp_tensor *in[] = {x, other}, *y = NULL;

	bench_op(name, opset, attrs, n_attrs, in, other ? 2 : 1, NULL, &y);
	tp_tensor_free(x);
	return y;
}

static struct tp_tensor *
conv(struct bench_net *net, const struct tp_tensor *x, int64_t channels,
    int64_t kernel, int64_t stride, int64_t group)
{
	int64_t n_in = tp_tensor_sizes(x)[1], pad = kernel / 2;
	const int64_t sizes[] = {channels, n_in / group, kernel, kernel};
	const int64_t strides[] = {stride, stride};
	const int64_t pads[] = {pad, pad, pad, pad};
	const struct tp_attr attrs[] = {{.name = TP_STR("strides"),
					    .kind = TP_ATTR_INTS,
					    .ints = strides,
					    .n = 2},
	    {.name = TP_STR("pads"),
		.kind = TP_ATTR_INTS,
		.ints = pads,
		.n = 4},
	    {.name = TP_STR("group"), .kind = TP_ATTR_INT, .i = group}};
	struct tp_tensor *y = NULL, *in[3];

	if (tp_tensor_alias(x, &in[0], NULL))
		abort();
	in[1] = weights(net, sizes, 4);
	in[2] = weights(net, &channels, 1);
	bench_op("Conv", 11, attrs, 3, in, 3, NULL, &y);
	tp_tensor_free(in[0]);
	net->products += (double)tp_tensor_numel(y) *
			 (double)(n_in / group * kernel * kernel);
	return y;
}

static struct tp_tensor *
relu(struct tp_tensor *x)
{
	return apply("Relu", 14, NULL, 0, x, NULL);
}

static struct tp_tensor *
relu6(struct tp_tensor *x)
{
	const struct tp_attr attrs[] = {
	    {.name = TP_STR("min"), .kind = TP_ATTR_FLOAT, .f = 0},
	    {.name = TP_STR("max"), .kind = TP_ATTR_FLOAT, .f = 6}};

	return apply("Clip", 6, attrs, 2, x, NULL);
}

static struct tp_tensor *
add(struct tp_tensor *x, struct tp_tensor *y)
{
	struct tp_tensor *sum = apply("Add", 14, NULL, 0, x, y);

	tp_tensor_free(y);
	return sum;
}

/* The mean of each plane, then all of them to a thousand numbers. */
static void
classify(struct bench_net *net, struct tp_tensor *x)
{
	static const int64_t n_classes = 1000;
	const struct tp_attr transposed = {
	    .name = TP_STR("transB"), .kind = TP_ATTR_INT, .i = 1};
	int64_t sizes[] = {n_classes, tp_tensor_sizes(x)[1]};
	int64_t flat[] = {1, sizes[1]};
	struct tp_tensor *in[3] = {
	    NULL, weights(net, sizes, 2), weights(net, &n_classes, 1)};

	x = apply("GlobalAveragePool", 1, NULL, 0, x, NULL);
	if (tp_tensor_reshape(x, flat, 2, &in[0], NULL))
		abort();
	bench_op("Gemm", 13, &transposed, 1, in, 3, NULL, NULL);
	net->products += (double)(n_classes * sizes[1]);
	tp_tensor_free(in[0]);
	tp_tensor_free(x);
}

static struct tp_tensor *
residual(struct bench_net *net, struct tp_tensor *x, int64_t channels,
    int64_t stride)
{
	struct tp_tensor *short_cut = NULL, *y, *z;

	y = relu(conv(net, x, channels, 3, stride, 1));
	z = conv(net, y, channels, 3, 1, 1);
	tp_tensor_free(y);
	if (stride > 1) {
		short_cut = conv(net, x, channels, 1, stride, 1);
		tp_tensor_free(x);
		x = short_cut;
	}
	return relu(add(z, x));
}

static void
run_resnet(struct bench_net *net)
{
	static const int64_t pair[] = {2, 2}, three[] = {3, 3};
	static const int64_t ones[] = {1, 1, 1, 1};
	const struct tp_attr pool[] = {{.name = TP_STR("kernel_shape"),
					   .kind = TP_ATTR_INTS,
					   .ints = three,
					   .n = 2},
	    {.name = TP_STR("strides"),
		.kind = TP_ATTR_INTS,
		.ints = pair,
		.n = 2},
	    {.name = TP_STR("pads"),
		.kind = TP_ATTR_INTS,
		.ints = ones,
		.n = 4}};
	struct tp_tensor *x = relu(conv(net, net->image, 64, 7, 2, 1));

	x = apply("MaxPool", 12, pool, 3, x, NULL);
	for (int64_t channels = 64; channels <= 512; channels *= 2) {
		x = residual(net, x, channels, channels > 64 ? 2 : 1);
		x = residual(net, x, channels, 1);
	}
	classify(net, x);
}

/* Wider, each channel for itself, narrower; and the input on top. */
static struct tp_tensor *
inverted(struct bench_net *net, struct tp_tensor *x, int64_t factor,
    int64_t channels, int64_t stride)
{
	int64_t n_in = tp_tensor_sizes(x)[1], wide = n_in * factor;
	struct tp_tensor *y = NULL, *z;

	if (factor > 1)
		y = relu6(conv(net, x, wide, 1, 1, 1));
	else if (tp_tensor_alias(x, &y, NULL))
		abort();
	z = relu6(conv(net, y, wide, 3, stride, wide));
	tp_tensor_free(y);
	y = conv(net, z, channels, 1, 1, 1);
	tp_tensor_free(z);
	if (stride == 1 && n_in == channels)
		return add(y, x);
	tp_tensor_free(x);
	return y;
}

static void
run_mobilenet(struct bench_net *net)
{
	static const struct {
		int64_t factor, channels, n, stride;
	} stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2},
	    {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
	struct tp_tensor *x = relu6(conv(net, net->image, 32, 3, 2, 1)), *y;

	for (size_t s = 0; s < sizeof(stages) / sizeof(*stages); s++)
		for (int64_t k = 0; k < stages[s].n; k++)
			x = inverted(net, x, stages[s].factor,
			    stages[s].channels, k ? 1 : stages[s].stride);
	y = relu6(conv(net, x, 1280, 1, 1, 1));
	tp_tensor_free(x);
	classify(net, y);
}

/*
 * A quarter of the speed of ONNX Runtime, one thread: it took 26 ms and 9.5 ms
 * where MatMul here made 30 G products a second.
 */
static const struct {
	const char *name;
	void (*run)(struct bench_net *net);
	double wanted;
} nets[BENCH_NETS] = {
    {"net like ResNet-18", run_resnet, 0.58},
    {"net like MobileNet-v2", run_mobilenet, 0.26},
};

struct bench_net *
bench_net_new(unsigned which)
{
	static const int64_t sizes[] = {1, 3, 224, 224};
	struct bench_net *net = calloc(1, sizeof(*net));

	if (!net)
		abort();
	net->which = which;
	net->image = bench_tensor(sizes, 4);
	return net;
}

void
bench_net_free(struct bench_net *net)
{
	for (unsigned k = 0; k < net->n_weights; k++)
		tp_tensor_free(net->weights[k]);
	tp_tensor_free(net->image);
	free(net);
}

const char *
bench_net_name(unsigned which)
{
	return nets[which].name;
}

double
bench_net_wanted(unsigned which)
{
	return nets[which].wanted;
}

void
bench_net_run(void *ctx)
{
	struct bench_net *net = ctx;

	net->next = 0;
	net->products = 0;
	nets[net->which].run(net);
}

double
bench_net_products(const struct bench_net *net)
{
	return net->products;
}
