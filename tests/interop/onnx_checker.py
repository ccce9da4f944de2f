#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""onnx_checker.py TP_VERIFY FOLDER COUNT SEED

Models of onnx-testdata, each with one fault put into its graph or none, judged
by tp-verify check and by the checker of Python's onnx package. Both must agree,
but for two things that tp-verify sees otherwise on purpose: an output that is
defined nowhere, which the checker does not look for, is an error; nodes that
are only not in order are a warning.
"""
import collections
import glob
import os
import random
import subprocess
import sys

try:
    import onnx
    from onnx import checker
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

TESTDATA = "/usr/share/libonnx-testdata"
FAULTS = ["none", "input", "output", "no input", "node twice", "reversed",
          "initializer twice", "graph output", "domain"]


def put_fault(graph, fault):
    """False where the graph has no place for it."""
    if fault in ("input", "output", "node twice", "domain") and not graph.node:
        return False
    if fault == "input":
        node = random.choice(graph.node)
        if not node.input:
            return False
        node.input[random.randrange(len(node.input))] = "nowhere"
    elif fault == "output":
        random.choice(graph.node).output[0] = "other"
    elif fault == "no input":
        if not graph.input:
            return False
        del graph.input[random.randrange(len(graph.input))]
    elif fault == "node twice":
        graph.node.add().CopyFrom(random.choice(graph.node))
    elif fault == "reversed":
        nodes = [onnx.NodeProto.FromString(n.SerializeToString())
                 for n in graph.node]
        del graph.node[:]
        graph.node.extend(reversed(nodes))
    elif fault == "initializer twice":
        if not graph.initializer:
            return False
        graph.initializer.add().CopyFrom(random.choice(graph.initializer))
    elif fault == "graph output":
        graph.output[0].name = "nobody"
    elif fault == "domain":
        random.choice(graph.node).domain = "far.away"
    return True


def main():
    tool, folder, count, seed = sys.argv[1:5]
    random.seed(int(seed))
    files = sorted(glob.glob(TESTDATA + "/**/*.onnx", recursive=True))
    if not files:
        print("SKIPPED: libonnx-testdata is not installed")
        return 77
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    counts, failed = collections.Counter(), 0
    for i in range(int(count)):
        name, fault = random.choice(files), FAULTS[i % len(FAULTS)]
        model = onnx.load(name)
        if not put_fault(model.graph, fault):
            continue
        with open(path, "wb") as out:
            out.write(model.SerializeToString())
        try:
            checker.check_model(model)
            theirs = ""
        except checker.ValidationError as why:
            theirs = str(why).splitlines()[0]
        run = subprocess.run([tool, "check", path], capture_output=True,
                             text=True, check=False)
        # 4: all is well, but there is no tensor in it.
        ours = "" if run.returncode in (0, 4) else run.stdout
        agree = bool(theirs) == bool(ours)
        if not theirs and ours:
            lines = ours.splitlines()[:-1]
            agree = all(": output '" in line or line.startswith("warning")
                        for line in lines)
        if theirs and not ours:
            agree = "topologically sorted" in theirs and \
                "the nodes are not in order" in run.stdout
        counts[fault, "refused" if ours else "passed"] += 1
        if not agree:
            failed = 1
            print(f"{name}, {fault}: onnx says '{theirs}', tp-verify says:")
            print(run.stdout, run.stderr)
    for key in sorted(counts):
        print(*key, counts[key])
    # Each kind must have been there, or nothing was compared.
    if len({fault for fault, _ in counts}) < len(FAULTS):
        print("not every fault was tried")
        failed = 1
    return failed


sys.exit(main())
