#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""onnx_opsets.py FILE

formats/onnx_opsets.def against the schemas that ONNX's package has of every
version of its operators. Where a schema shows that older nodes are not valid
any more, or have other defaults, the table must have that opset; what the table
has must be an opset in which the operator got a new version; and no operator
may be missing. Versions that differ in their texts only are for people to read.
"""
import re
import sys

try:
    import onnx.defs
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

# Models of older opsets are never raised.
OLDEST = 7
failures = 0


def expect(condition, *what):
    global failures
    if not condition:
        failures += 1
        print("FAIL", *what)


def read_table(path):
    """The opsets in which each operator changes."""
    table = {}
    row = re.compile(r'TPI_ONNX_(?:STEADY\("(\w+)"\)|'
                     r'CHANGE\("(\w+)", .*, (\d+)\))')
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("TPI_"):
                continue
            match = row.fullmatch(line.strip())
            expect(match, "not a row:", line)
            if match[1]:
                expect(match[1] not in table, match[1], "has two rows")
                table[match[1]] = set()
            else:
                table.setdefault(match[2], set()).add(int(match[3]))
    return table


def versions_of_operators():
    operators = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain:
            operators.setdefault(schema.name, {})[schema.since_version] = \
                schema
    return operators


def default_of(attribute):
    return str(attribute.default_value), attribute.required


def differences(old, new):
    """What a node of the old version is or means that is not so in the new."""
    if new.deprecated:
        yield "it went"
    for name, attribute in old.attributes.items():
        if name not in new.attributes:
            yield f"attribute {name} went"
        elif not attribute.required and \
                default_of(attribute) != default_of(new.attributes[name]):
            yield f"attribute {name} has another default"
    for name, attribute in new.attributes.items():
        if name not in old.attributes and attribute.required:
            yield f"attribute {name} is required"
    if new.min_input > old.min_input:
        yield "it has more inputs"
    if new.max_input < old.max_input or new.max_output < old.max_output:
        yield "it has fewer inputs or outputs"
    if new.min_output > old.min_output:
        yield "it has more outputs"
    for before, after in zip(old.inputs, new.inputs):
        lost = set(before.types) - set(after.types)
        if lost:
            yield f"input {before.name} cannot be {sorted(lost)}"


def main():
    table = read_table(sys.argv[1])
    n_versions = n_changes = 0
    for name, versions in sorted(versions_of_operators().items()):
        expect(name in table, name, "is not in the table")
        told = table.get(name, set())
        numbers = sorted(versions)
        for old, new in zip(numbers, numbers[1:]):
            if new <= OLDEST:
                continue
            n_versions += 1
            found = list(differences(versions[old], versions[new]))
            n_changes += bool(found)
            expect(not found or new in told, name, new, *found)
        for opset in told:
            expect(opset in numbers or
                   opset > onnx.defs.onnx_opset_version(), name,
                   "has no version of opset", opset)
    print(f"{len(table)} operators, {n_versions} later versions, {n_changes} "
          "of which are for other nodes")
    expect(n_versions > 150 and n_changes > 15, "too few versions")
    return 1 if failures else 0


sys.exit(main())
