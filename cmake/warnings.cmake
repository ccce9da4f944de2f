# SPDX-License-Identifier: Apache-2.0
# Compiler settings for every target of the project: tp_build_flags.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

add_library(tp_build_flags INTERFACE)
target_compile_definitions(tp_build_flags INTERFACE
	_XOPEN_SOURCE=700 _FILE_OFFSET_BITS=64)
# Results must not depend on the compiler: no contraction into fused
# multiply-add, never -ffast-math.
target_compile_options(tp_build_flags INTERFACE
	-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes
	-Wmissing-prototypes -Wcast-qual -Wconversion -Wvla -Wundef
	-Wswitch-enum -Wwrite-strings -Wpointer-arith
	-ffp-contract=off -fno-math-errno -fno-trapping-math
	# Floats are computed as floats: C lets s390x compute them as doubles.
	$<$<C_COMPILER_ID:GNU>:-fexcess-precision=fast>)
if(TP_WERROR)
	target_compile_options(tp_build_flags INTERFACE -Werror)
endif()
if(TP_SANITIZE)
	target_compile_options(tp_build_flags INTERFACE
		-fsanitize=${TP_SANITIZE} -fno-sanitize-recover=all
		-fno-omit-frame-pointer)
	target_link_options(tp_build_flags INTERFACE -fsanitize=${TP_SANITIZE})
endif()
if(TP_FUZZ)
	target_compile_options(tp_build_flags INTERFACE -fsanitize=fuzzer-no-link)
	target_link_options(tp_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(TP_COVERAGE)
	target_compile_options(tp_build_flags INTERFACE --coverage -O0)
	target_compile_definitions(tp_build_flags INTERFACE TP_NO_SANDBOX=1)
	target_link_options(tp_build_flags INTERFACE --coverage)
endif()
# Blocks of the allocators are checked when they are given back.
target_compile_definitions(tp_build_flags INTERFACE
	$<$<CONFIG:Debug>:TP_DEBUG_CHECKS>)
if(TP_BACKTRACE)
	target_compile_definitions(tp_build_flags INTERFACE TP_BACKTRACE)
endif()
