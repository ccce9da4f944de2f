#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""onnx_weights.py PAIRS - is this ONNX model what that safetensors file holds?

PAIRS holds two paths a line. The model must pass onnx.checker; every tensor is
decoded by the onnx package, and the safetensors file is read here.
"""
import json
import sys

try:
    import numpy
    import onnx
    from onnx import numpy_helper
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

# data_type for each dtype that onnx 1.12 knows.
TYPES = {
    "F32": 1, "U8": 2, "I8": 3, "U16": 4, "I16": 5, "I32": 6, "I64": 7,
    "BOOL": 9, "F16": 10, "F64": 11, "U32": 12, "U64": 13, "C64": 14,
    "BF16": 16,
}


def read_safetensors(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = file.read()
    metadata = header.pop("__metadata__", None) or {}
    tensors = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        tensors[name] = (info["dtype"], info["shape"], data[begin:end])
    return metadata, tensors


def content(tensor, dtype):
    """As bytes. The package widens bfloat16 to float32: its upper half."""
    values = numpy_helper.to_array(tensor)
    if dtype == "BF16":
        bits = values.astype(numpy.float32).view(numpy.uint32) >> 16
        values = bits.astype(numpy.uint16)
    return numpy.ascontiguousarray(values).tobytes()


def compare(source, target):
    """The first difference, as text, or None."""
    metadata, tensors = read_safetensors(source)
    if any(dtype not in TYPES for dtype, _, _ in tensors.values()):
        return "skipped"
    onnx.checker.check_model(target)
    model = onnx.load(target)
    if {p.key: p.value for p in model.metadata_props} != metadata:
        return "metadata"
    if model.graph.node or len(model.graph.initializer) != len(tensors):
        return f"{len(model.graph.initializer)} tensors"
    for tensor in model.graph.initializer:
        dtype, shape, data = tensors[tensor.name]
        if tensor.data_type != TYPES[dtype] or list(tensor.dims) != shape:
            return f"{tensor.name}: type or shape"
        if content(tensor, dtype) != data:
            return f"{tensor.name}: values"
    return None


def main():
    n_failed = n_equal = n_skipped = 0
    with open(sys.argv[1], encoding="utf-8") as pairs:
        for line in pairs:
            source, target = line.rstrip("\n").split("\t")
            try:
                difference = compare(source, target)
            except Exception as error:  # the judge says no
                difference = repr(error)
            if difference is None:
                n_equal += 1
            elif difference == "skipped":
                n_skipped += 1
            else:
                n_failed += 1
                print(f"FAIL {source}: {target}: {difference}")
    print(f"{n_equal} equal, {n_failed} differ, "
          f"{n_skipped} of dtypes newer than onnx {onnx.__version__}")
    return 1 if n_failed or n_equal < 30 else 0


sys.exit(main())
