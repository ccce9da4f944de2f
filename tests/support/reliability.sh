#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reliability.sh FOLDER… - tests/RELIABILITY.md on standard output
#
# The folders hold files *.facts, lines of KEY<tab>VALUE that commands of ./dev
# have left (see fact in there). The same facts give the same text; what has none
# says "not run". Only corpora are counted here, in the sources.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
declare -A facts told

# Of two values of a key the later counts; of what adds up, the sum.
read_facts() {
	local folder file key value

	for folder; do
		for file in "$folder"/*.facts; do
			[ -f "$file" ] || continue
			while IFS=$'\t' read -r key value; do
				case $key in
				fuzz.*.executions | fuzz.*.seconds)
					value=$((${facts[$key]:-0} + value)) ;;
				esac
				facts[$key]=$value
			done <"$file"
		done
	done
}

# fact KEY: its value, or "not run"; it is told then.
fact() {
	told[$1]=1
	value=${facts[$1]:-not run}
}

# row CELL…: a line of a table; @KEY stands for a fact.
row() {
	local cell line='|'

	for cell; do
		case $cell in
		@*) fact "${cell#@}"; cell=$value ;;
		esac
		line="$line $cell |"
	done
	printf '%s\n' "$line"
}

# head_row CELL…: the first line of a table.
head_row() {
	printf '\n'
	row "$@"
	printf '|'
	printf -- '---|%.0s' "$@"
	printf '\n'
}

n_files() {
	find "$@" -type f 2>/dev/null | wc -l
}

# sum PATTERN: of all facts whose keys match, or "not run".
sum() {
	local key total=

	for key in "${!facts[@]}"; do
		# shellcheck disable=SC2053 # a pattern
		[[ $key == $1 ]] || continue
		told[$key]=1
		total=$((${total:-0} + facts[$key]))
	done
	value=${total:-not run}
}

# words FILE FUNCTION: the names of its lines FUNCTION(NAME …).
words() {
	sed -n "s/^$2(\([a-z_0-9]*\).*/\1/p" "$1"
}

fuzzing() {
	local target

	cat <<'END'

## Fuzzing

`./dev fuzz`: libFuzzer with coverage, under the address and undefined-behaviour sanitizers. What was
found is kept: files of the corpus are what once went wrong, or nearly; all are mended, and replayed
as tests.
END
	head_row target executions seconds 'files in the corpus'
	for target in $(words "$root/tests/fuzz/CMakeLists.txt" tp_fuzz_target); do
		row "$target" "@fuzz.$target.executions" "@fuzz.$target.seconds" \
		    "$(n_files "$root/tests/fuzz/corpus/$target")"
		# Whether the last run failed is for its own report.
		told[fuzz.$target.failures]=1
	done
	sum 'fuzz.*.executions'
	row "**all**" "$value" "" "$(n_files "$root/tests/fuzz/corpus")"
}

bad_inputs() {
	local key n=0

	cat <<'END'

## Bad inputs

Files that are wrong in one way each, kept or made by tests, and files that are damaged at random
(seeded, so always the same). Each is refused with a message, or read without harm.
END
	head_row what how\ many
	row "files of \`tests/corpus\` named \`bad-…\`" \
	    "$(find "$root/tests/corpus" -type f -name 'bad*' | wc -l)"
	row "files of \`tests/corpus\` named \`unsupported-…\`" \
	    "$(find "$root/tests/corpus" -type f -name 'unsupported*' | wc -l)"
	for key in $(printf '%s\n' "${!facts[@]}" | grep '^tests\.dev\.fact\.damaged\.' | sort); do
		row "damaged by \`${key##*.}\`" "@$key"
		n=1
	done
	[ "$n" = 1 ] || row 'damaged by tests' 'not run'
}

faults() {
	local mode library

	cat <<'END'

## Failing machines

`./dev faults` makes every system call of some runs of the tools fail in every way it can, and every
allocation; and cuts, overwrites and removes inputs while they are read. `./dev kills` ends runs at
moments spread evenly over their time. *Survived* runs have done what an undisturbed run does;
*refused* ones have said why, and left what was there; after *killed* ones the outputs are the old or
the new ones. In each case the next run clears everything.
END
	head_row what faults survived refused killed
	for mode in fail inputs kill; do
		case $mode in
		fail) what='calls and allocations that fail' ;;
		inputs) what='inputs that change' ;;
		kill) what='kills at any moment' ;;
		esac
		row "$what" "@faults.$mode.faults" "@faults.$mode.survived" \
		    "@faults.$mode.refused" "@faults.$mode.killed"
		told[faults.$mode.failed]=1
	done
	cat <<'END'

Every public function is called while the heap fails at the first allocation, the second, and so on
until none fails: it says TP_ENOMEM, leaves nothing on the heap, and all that it was given as it was.
END
	head_row library functions 'allocations that failed'
	for library in tensor formats; do
		row "$library" "@tests.dev.fact.no_memory.$library.functions" \
		    "@tests.dev.fact.no_memory.$library.allocations"
	done
}

platforms() {
	local arch name

	cat <<'END'

## Machines

`./dev cross`: the tests as another machine, and outputs whose bytes are those made here. `./dev same`:
the same outputs from other compilers, levels of optimisation and processors, and under other
threads, orders of files, locales, time zones, masks, folders and addresses. Which tests are left out,
and why, `./dev cross` says.
END
	head_row machine 'outputs that are the same' tests failures skipped \
	    'left out'
	for arch in s390x aarch64 i386; do
		row "$arch" "@cross.$arch.outputs" "@cross.$arch.tests" \
		    "@cross.$arch.failures" "@cross.$arch.skipped" \
		    "@cross.$arch.not_run"
	done
	head_row build\ or\ surroundings 'outputs that are the same'
	for name in $(printf '%s\n' "${!facts[@]}" |
	    sed -n 's/^same\.\(.*\)\.outputs$/\1/p' | sort); do
		row "$name" "@same.$name.outputs"
	done
	[ -n "${name:-}" ] || row all 'not run'
}

tests() {
	local preset

	cat <<'END'

## Tests

`./dev test`, `./dev asan` (address and undefined-behaviour sanitizers), `./dev tsan` (thread
sanitizer, what starts threads), `./dev valgrind` (memcheck: unit tests with replays of fuzzing, and
tests of the command line; `tests/support/valgrind.not` says what is left out, and why).
END
	head_row tests run failures skipped 'left out' programs \
	    'of which with findings'
	for preset in dev asan tsan; do
		row "$preset" "@tests.$preset.tests" "@tests.$preset.failures" \
		    "@tests.$preset.skipped" '' '' ''
	done
	for preset in valgrind.unit valgrind.cli; do
		row "${preset/./ }" "@tests.$preset.tests" \
		    "@tests.$preset.failures" "@tests.$preset.skipped" \
		    "@tests.$preset.not_run" "@tests.$preset.programs" \
		    "@tests.$preset.findings"
	done
	# Facts of tests elsewhere are those of the dev build once more.
	sum 'tests.*.fact.*'
	sum 'cross.*.fact.*'
}

static_analysis() {
	local name

	cat <<'END'

## Static analysis

`./dev analyze` (GCC's `-fanalyzer`) and `./dev lint` (cppcheck, clang-tidy) read the libraries and
tools. Each exception is a place with its reason: beside it, or in `tests/support/analyze.not`.
*Too complex* are functions, or files, that the analyzer leaves halfway.
END
	head_row analyzer files findings exceptions 'too complex'
	for name in fanalyzer cppcheck clang-tidy; do
		row "$name" "@static.$name.files" "@static.$name.findings" \
		    "@static.$name.exceptions" \
		    "$([ "$name" != fanalyzer ] || echo @static.fanalyzer.too_complex)"
	done
}

coverage() {
	local key

	cat <<'END'

## Coverage of parsers

Lines that fuzzing has reached, in percent (`./dev fuzz coverage`, which fails where fewer than 90
are reached for no reason given here).
END
	head_row file lines 'what is not reached'
	for key in $(printf '%s\n' "${!facts[@]}" | sed -n 's/^fuzz\.coverage\.\(.*\.c\)$/\1/p' | sort); do
		row "\`$key\`" "@fuzz.coverage.$key" \
		    "$(sed -n "s/^$key\t//p" "$root/tests/support/coverage.not")"
	done
	row "**all**" "@fuzz.coverage.percent" ""
	told[fuzz.coverage.lines]=1
}

others() {
	local key any=

	for key in $(printf '%s\n' "${!facts[@]}" | sort); do
		[ -z "${told[$key]:-}" ] || continue
		[ -n "$any" ] || {
			printf '\n## Other figures\n'
			head_row what figure
		}
		any=1
		row "$key" "@$key"
	done
}

read_facts "$@"
cat <<'END'
# Reliability

Figures of the last runs of the commands named below, put together by `./dev reliability`. No number
here is typed by hand.
END
tests
static_analysis
fuzzing
coverage
bad_inputs
faults
platforms
others
