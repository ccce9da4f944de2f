#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# declared.sh LIBRARY - the functions that its headers mark TP_API, sorted
sed '/^#/d' "$1"/include/tp/*.h | tr '\n' ' ' |
    grep -oE 'TP_API [^;(]*\(' | grep -oE 'tp_[a-z0-9_]+ *\($' |
    tr -d ' (' | sort -u
