# SPDX-License-Identifier: Apache-2.0
"""onnx_numpy.py - small ONNX graphs computed with numpy, from the definitions

Operators are those that the models of onnx_quantize.py have, and those that
tp-quantize writes. Tensors are decoded here, so that dtypes may be newer than
the onnx package.
"""
import numpy as np

PLAIN = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64,
         9: np.bool_, 10: np.float16, 11: np.float64}


def float8(codes, exponent_bits, bias, has_infinity):
    """The numbers of 8-bit floats, by the formula."""
    mantissa_bits = 7 - exponent_bits
    sign = np.where(codes & 128, -1.0, 1.0)
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    normal = exponent > 0
    value = np.where(normal, 1 + fraction, fraction) * \
        np.exp2(np.where(normal, exponent, 1).astype(float) - bias)
    if has_infinity:
        top = exponent == (1 << exponent_bits) - 1
        value = np.where(top, np.where(fraction > 0, np.nan, np.inf), value)
    else:
        value = np.where(codes & 127 == 127, np.nan, value)
    return (sign * value).astype(np.float32)


def to_array(t):
    """A TensorProto whose values are raw_data."""
    shape, raw = list(t.dims), t.raw_data
    if t.data_type in PLAIN:
        return np.frombuffer(raw, PLAIN[t.data_type]).reshape(shape)
    if t.data_type == 16:
        bits = np.frombuffer(raw, np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).reshape(shape)
    codes = np.frombuffer(raw, np.uint8)
    if t.data_type in (17, 19):
        e4m3 = t.data_type == 17
        return float8(codes, 4 if e4m3 else 5, 7 if e4m3 else 15,
                      not e4m3).reshape(shape)
    if t.data_type in (21, 22):
        n = int(np.prod(shape))
        both = np.stack([codes & 15, codes >> 4], -1).reshape(-1)[:n]
        signed = np.where(both > 7, both.astype(np.int8) - 16, both)
        return (both if t.data_type == 21 else signed).astype(
            np.uint8 if t.data_type == 21 else np.int8).reshape(shape)
    raise ValueError(f"data_type {t.data_type}")


def spread(p, x, axis, block):
    """Scales or zero points as one for each element."""
    if p.size == 1:
        return p.reshape(())
    if block:
        p = np.repeat(p, block, axis)
        return np.take(p, range(x.shape[axis]), axis)
    return p.reshape([-1] + [1] * (x.ndim - 1 - axis % x.ndim))


def dequantize(a, x, scale, zero=None):
    axis, block = a.get("axis", 1), a.get("block_size", 0)
    zero = np.zeros((), x.dtype) if zero is None else zero
    return ((x.astype(np.int32) - spread(zero, x, axis, block)
             .astype(np.int32)).astype(np.float32) *
            spread(scale, x, axis, block)).astype(scale.dtype)


def conv(a, x, w, b=None):
    group, pads = a.get("group", 1), a.get("pads", [0, 0, 0, 0])
    stride = a.get("strides", [1, 1])
    x = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    rows = (x.shape[2] - w.shape[2]) // stride[0] + 1
    columns = (x.shape[3] - w.shape[3]) // stride[1] + 1
    y = np.zeros([x.shape[0], w.shape[0], rows, columns])
    inner, outer = w.shape[1], w.shape[0] // group
    for g in range(group):
        xg = x[:, g * inner:(g + 1) * inner]
        wg = w[g * outer:(g + 1) * outer]
        for i in range(w.shape[2]):
            for j in range(w.shape[3]):
                part = xg[:, :, i:i + rows * stride[0]:stride[0],
                          j:j + columns * stride[1]:stride[1]]
                y[:, g * outer:(g + 1) * outer] += np.einsum(
                    "nchw,oc->nohw", part.astype(float),
                    wg[:, :, i, j].astype(float))
    if b is not None:
        y += b.reshape(1, -1, 1, 1)
    return y.astype(x.dtype)


def conv_transpose(a, x, w):
    """No padding, one group."""
    s = a.get("strides", [1, 1])
    kh, kw = w.shape[2:]
    y = np.zeros([x.shape[0], w.shape[1], (x.shape[2] - 1) * s[0] + kh,
                  (x.shape[3] - 1) * s[1] + kw])
    for i in range(x.shape[2]):
        for j in range(x.shape[3]):
            y[:, :, i * s[0]:i * s[0] + kh, j * s[1]:j * s[1] + kw] += \
                np.einsum("nc,cohw->nohw", x[:, :, i, j].astype(float),
                          w.astype(float))
    return y.astype(x.dtype)


def gemm(a, x, w, c=None):
    x = x.T if a.get("transA") else x
    w = w.T if a.get("transB") else w
    y = x.astype(float) @ w.astype(float)
    return (y if c is None else y + c).astype(x.dtype)


def softmax(_, x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def cast(a, x):
    to = a["to"]
    return x.astype(np.float32 if to in (b"FLOAT", 1) else PLAIN[to])


OPERATORS = {
    "Add": lambda a, x, y: x + y,
    "Cast": cast,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "DequantizeLinear": dequantize,
    "Flatten": lambda a, x: x.reshape(x.shape[0], -1),
    "Gather": lambda a, x, i: np.take(x, i, a.get("axis", 0)),
    "Gemm": gemm,
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdims=True),
    "Identity": lambda a, x: x,
    "MatMul": lambda a, x, y: (x.astype(float) @ y.astype(float)).astype(
        x.dtype),
    "Mul": lambda a, x, y: x * y,
    "Relu": lambda a, x: np.maximum(x, 0),
    "Softmax": softmax,
    "Sub": lambda a, x, y: x - y,
    "Tanh": lambda a, x: np.tanh(x),
    "Transpose": lambda a, x: np.transpose(x, a.get("perm")),
}


def attributes(node):
    values = {}
    for a in node.attribute:
        values[a.name] = a.i if a.type == 2 else a.s if a.type == 3 else \
            list(a.ints) if a.type == 7 else a.t if a.type == 4 else a.g
    return values


def evaluate(graph, outer):
    """The outputs; outer are the values around it, by name."""
    values = dict(outer)
    values.update((t.name, to_array(t)) for t in graph.initializer)
    for node in graph.node:
        a = attributes(node)
        if node.op_type == "Constant":
            result = to_array(a["value"])
        elif node.op_type == "If":
            branch = "then_branch" if values[node.input[0]].all() \
                else "else_branch"
            result, = evaluate(a[branch], values)
        else:
            result = OPERATORS[node.op_type](
                a, *(values[n] if n else None for n in node.input))
        values[node.output[0]] = result
    return [values[o.name] for o in graph.output]
