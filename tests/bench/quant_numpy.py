# SPDX-License-Identifier: Apache-2.0
# quant_numpy.py - the jobs of bench_quant.c as one writes them with numpy: a line
# each with the least of five times, of the processor, in seconds
import time

import numpy as np

N = 4096
x = (np.random.default_rng(1).random((N, N), dtype=np.float32) - 0.5) / 8


def bf16():
    bits = x.view(np.uint32)
    return ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype(np.uint16)


def codes(v, most):
    scale = np.abs(v).max(axis=-1, keepdims=True) / np.float32(most)
    scale[scale == 0] = 1
    q = np.clip(np.rint(v / scale), -most, most).astype(np.int8)
    return q, scale


def q8_0():
    q, scale = codes(x.reshape(-1, 32), 127)
    return q, scale.astype(np.float16)


def int4():
    q, scale = codes(x.reshape(-1, 32), 7)
    return (q[:, ::2] & 15) | (q[:, 1::2] << 4), scale


jobs = {
    "f16": lambda: x.astype(np.float16),
    "bf16": bf16,
    "int8 per channel": lambda: codes(x, 127),
    "q8_0": q8_0,
    "int4 per block of 32": int4,
}
for name, job in jobs.items():
    least = 1e9
    for _ in range(5):
        start = time.process_time()
        job()
        least = min(least, time.process_time() - start)
    print(f"{name}\t{least:.6f}")
