#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_mutants.sh BIN [SEED] - 10,000 damaged models of Debian's libonnx-testdata
set -eu

data=/usr/share/libonnx-testdata/data

[ -d "$data" ] || {
	echo "SKIPPED: libonnx-testdata is not installed"
	exit 77
}
exec "$1/tests/interop/run_mutants" 10 "${2:-2026}" "$data"/node/* \
    "$data"/simple/* "$data"/pytorch-*/*
