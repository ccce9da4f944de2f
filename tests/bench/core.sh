#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# core.sh - libtensor against malloc, memcpy and loops by hand; bench_core.c
set -eu
exec bench_core "$@"
