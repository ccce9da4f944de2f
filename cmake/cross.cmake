# SPDX-License-Identifier: Apache-2.0
# Toolchain for machines of another kind; ./dev cross says which and fetches what
# they need: TP_CROSS is the target's name for GCC, TP_CROSS_ROOT a folder with
# Debian's libraries for it.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TP_CROSS TP_CROSS_ROOT)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${TP_CROSS})
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${TP_CROSS}-gcc)
if(TP_CROSS STREQUAL "i686-linux-gnu")
	# The x87 would compute with more bits than the numbers have.
	set(CMAKE_C_FLAGS_INIT "-msse2 -mfpmath=sse")
	set(debian_name i386-linux-gnu)
	# An x86-64 runs its programs itself, with the C library of the compiler.
	set(run_flags " -Wl,--disable-new-dtags -Wl,-rpath,/usr/${TP_CROSS}/lib\
:${TP_CROSS_ROOT}/lib/${debian_name} -Wl,--dynamic-linker,/usr/${TP_CROSS}/lib/ld-linux.so.2")
else()
	set(debian_name ${TP_CROSS})
endif()
set(CMAKE_FIND_ROOT_PATH ${TP_CROSS_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE ${debian_name})
set(CMAKE_C_LIBRARY_ARCHITECTURE ${debian_name})
set(ENV{PKG_CONFIG_LIBDIR} ${TP_CROSS_ROOT}/usr/lib/${debian_name}/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${TP_CROSS_ROOT})
# What the libraries themselves want.
set(CMAKE_EXE_LINKER_FLAGS_INIT
	"-Wl,-rpath-link,${TP_CROSS_ROOT}/usr/lib/${debian_name}\
:${TP_CROSS_ROOT}/lib/${debian_name}${run_flags}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT ${CMAKE_EXE_LINKER_FLAGS_INIT})
