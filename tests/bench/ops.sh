#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ops.sh - operators against OpenBLAS, memcpy and each other (bench_ops.c), and a
# real model where the tests have fetched it
# shellcheck disable=SC1091 # it stands beside this script
models=$(dirname "$(realpath "$0")")/../../build/models
. "$(dirname "$(realpath "$0")")/lib.sh"

# shellcheck disable=SC2154 # lib.sh sets it
bench_ops "$word" || missed=1

# 4 times what ONNX Runtime takes with one thread, 116 ms, where bench_nets.c has
# its times from.
det=$models/ch_PP-OCRv4_det_infer.onnx
run="tp-verify run -q --threads 1 --seed 1 --shape x=1,3,640,640"
if ! [ -f "$det" ]; then
	say "ops: PP-OCR det is not measured: the tests have not fetched it"
elif $run "$det" 2>&1 | grep ': not run: unsupported' >why; then
	say "ops: PP-OCR det is not measured: $(cut -c 1-200 why)"
else
	# Nothing is expected, so that nothing is proved: status 4.
	# shellcheck disable=SC2034 # lib.sh reads it
	clock=3
	# shellcheck disable=SC2086 # its words
	absolute "PP-OCR det, 640 x 640" 464 1048576 \
	    sh -c '"$@" || [ $? = 4 ]' sh $run "$det"
fi
exit "$missed"
