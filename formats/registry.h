/* SPDX-License-Identifier: Apache-2.0 */
/* registry.h - the formats that are built in */
#ifndef TPI_REGISTRY_H
#define TPI_REGISTRY_H

/* No format asks to see more of a file when it is probed. */
#define TPI_PROBE_MAX 4096

/* "native, safetensors, onnx", for messages. */
const char *tpi_format_names(void);

#endif
