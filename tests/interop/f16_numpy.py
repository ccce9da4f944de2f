# SPDX-License-Identifier: Apache-2.0
"""f16_numpy.py CONVERT_RAW - f16 to and from f32 and f64, by us and by NumPy"""

import os
import subprocess
import sys

import numpy as np

TYPES = {"f16": np.dtype("<f2"), "f32": np.dtype("<f4"), "f64": np.dtype("<f8")}
CODES = {"f16": np.dtype("<u2"), "f32": np.dtype("<u4"), "f64": np.dtype("<u8")}


def convert(source, to):
    name = {v.type: k for k, v in TYPES.items()}[source.dtype.type]
    done = subprocess.run([sys.argv[1], name, to], input=source.astype(TYPES[name]).tobytes(),
                          stdout=subprocess.PIPE, check=True)
    return np.frombuffer(done.stdout, TYPES[to])


def compare(source, to):
    with np.errstate(all="ignore"):
        want = source.astype(TYPES[to])
    got = convert(source, to)
    assert got.size == want.size, (got.size, want.size)
    same = got.view(CODES[to]) == want.view(CODES[to])
    same |= np.isnan(got) & np.isnan(want)
    if not same.all():
        i = int(np.argmin(same))
        sys.exit(f"{source[i]!r} to {to}: {got[i]!r}, NumPy has {want[i]!r}")
    print(f"{source.dtype} to {to}: {source.size} equal")


def main():
    seed = int(os.environ.get("TP_TEST_SEED", 20261130))
    print(f"TP_TEST_SEED={seed}")
    rng = np.random.default_rng(seed)
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    compare(halves, "f32")
    compare(halves, "f64")
    # Each f16, halfway to the next, and the neighbours of these.
    finite = np.sort(halves[np.isfinite(halves)].astype(np.float64))
    middle = (finite[:-1] + finite[1:]) / 2
    for to in np.float32, np.float64:
        exact = np.concatenate([finite, middle, [65520.0, -65520.0]])
        near = exact.astype(to)
        compare(np.concatenate([
            near,
            np.nextafter(near, to(np.inf)),
            np.nextafter(near, to(-np.inf)),
        ]), "f16")
    compare(rng.integers(0, 2**32, 1000000, np.uint32).view(np.float32), "f16")
    compare(rng.normal(0, 1000, 1000000), "f16")


main()
