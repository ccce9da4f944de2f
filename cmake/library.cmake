# SPDX-License-Identifier: Apache-2.0
# tp_library(NAME SOURCES… ) makes three targets from one compilation:
#
#	NAME_objects	the objects, for tests that look inside
#	NAME		the shared library
#	NAME_static	the static library; the tools and tests link it
#
# Public headers lie in include/ beside the calling CMakeLists.txt.
function(tp_library name)
	cmake_parse_arguments(arg "" "OUTPUT" "SOURCES;LINK_PUBLIC;LINK_PRIVATE" ${ARGN})

	add_library(${name}_objects OBJECT ${arg_SOURCES})
	target_link_libraries(${name}_objects
		PRIVATE tp_build_flags ${arg_LINK_PRIVATE}
		PUBLIC ${arg_LINK_PUBLIC})
	target_include_directories(${name}_objects
		PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)

	foreach(kind SHARED STATIC)
		set(target ${name})
		if(kind STREQUAL STATIC)
			set(target ${name}_static)
		endif()
		add_library(${target} ${kind} $<TARGET_OBJECTS:${name}_objects>)
		set_target_properties(${target} PROPERTIES
			OUTPUT_NAME ${arg_OUTPUT}
			VERSION ${PROJECT_VERSION}
			SOVERSION ${PROJECT_VERSION_MAJOR})
		target_link_libraries(${target} PRIVATE
			$<BUILD_INTERFACE:tp_build_flags> ${arg_LINK_PRIVATE})
		target_include_directories(${target} PUBLIC
			$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
			$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
	endforeach()
	foreach(link ${arg_LINK_PUBLIC})
		if(TARGET ${link}_objects)
			target_link_libraries(${name} PUBLIC ${link})
			target_link_libraries(${name}_static PUBLIC ${link}_static)
		endif()
	endforeach()
endfunction()
