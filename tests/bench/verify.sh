#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# verify.sh - how fast models are checked, hashed and compared, against cmp of
# the same files in the same run
#
# Two equal safetensors files of 1 GiB are made as in convert.sh, and one of the
# same values rounded, so that every element differs and every figure must be
# worked out. Where numpy is installed its allclose reads such files too.
# shellcheck disable=SC1091 # it stands beside this script
. "$(dirname "$(realpath "$0")")/lib.sh"

mib64=65536

say "making files in $PWD"
bench_model a.safetensors 1024 64
cp a.safetensors b.safetensors
bench_model one.safetensors 1024 1
cp one.safetensors two.safetensors
tp-convert -q a.safetensors a.tpt
tp-verify manifest a.safetensors >sums
printf '%-36s %8s %8s %12s %5s %15s\n' "1 GiB of f32, warm, 2 threads" cmp job \
    "time (most)" cpu "peak (most)"

compare='cmp a.safetensors b.safetensors'
versus "diff, equal" 0.50 $mib64 "$compare" \
    tp-verify diff --threads 2 a.safetensors b.safetensors
versus "diff, equal, one tensor" 0.50 $mib64 "$compare" \
    tp-verify diff --threads 2 one.safetensors two.safetensors
versus "diff, all figures" 1.50 $mib64 "$compare" \
    tp-verify diff --threads 2 --per-tensor a.safetensors b.safetensors
versus "diff, with tolerances" 1.50 $mib64 "$compare" \
    tp-verify diff --threads 2 --rtol 1e-5 --atol 1e-8 a.safetensors \
    b.safetensors

tp-convert -q --dtype bf16 a.safetensors half.safetensors
tp-convert -q --dtype f32 half.safetensors rounded.safetensors
versus "diff, every element differs" 1.50 $mib64 "$compare" \
    tp-verify diff --threads 2 --rtol 0.01 --sqnr 40 a.safetensors \
    rounded.safetensors
versus "diff, f32 and bf16" 2.50 $mib64 "$compare" \
    tp-verify diff --threads 2 --tolerance auto a.safetensors half.safetensors
rm half.safetensors rounded.safetensors

# 1 GiB at 2 GB/s, and at 1 GB/s.
absolute "check, safetensors" 537 $mib64 \
    tp-verify check --threads 2 a.safetensors
absolute "check, one tensor" 537 $mib64 \
    tp-verify check --threads 2 one.safetensors
absolute "check, native with checksums" 537 $mib64 \
    tp-verify check --threads 2 a.tpt
absolute "manifest" 1074 $mib64 \
    tp-verify manifest --threads 2 a.safetensors
absolute "manifest, one tensor" 1074 $mib64 \
    tp-verify manifest --threads 2 one.safetensors
absolute "manifest --check" 1074 $mib64 \
    tp-verify manifest --threads 2 --check sums a.safetensors

# numpy.allclose over the same bytes: at least five times as long.
python=
for candidate in python3 /usr/bin/python3; do
	if [ -z "$python" ] && "$candidate" -c 'import numpy' 2>/dev/null; then
		python=$candidate
	fi
done
if [ -n "$python" ]; then
	cat >allclose.py <<-'END'
		import sys, numpy
		a, b = (numpy.memmap(p, dtype="<f4", mode="r",
		    offset=8 + int(numpy.fromfile(p, "<u8", 1)[0]))
		    for p in sys.argv[1:])
		assert numpy.allclose(a, b)
	END
	versus "diff, against numpy.allclose" 0.20 $mib64 \
	    "$python allclose.py one.safetensors two.safetensors" \
	    tp-verify diff --threads 2 --rtol 1e-5 --atol 1e-8 one.safetensors \
	    two.safetensors
else
	say "numpy is not installed: no row for numpy.allclose"
fi

# h5diff over the same numbers in HDF5: likewise.
if command -v h5diff >/dev/null && command -v h5import >/dev/null; then
	tail -c $((1 << 30)) one.safetensors >one.raw
	h5import one.raw -d $((1 << 28)) -p x -t FP -s 32 -o one.h5
	rm one.raw
	cp one.h5 two.h5
	versus "diff, against h5diff" 0.20 $mib64 'h5diff one.h5 two.h5' \
	    tp-verify diff --threads 2 one.safetensors two.safetensors
	rm one.h5 two.h5
else
	say "h5diff is not installed (hdf5-tools): no row for it"
fi

name="memory, one tensor of 256 MiB, 1 GiB, 4 GiB"
wanted "$name" || exit "$missed"
# Memory against size: one tensor of which every element differs.
rm -f ./*.safetensors ./*.tpt
for mib in 256 1024 4096; do
	bench_model m.safetensors "$mib" 1
	tp-convert -q --dtype bf16 m.safetensors n.safetensors
	bench_run result tp-verify diff --threads 2 --tolerance auto \
	    m.safetensors n.safetensors >/dev/null
	awk '{ print $2 }' result
	rm ./*.safetensors
done | awk -v name="$name" -v kib=$mib64 '
{
	v[NR] = $1
	bad = bad || $1 > kib
}
END {
	printf "%-54s %5.1f %5.1f %5.1f MiB (%d) %s\n", name,
	    v[1] / 1024, v[2] / 1024, v[3] / 1024, kib / 1024,
	    bad ? "MISSED" : "ok"
	exit bad
}' || missed=1

# shellcheck disable=SC2154 # lib.sh sets it
exit "$missed"
