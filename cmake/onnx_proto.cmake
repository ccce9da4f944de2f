# SPDX-License-Identifier: Apache-2.0
# schemas/onnx.proto -> onnx.pb-c.[ch] in the build tree. Sets ONNX_PROTO_SOURCE,
# the generated source, for the SOURCES of one target,
#
# and makes tp_onnx_proto, which whoever includes onnx.pb-c.h links: the library
# itself and the tests that look inside.
#
# The generated code is not ours: it compiles without our warnings.
set(onnx_proto_dir ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(ONNX_PROTO_SOURCE ${onnx_proto_dir}/onnx.pb-c.c)
file(MAKE_DIRECTORY ${onnx_proto_dir})

add_custom_command(
	OUTPUT ${ONNX_PROTO_SOURCE} ${onnx_proto_dir}/onnx.pb-c.h
	COMMAND ${PROTOC_C}
		--proto_path=${PROJECT_SOURCE_DIR}/schemas
		--c_out=${onnx_proto_dir}
		onnx.proto
	DEPENDS ${PROJECT_SOURCE_DIR}/schemas/onnx.proto
	COMMENT "Generating onnx.pb-c.[ch]"
	VERBATIM)
set_source_files_properties(${ONNX_PROTO_SOURCE} PROPERTIES COMPILE_OPTIONS -w)

add_library(tp_onnx_proto INTERFACE)
target_include_directories(tp_onnx_proto SYSTEM INTERFACE ${onnx_proto_dir})
target_link_libraries(tp_onnx_proto INTERFACE PkgConfig::PROTOBUF_C)
