#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""compare_onnx.py PAIRS - are these pairs of ONNX files equal, node by node?

PAIRS holds two paths a line. Both models are loaded by the onnx package, which
decodes every tensor its own way; everything else must be equal field by field.
"""
import sys

try:
    import numpy
    import onnx
    from onnx import numpy_helper
    from google.protobuf.descriptor import FieldDescriptor
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

PAYLOAD = {
    "raw_data", "float_data", "int32_data", "int64_data", "double_data",
    "uint64_data", "string_data", "external_data", "data_location",
}


def tensor_content(tensor):
    """Values by the onnx package: as bytes, so that NaN equals NaN."""
    if tensor.data_type == onnx.TensorProto.STRING:
        return list(tensor.string_data)
    if tensor.data_type == onnx.TensorProto.UNDEFINED:
        return None
    return numpy.ascontiguousarray(numpy_helper.to_array(tensor)).tobytes()


def plain_fields(message, skip):
    return {
        field.name: (field, value)
        for field, value in message.ListFields()
        if field.name not in skip
    }


def compare(a, b, where):
    """The first difference, as text, or None."""
    skip = set()
    if isinstance(a, onnx.TensorProto):
        skip = PAYLOAD
        if tensor_content(a) != tensor_content(b):
            return f"{where}: values"
    fields_a, fields_b = plain_fields(a, skip), plain_fields(b, skip)
    if fields_a.keys() != fields_b.keys():
        return f"{where}: fields {sorted(fields_a)} against {sorted(fields_b)}"
    for name, (field, value_a) in fields_a.items():
        value_b = fields_b[name][1]
        here = f"{where}.{name}"
        if field.type != FieldDescriptor.TYPE_MESSAGE:
            if field.label == FieldDescriptor.LABEL_REPEATED:
                value_a, value_b = list(value_a), list(value_b)
            # repr: a NaN attribute equals itself.
            if value_a != value_b and repr(value_a) != repr(value_b):
                return f"{here}: {value_a!r} against {value_b!r}"
            continue
        if field.label != FieldDescriptor.LABEL_REPEATED:
            value_a, value_b = [value_a], [value_b]
        if len(value_a) != len(value_b):
            return f"{here}: {len(value_a)} against {len(value_b)}"
        for i, (item_a, item_b) in enumerate(zip(value_a, value_b)):
            difference = compare(item_a, item_b, f"{here}[{i}]")
            if difference:
                return difference
    return None


def main():
    n_failed = n_pairs = 0
    original = loaded = None
    with open(sys.argv[1], encoding="utf-8") as pairs:
        for line in pairs:
            before, after = line.rstrip("\n").split("\t")
            if before != original:
                original, loaded = before, onnx.load(before)
            difference = compare(loaded, onnx.load(after), "model")
            n_pairs += 1
            if difference:
                n_failed += 1
                print(f"FAIL {before}: {after}: {difference}")
    print(f"{n_pairs} pairs, {n_failed} differ")
    return 1 if n_failed or not n_pairs else 0


sys.exit(main())
