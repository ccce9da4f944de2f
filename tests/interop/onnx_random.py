#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""onnx_random.py TP_CONVERT FOLDER COUNT SEED

Random ONNX models made by Python's onnx package: weights of every dtype it
has, raw and typed, in the main graph, in Constant nodes and in branches nested
three deep, inline and then moved to external data. Each is converted to
safetensors, and the tensors must be the arrays that went in.
"""
import json
import os
import random
import struct
import subprocess
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

DTYPES = {
    TensorProto.FLOAT: np.float32,
    TensorProto.UINT8: np.uint8,
    TensorProto.INT8: np.int8,
    TensorProto.UINT16: np.uint16,
    TensorProto.INT16: np.int16,
    TensorProto.INT32: np.int32,
    TensorProto.INT64: np.int64,
    TensorProto.BOOL: np.bool_,
    TensorProto.FLOAT16: np.float16,
    TensorProto.DOUBLE: np.float64,
    TensorProto.UINT32: np.uint32,
    TensorProto.UINT64: np.uint64,
    TensorProto.COMPLEX64: np.complex64,
}


class Model:
    """A model under construction, and the arrays that should come out."""

    def __init__(self):
        self.expected = {}
        self.count = 0

    def name(self, kind):
        self.count += 1
        return f"{kind}{self.count}"

    def expect(self, scope, name, array):
        self.expected[f"{scope}:{name}" if scope else name] = array

    def tensor(self, name):
        data_type = random.choice(list(DTYPES))
        array = random_array(np.dtype(DTYPES[data_type]))
        if random.random() < 0.5:
            return numpy_helper.from_array(array, name), array
        flat = array.flatten()
        if data_type == TensorProto.FLOAT16:
            t = TensorProto(data_type=data_type, dims=array.shape, name=name)
            t.int32_data.extend(int(v) for v in flat.view(np.uint16))
            return t, array
        values = flat if data_type == TensorProto.COMPLEX64 else flat.tolist()
        return helper.make_tensor(name, data_type, array.shape, values), array

    def constant(self, scope):
        name = self.name("c")
        form = random.choice(
            ["value", "value_int", "value_ints", "value_float", "value_floats"])
        n = random.randint(1, 5)
        ints = [random.randint(-2**63, 2**63 - 1) for _ in range(n)]
        floats = [float(np.float32(random.random())) for _ in range(n)]
        if form == "value":
            value, array = self.tensor("inner")
        elif form == "value_int":
            value, array = ints[0], np.array(ints[0], np.int64)
        elif form == "value_ints":
            value, array = ints, np.array(ints, np.int64)
        elif form == "value_float":
            value, array = floats[0], np.array(floats[0], np.float32)
        else:
            value, array = floats, np.array(floats, np.float32)
        self.expect(scope, name, array)
        return helper.make_node("Constant", [], [name], **{form: value})

    def branches(self, scope, number, depth):
        node = helper.make_node("If", ["x"], [self.name("y")])
        for name in ("then_branch", "else_branch"):
            path = f"{scope}/{number}.{name}" if scope else f"{number}.{name}"
            node.attribute.append(
                helper.make_attribute(name, self.graph(path, depth + 1)))
        return node

    def graph(self, scope, depth):
        nodes, initializers = [], []
        for _ in range(random.randint(0, 4)):
            name = self.name("w")
            tensor, array = self.tensor(name)
            self.expect(scope, name, array)
            initializers.append(tensor)
        for number in range(random.randint(0, 4)):
            kind = random.random()
            if kind < 0.4:
                nodes.append(self.constant(scope))
            elif kind < 0.7 and depth < 3:
                nodes.append(self.branches(scope, number, depth))
            else:
                nodes.append(helper.make_node("Relu", ["x"], [self.name("r")]))
        return helper.make_graph(nodes, "g", [], [], initializer=initializers)


def random_array(dtype):
    shape = [random.choice([0, 1, 2, 3, 5])
             for _ in range(random.randint(0, 4))]
    n = int(np.prod(shape, dtype=np.int64))
    if dtype == np.bool_:
        return np.array([random.random() < 0.5 for _ in range(n)],
                        np.bool_).reshape(shape)
    data = bytes(random.randrange(256) for _ in range(n * dtype.itemsize))
    array = np.frombuffer(data, dtype).reshape(shape)
    if dtype.kind in "fc":  # numpy may change a NaN on the way
        array = np.nan_to_num(array, nan=1.5, posinf=2, neginf=-2)
    return np.asarray(array, dtype)


def read_safetensors(path):
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__", None)
    found = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        found[name] = info["shape"], data[8 + n + begin:8 + n + end]
    return found


def check(tp_convert, source, target, expected):
    subprocess.run([tp_convert, "--quiet", "--force", source, target],
                   check=True)
    found = read_safetensors(target)
    assert set(found) == set(expected), set(found) ^ set(expected)
    for name, array in expected.items():
        shape, data = found[name]
        assert shape == list(array.shape), (name, shape, array.shape)
        assert data == array.tobytes(), (name, data, array)


def main():
    tp_convert, folder, count, seed = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    external = os.path.join(folder, "external.onnx")
    target = os.path.join(folder, "out.safetensors")
    n = 0
    for i in range(int(count)):
        random.seed(int(seed) + i)
        model = Model()
        onnx.save(helper.make_model(model.graph("", 0)), path)
        try:
            check(tp_convert, path, target, model.expected)
            data = os.path.join(folder, "data.bin")
            if os.path.exists(data):
                os.remove(data)
            onnx.save_model(onnx.load(path), external,
                            save_as_external_data=True, location="data.bin",
                            all_tensors_to_one_file=True, size_threshold=0,
                            convert_attribute=True)
            check(tp_convert, external, target, model.expected)
        except BaseException:
            print(f"seed {int(seed) + i}, files in {folder}")
            raise
        n += len(model.expected)
    print(f"{count} models, {n} tensors, seed {seed}")


main()
