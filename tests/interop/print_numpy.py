# SPDX-License-Identifier: Apache-2.0
"""Random arrays as print_cases prints them and as NumPy does.

usage: print_numpy.py PRINT_CASES [COUNT [SEED]]; exit 77 without NumPy.
"""
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("SKIP: no NumPy")
    sys.exit(77)

IMPLIED = {"float64", "int64", "complex128", "bool"}
NAMES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32",
         "int64", "uint64", "float16", "float32", "float64", "complex64",
         "complex128"]


def floats(rng, n):
    kind = rng.integers(9)
    if kind == 0:
        x = rng.standard_normal(n)
    elif kind == 1:
        x = rng.integers(-50, 50, n).astype(float)
    elif kind == 2:
        x = rng.standard_normal(n) * 10.0 ** rng.integers(-12, 12, n)
    elif kind == 3:
        x = rng.integers(-1000, 1000, n) / 8
    elif kind == 4:
        x = np.round(rng.standard_normal(n), rng.integers(5))
    elif kind == 5:
        x = 10.0 ** rng.integers(-320, 308, n)
    elif kind == 6:
        x = 2.0 ** rng.integers(-30, 30, n)
    elif kind == 7:
        bits = rng.integers(0, 2**64, n, dtype=np.uint64)
        x = bits.view(np.float64)
    else:
        x = np.zeros(n)
    for special in (np.nan, np.inf, -np.inf, -0.0, 0.0):
        if rng.integers(5) == 0:
            x = np.where(rng.random(n) < 0.2, special, x)
    return x


def values(rng, name, shape):
    n = int(np.prod(shape))
    dtype = np.dtype(name)
    if dtype.kind == "b":
        x = rng.integers(0, 2, n)
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        if rng.integers(2):
            x = rng.integers(info.min, info.max, n, dtype=dtype,
                             endpoint=True)
        else:
            x = rng.integers(0, 100, n)
    elif dtype.kind == "c":
        part = np.empty(0, dtype).real.dtype
        x = np.empty(n, dtype)
        x.real = floats(rng, n).astype(part)
        x.imag = floats(rng, n).astype(part)
    elif name == "float16" and rng.integers(2):
        x = rng.integers(0, 2**16, n).astype(np.uint16).view(np.float16)
    elif name == "float32" and rng.integers(3) == 0:
        x = rng.integers(0, 2**32, n).astype(np.uint32).view(np.float32)
    else:
        x = floats(rng, n)
    return x.astype(dtype).reshape(shape)


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 20261130
    print("seed", seed, "count", count)
    np.seterr(all="ignore")
    rng = np.random.default_rng(seed)
    cases = []
    with tempfile.NamedTemporaryFile() as f:
        for _ in range(count):
            name = NAMES[rng.integers(len(NAMES))]
            rank = rng.integers(5)
            shape = tuple(int(s) for s in rng.integers(0, 9, rank))
            if rng.integers(6) == 0:
                shape = tuple(int(s) for s in rng.integers(1, 1500, 1))
            if rng.integers(10) == 0:
                shape = tuple(int(s) for s in rng.integers(1, 40, 2))
            if rng.integers(20) == 0:
                shape = tuple(int(s) for s in rng.integers(6, 12, 3))
            a = values(rng, name, shape)
            with_name = bool(rng.integers(2))
            text = "-" if name in IMPLIED and a.size else name
            head = [name, "array" if with_name else "-", text, len(shape)]
            f.write((" ".join(map(str, head + list(shape))) + "\n").encode())
            f.write(a.astype(a.dtype.newbyteorder("<")).tobytes())
            cases.append((a, with_name))
        f.flush()
        out = subprocess.run([sys.argv[1], f.name], check=True,
                             stdout=subprocess.PIPE).stdout.decode()
    texts = out.split("\n\f\n")
    bad = 0
    if len(texts) != len(cases) + 1:
        print("printed", len(texts) - 1, "of", len(cases))
        return 1
    for (a, with_name), text in zip(cases, texts):
        want = repr(a) if with_name else str(a)
        if text != want:
            bad += 1
            if bad <= 5:
                print("%s %s\nwant %.2000s\ngot  %.2000s" % (
                    a.dtype, a.shape, want, text))
    print(bad, "of", len(cases), "differ")
    return bad != 0


sys.exit(main())
