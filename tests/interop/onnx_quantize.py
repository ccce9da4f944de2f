#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""onnx_quantize.py TOOLS FOLDER

A convolutional and a transformer-like model, narrowed by tp-quantize in every
way. What comes out must pass onnx's checker and strict shape inference (where
the package knows the opset and dtypes), compute nearly the same with numpy, be
smaller as it should, have the errors that the report tells, and come back byte
for byte when it is dequantized and quantized again. Where an opset has no form
for a scheme, that must be said.

Then DequantizeLinear nodes of ONNX's own test data, over weights: dequantized,
the weights must be exactly the outputs that the data expect.
"""
import glob
import json
import os
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)
import onnx_numpy

TOOLS, FOLDER = sys.argv[1:3]
TESTDATA = "/usr/share/libonnx-testdata/data/node"
FLOAT = TensorProto.FLOAT
failures = []


def expect(condition, *what):
    if not condition:
        failures.append(what)
        print("FAIL", *what)


def run(*args):
    return subprocess.run([os.path.join(TOOLS, args[0]), *args[1:]],
                          capture_output=True, text=True, check=False)


def sqnr(want, got):
    want, got = want.astype(float), got.astype(float)
    noise = ((want - got) ** 2).sum()
    return np.inf if noise == 0 else 10 * np.log10((want ** 2).sum() / noise)


# ---- models ----

class Builder:
    """A graph whose weights are initializers and Constants by turns."""

    def __init__(self, seed, constants=False):
        self.random = np.random.RandomState(seed)
        self.constants = constants
        self.nodes, self.initializers = [], []

    def weight(self, name, *shape):
        fan = np.prod(shape[1:]) if len(shape) > 2 else shape[0]
        data = self.random.standard_normal(shape) / np.sqrt(fan)
        t = numpy_helper.from_array(data.astype(np.float32), name)
        if self.constants or len(self.initializers) % 2:
            self.nodes.append(helper.make_node("Constant", [], [name],
                                               value=t))
        else:
            self.initializers.append(t)
        return name

    def add(self, op_type, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op_type, inputs, [output],
                                           **attributes))
        return output

    def model(self, inputs, outputs, opset, ir_version):
        if ir_version < 4:
            inputs = inputs + [
                helper.make_tensor_value_info(t.name, t.data_type, t.dims)
                for t in self.initializers]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs,
                                  self.initializers)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = ir_version
        return model


def resnet(opset, ir_version):
    b = Builder(1)
    h = b.add("Conv", ["x", b.weight("stem", 32, 3, 3, 3),
                       b.weight("stem_bias", 32)], "c0",
              pads=[1, 1, 1, 1], strides=[2, 2])
    h = b.add("Relu", [h], "r0")
    for i in range(2):
        y = b.add("Conv", [h, b.weight(f"a{i}", 32, 32, 3, 3)], f"ca{i}",
                  pads=[1, 1, 1, 1])
        y = b.add("Relu", [y], f"ra{i}")
        y = b.add("Conv", [y, b.weight(f"b{i}", 32, 32, 1, 1)], f"cb{i}")
        h = b.add("Relu", [b.add("Add", [y, h], f"s{i}")], f"r{i + 1}")
    y = b.add("Conv", [h, b.weight("group", 64, 16, 3, 3)], "cg", group=2)
    # No padding, but what the attribute means was other in opset 10.
    y = b.add("ConvTranspose", [y, b.weight("up", 64, 32, 2, 2)], "ct",
              strides=[2, 2], auto_pad="VALID")
    y = b.add("Flatten", [b.add("GlobalAveragePool", [y], "p")], "f")
    b.add("Gemm", [y, b.weight("fc", 100, 32), b.weight("fc_bias", 100)],
          "y", transB=1)
    return b.model([helper.make_tensor_value_info("x", FLOAT, [1, 3, 16, 16])],
                   [helper.make_tensor_value_info("y", FLOAT, [1, 100])],
                   opset, ir_version), {
        "x": b.random.standard_normal([1, 3, 16, 16]).astype(np.float32)}


def transformer(opset, ir_version):
    """Its embedding is tied; a branch has weights and sees one of the graph."""
    # Before IR version 4 an initializer is an input, which a branch has not.
    b, inner = Builder(2), Builder(3, ir_version < 4)
    h = b.add("Gather", [b.weight("embedding", 200, 64), "ids"], "e")
    q = b.add("MatMul", [h, b.weight("query", 64, 64)], "q")
    k = b.add("MatMul", [h, b.weight("key", 64, 64)], "k")
    v = b.add("MatMul", [h, b.weight("value", 64, 64)], "v")
    k = b.add("Transpose", [k], "kt", perm=[0, 2, 1])
    a = b.add("Softmax", [b.add("MatMul", [q, k], "qk")], "a", axis=2)
    o = b.add("MatMul", [b.add("MatMul", [a, v], "av"),
                         b.weight("output", 64, 64)], "o")
    h = b.add("Tanh", [b.add("Add", [o, h], "h1")], "t1")
    up = b.weight("up", 64, 192)
    y = inner.add("MatMul", [h, up], "u")
    y = inner.add("Relu", [y], "ur")
    y = inner.add("MatMul", [y, inner.weight("down", 192, 64)], "d")
    y = inner.add("MatMul", [y, inner.weight("mix", 64, 64)], "m")
    out = [helper.make_tensor_value_info(y, FLOAT, None)]
    then = helper.make_graph(inner.nodes, "then", [], out, inner.initializers)
    other = helper.make_graph(
        [helper.make_node("Identity", [h], ["same"])], "else", [],
        [helper.make_tensor_value_info("same", FLOAT, None)])
    y = b.add("If", ["flag"], "ff", then_branch=then, else_branch=other)
    y = b.add("Add", [y, h], "h2")
    t = b.add("Transpose", ["embedding"], "et")
    b.add("MatMul", [y, t], "y")
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [1, 10])
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    return b.model([ids, flag],
                   [helper.make_tensor_value_info("y", FLOAT, [1, 10, 200])],
                   opset, ir_version), {
        "ids": b.random.randint(0, 200, [1, 10]), "flag": np.array(True)}


# ---- what becomes of them ----

HALF = ["--graph-dtype", "f16"]
# Options, the opset that the form needs, decibels of the outputs, and what of
# the file is left at most.
SCHEMES = [
    ("int8", [], 1, 30, 0.30), ("uint8", [], 1, 28, 0.30),
    ("uint8", ["--symmetric"], 1, 30, 0.30),
    ("int8", ["--per", "tensor"], 1, 25, 0.30),
    ("int8", ["--asymmetric", "--calibrate", "mse"], 1, 30, 0.31),
    ("int8", ["--axis", "1"], 1, 25, 0.31),
    ("f16", [], 1, 55, 0.52), ("f16", HALF, 1, 55, 0.52), ("bf16", [], 13, 38, 0.52),
    ("f8e4m3", [], 19, 18, 0.28), ("f8e5m2", [], 19, 14, 0.28),
    ("int4", [], 21, 8, 0.19), ("uint4", [], 21, 8, 0.19),
    ("int4", ["--per", "block"], 21, 10, 0.22),
    ("uint4", ["--per", "block", "--block", "7"], 21, 10, 0.36),
    ("int8", ["--per", "block", "--axis", "0"], 21, 30, 0.36),
    ("q8_0", [], 21, 30, 0.96), ("q4_0", [], 21, 10, 0.95),
]
VERSIONS = [(9, 3), (11, 6), (13, 7), (17, 8), (19, 9), (21, 10)]  # opset, IR
# Nodes that change their meaning, and the opset in which they do.
CHANGES = {resnet: ("ConvTranspose", 11), transformer: ("Softmax", 13)}


def known_to_package(model):
    return model.opset_import[0].version <= 17


def check_valid(path, what):
    result = run("tp-verify", "check", path)
    expect(result.returncode == 0, *what, result.stdout, result.stderr)
    model = onnx.load(path)
    if known_to_package(model):
        try:
            onnx.checker.check_model(model, full_check=True)
            onnx.shape_inference.infer_shapes(model, True, True)
        except Exception as why:
            expect(False, *what, why)
    return model


def weights_of(graph):
    """Tensors by name, and the numbers that nodes make of them."""
    values = {t.name: onnx_numpy.to_array(t) for t in graph.initializer}
    for node in graph.node:
        a = onnx_numpy.attributes(node)
        if node.op_type == "Constant":
            values[node.output[0]] = onnx_numpy.to_array(a["value"])
        elif node.op_type in onnx_numpy.OPERATORS and node.input and \
                all(n in values for n in node.input):
            values[node.output[0]] = onnx_numpy.OPERATORS[node.op_type](
                a, *(values[n] for n in node.input))
        for attribute in node.attribute:
            if attribute.type == 5:
                values.update(weights_of(attribute.g))
    return values


def check_report(before, after, report, what):
    """sqnr of each weight, from the tensors in the two files."""
    a, b = weights_of(before.graph), weights_of(after.graph)
    n = 0
    for tensor in report["tensors"]:
        if tensor["status"] != "narrowed":
            continue
        name = tensor["name"].split(":")[-1]
        got = sqnr(a[name], b[name + "_dequantized"])
        told = tensor["errors"]["sqnr"]
        # The package's numbers are rounded to f32 where ours were not.
        expect(abs(got - told) < 1e-3, *what, name, got, told)
        n += 1
    expect(n > 0, *what, "nothing was narrowed")
    return n


def try_scheme(make, version, scheme, counts):
    opset, ir_version = version
    operator, change = CHANGES[make]
    name, options, since, decibels, size = scheme
    what = (make.__name__, opset, name, *options)
    source, target, back, again = (
        os.path.join(FOLDER, f + ".onnx") for f in ("0", "1", "2", "3"))
    model, feeds = make(opset, ir_version)
    onnx.save(model, source)
    command = ["tp-quantize", "-s", name, *options, "--force", "--json"]
    result = run(*command, "--verify", source, target)
    if opset < change <= since:
        expect(result.returncode == 4 and operator in result.stderr, *what,
               result.returncode, result.stderr)
        counts["refused"] += 1
        return
    if result.returncode:
        expect(False, *what, result.stderr)
        return
    narrow = check_valid(target, what)
    expect(narrow.opset_import[0].version == max(opset, since), *what,
           narrow.opset_import)
    if options != HALF:
        check_report(model, narrow, json.loads(result.stdout), what)
    want, = onnx_numpy.evaluate(model.graph, feeds)
    got, = onnx_numpy.evaluate(narrow.graph, feeds)
    expect(sqnr(want, got) > decibels, *what, "outputs:", sqnr(want, got))
    part = os.path.getsize(target) / os.path.getsize(source)
    expect(part < size, *what, "size:", part)

    counts["narrowed"] += 1
    if options == HALF:
        return

    for step in (["tp-quantize", "-q", "--force", "--verify", "--dequantize",
                  target, back],
                 [*command, back, again]):
        result = run(*step)
        expect(result.returncode == 0, *what, result.stderr)
    check_valid(back, what)
    with open(target, "rb") as a, open(again, "rb") as b:
        expect(a.read() == b.read(), *what, "not idempotent")


def try_models():
    counts = {"narrowed": 0, "refused": 0}
    for make in (resnet, transformer):
        for version in VERSIONS:
            for scheme in SCHEMES:
                try_scheme(make, version, scheme, counts)
    print(counts)
    expect(min(counts.values()) > 10, "models", counts)


# ---- ONNX's own data ----

def load_tensor(path):
    t = TensorProto()
    with open(path, "rb") as f:
        t.ParseFromString(f.read())
    return t


def try_testdata(folder, counts):
    """Its inputs become weights, and what it gives goes through Identity."""
    model = onnx.load(os.path.join(folder, "model.onnx"))
    data = os.path.join(folder, "test_data_set_0")
    graph = model.graph
    for i, value in enumerate(graph.input):
        t = load_tensor(os.path.join(data, f"input_{i}.pb"))
        t.name = value.name
        graph.initializer.append(t)
    expected = load_tensor(os.path.join(data, "output_0.pb"))
    del graph.input[:]
    node = graph.node[0]
    graph.node.append(helper.make_node(
        "Identity", [node.output[0]], ["result"]))
    graph.output[0].name = "result"
    source, target = (os.path.join(FOLDER, f) for f in ("s.onnx", "t.onnx"))
    onnx.save(model, source)
    result = run("tp-quantize", "-q", "--force", "--dequantize", source,
                 target)
    expect(result.returncode == 0, folder, result.stderr)
    types = [t.data_type for t in graph.initializer]
    # Codes of 4 and 8 bits with scales of f32 are what we make floats of.
    ours = types[0] in (2, 3, 21, 22) and types[1] == 1
    after = onnx.load(target)
    kinds = [n.op_type for n in after.graph.node]
    counts["folded" if ours else "left"] += 1
    if not ours:
        expect(kinds == ["DequantizeLinear", "Identity"], folder, kinds)
        return
    expect(kinds == ["Identity"], folder, kinds)
    expect(len(after.graph.initializer) == 1, folder)
    got = onnx_numpy.to_array(after.graph.initializer[0])
    want = numpy_helper.to_array(expected)
    expect(got.dtype == np.float32 and got.shape == want.shape and
           (got == want).all(), folder, got, want)


def main():
    try_models()
    counts = {"folded": 0, "left": 0}
    folders = glob.glob(TESTDATA + "/test_dequantizelinear*") + \
        glob.glob(FOLDER + "/*/node/test_dequantizelinear*")
    for folder in sorted(folders):
        try_testdata(folder, counts)
    print(counts)
    expect(counts["folded"] > 0 or not folders, "test data", counts)
    return 1 if failures else 0


sys.exit(main())
