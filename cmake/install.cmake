# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: libraries, headers, programs, manual
# pages, and the files by which pkg-config and CMake find the libraries.

include(CMakePackageConfigHelpers)

set(tp_libraries tensor tensor_static tpformats tpformats_static)
set(tp_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tp-tools)

install(TARGETS ${tp_libraries} EXPORT tp-tools)
install(DIRECTORY libtensor/include/tp formats/include/tp
	DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
	FILES_MATCHING PATTERN "*.h")

foreach(tool tp-convert tp-inspect tp-quantize tp-verify)
	if(TARGET ${tool})
		install(TARGETS ${tool})
	endif()
endforeach()

foreach(page tp-convert.1 tp-inspect.1 tp-quantize.1 tp-verify.1
	libtensor.3 tp-native.5)
	string(REGEX MATCH "[0-9]$" section ${page})
	if(EXISTS ${PROJECT_SOURCE_DIR}/man/${page})
		install(FILES man/${page}
			DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
	endif()
endforeach()

set(tensor_requires)
if(TP_REGEX)
	set(tensor_requires "Requires.private: libpcre2-8\n")
endif()
foreach(library tensor tpformats)
	configure_file(cmake/${library}.pc.in ${library}.pc @ONLY)
	install(FILES ${PROJECT_BINARY_DIR}/${library}.pc
		DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

install(EXPORT tp-tools NAMESPACE tp-tools:: DESTINATION ${tp_package_dir}
	FILE tp-toolsTargets.cmake)
configure_package_config_file(cmake/tp-toolsConfig.cmake.in
	tp-toolsConfig.cmake INSTALL_DESTINATION ${tp_package_dir})
write_basic_package_version_file(tp-toolsConfigVersion.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES
	${PROJECT_BINARY_DIR}/tp-toolsConfig.cmake
	${PROJECT_BINARY_DIR}/tp-toolsConfigVersion.cmake
	DESTINATION ${tp_package_dir})
