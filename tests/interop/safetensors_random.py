# SPDX-License-Identifier: Apache-2.0
"""Random safetensors files, judged by Python's json module.

    safetensors_random.py REWRITE FOLDER [SEED]

Good files are written with members, tensors and escapes in any order; what
REWRITE makes of each must equal, byte for byte, the file that is composed here
in the canonical order. Damaged ones must be refused exactly when the rules,
spelled out again in valid(), are broken.
"""
import json
import os
import random
import struct
import subprocess
import sys

DTYPES = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8,
    "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32,
    "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}
ORDER = list(DTYPES)[::-1]
ALPHABET = "ab./ \"'\\\n\t\r\b\f\0\x01\x1f\x7f\u00fc\u20ac\U0001f600{}[]:,"


def text(rng, longest):
    n = rng.choice([0, 1, 2, 5, rng.randrange(longest)])
    return "".join(rng.choice(ALPHABET) for _ in range(n))


def compose(header, data):
    head = header.encode()
    return struct.pack("<Q", len(head)) + head + data


def canonical(meta, tensors):
    """What the writer must make of it."""
    header, data = {}, b""
    if meta:
        header["__metadata__"] = meta
    for name in sorted(tensors, key=lambda t: (
            ORDER.index(tensors[t][0]), t.encode())):
        dtype, shape, payload = tensors[name]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets":
                        [len(data), len(data) + len(payload)]}
        data += payload
    head = json.dumps(header, ensure_ascii=False, separators=(",", ":"))
    return compose(head + " " * (-len(head.encode()) % 8), data)


def shuffled(rng, meta, tensors):
    """The same model, written as nobody would."""
    names = list(tensors)
    rng.shuffle(names)
    places, data = {}, b""
    for name in names:
        places[name] = [len(data), len(data) + len(tensors[name][2])]
        data += tensors[name][2]
    rng.shuffle(names)
    members = []
    for name in names:
        info = [("dtype", tensors[name][0]), ("shape", tensors[name][1]),
                ("data_offsets", places[name])]
        if rng.random() < 0.1:
            info.append(("more", [{"x": None, "y": [1.5e300, -0.0]}, True]))
        rng.shuffle(info)
        members.append((name, dict(info)))
    if meta or rng.random() < 0.2:
        members.insert(rng.randrange(len(members) + 1),
                       ("__metadata__", meta or None))
    style = rng.choice([{}, {"indent": 1}, {"separators": (",", ":")}])
    head = json.dumps(dict(members), ensure_ascii=rng.random() < 0.5, **style)
    return compose(rng.choice(["", " ", "\n"]) + head + " " * rng.randrange(9),
                   data)


def model(rng):
    tensors = {}
    for _ in range(rng.choice([0, 1, 2, 7, 30])):
        dtype = rng.choice(ORDER)
        shape = [rng.choice([0, 1, 2, 3, 8]) for _ in range(rng.randrange(5))]
        count = 1
        for size in shape:
            count *= size
        if count * DTYPES[dtype] % 8:
            shape, count = shape + [4], count * 4
        name = text(rng, 40)
        if name != "__metadata__":
            tensors[name] = (dtype, shape,
                             rng.randbytes(count * DTYPES[dtype] // 8))
    meta = {text(rng, 20): text(rng, 200) for _ in range(rng.randrange(4))}
    return meta, tensors


class Bad(Exception):
    pass


def need(condition):
    if not condition:
        raise Bad


class Members(list):
    """An object as a list of pairs, so that duplicates can be seen."""


def whole(value):
    return type(value) is int and 0 <= value < 2**64


def unique(pairs, only=None):
    keys = [k for k, _ in pairs if only is None or k in only]
    need(len(set(keys)) == len(keys))


def check_tensor(info, size):
    need(isinstance(info, Members))
    unique(info, ("dtype", "shape", "data_offsets"))
    info = dict(info)
    dtype, shape = info.get("dtype"), info.get("shape")
    offsets = info.get("data_offsets")
    need(isinstance(dtype, str) and dtype in DTYPES)
    need(type(shape) is list and len(shape) <= 64)
    need(type(offsets) is list and len(offsets) == 2)
    need(all(map(whole, shape)) and all(map(whole, offsets)))
    count = 1
    for n in shape:
        count *= n
        need(n < 2**63 and count < 2**63)
    begin, end = offsets
    need(count * DTYPES[dtype] % 8 == 0 and begin <= end <= size)
    need(end - begin == count * DTYPES[dtype] // 8)
    return begin, end


def constant(_):
    raise Bad


def check(blob):
    need(len(blob) >= 8)
    n = struct.unpack_from("<Q", blob)[0]
    need(n <= 100000000 and 8 + n <= len(blob))
    size = len(blob) - 8 - n
    root = json.loads(
        blob[8:8 + n].decode("utf-8"), object_pairs_hook=Members,
        parse_constant=constant,
        parse_int=lambda s: 0.5 if s.startswith("-") else int(s))
    json.dumps(root, ensure_ascii=False).encode()  # no half surrogates
    need(isinstance(root, Members))
    unique(root)
    places = []
    for name, value in root:
        if name == "__metadata__":
            if value is not None:
                need(isinstance(value, Members))
                unique(value)
                need(all(isinstance(v, str) for _, v in value))
        else:
            places.append(check_tensor(value, size))
    at = 0
    for begin, end in sorted(places):
        need(begin == at)
        at = end
    need(at == size)


def valid(blob):
    try:
        check(blob)
    except (Bad, ValueError, RecursionError):
        return False
    return True


def damage(rng, blob):
    """A few bytes changed, removed or repeated, most of them in the header."""
    b = bytearray(blob)
    for _ in range(rng.choice([1, 1, 2, 4])):
        n = 8 + struct.unpack_from("<Q", blob)[0]
        at = rng.randrange(max(1, min(len(b), n) + (rng.random() < 0.1)))
        how = rng.randrange(5)
        if how == 0 and b:
            b[at % len(b)] = rng.randrange(256)
        elif how == 1 and b:
            b[at % len(b)] = rng.choice(b"\"{}[],:0123456789-.eE\\u ntf")
        elif how == 2:
            del b[at:at + rng.choice([1, 1, 2, 9])]
        elif how == 3:
            b[at:at] = rng.choice(
                [b"0", b"-", b",", b"\"", b"\\", b" ", b"\xff", b"\\ud800",
                 b"{}", b"[]", b"\"a\":1,", b"null", b".0", b"e0"])
        else:
            b[at:at] = b[at:at + rng.randrange(1, 40)]
    if rng.random() < 0.7 and len(b) >= 8:
        # Make the length right again, or most would stop there.
        size = len(blob) - 8 - struct.unpack_from("<Q", blob)[0]
        struct.pack_into("<Q", b, 0, max(0, len(b) - 8 - size))
    return bytes(b)


def main():
    rewrite, folder = sys.argv[1:3]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 20240607
    rng = random.Random(seed)
    print("seed", seed)
    os.makedirs(folder, exist_ok=True)
    cases = []
    for i in range(400):
        meta, tensors = model(rng)
        good = shuffled(rng, meta, tensors)
        assert valid(good)
        cases.append((good, canonical(meta, tensors)))
        cases += [(damage(rng, good), None) for _ in range(10)]
    lines = []
    for i, (blob, _) in enumerate(cases):
        with open(f"{folder}/{i}.in", "wb") as f:
            f.write(blob)
        lines.append(f"{folder}/{i}.in\t{folder}/{i}.safetensors\n")
    answers = subprocess.run([rewrite], input="".join(lines).encode(),
                             stdout=subprocess.PIPE, check=True)
    answers = answers.stdout.decode("utf-8", "replace").split("\n")[:-1]
    assert len(answers) == len(cases), (len(answers), len(cases))
    wrong = accepted = 0
    for i, ((blob, want), answer) in enumerate(zip(cases, answers)):
        ok = answer == "ok"
        accepted += ok
        if ok != valid(blob):
            print(f"{folder}/{i}.in: {answer}, but valid() is {not ok}")
            wrong += 1
        elif want is not None:
            with open(f"{folder}/{i}.safetensors", "rb") as f:
                if f.read() != want:
                    print(f"{folder}/{i}.in: rewritten differently")
                    wrong += 1
    print(f"FACT damaged.safetensors_random {len(cases) - accepted}")
    print(f"{len(cases)} files, {accepted} accepted, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
