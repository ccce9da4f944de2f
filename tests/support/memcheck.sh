#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# memcheck.sh PROGRAM ARGUMENT… - run it under valgrind
#
# What is found becomes the exit status 99 and a file in TP_MEMCHECK_LOGS, so that it
# is not lost where a script looks at neither; of what is clean the file is empty.
set -eu

exec valgrind -q --leak-check=full \
    --errors-for-leak-kinds=definite,indirect,possible --error-exitcode=99 \
    --child-silent-after-fork=yes \
    --log-file="$TP_MEMCHECK_LOGS/$(date +%s%N).%p" "$@"
