/* SPDX-License-Identifier: Apache-2.0 */
/* convert.h - what tp-convert was asked for, and doing it */
#ifndef CONVERT_H
#define CONVERT_H

#include <stdbool.h>
#include <stdint.h>

#include "convert/rules.h"
#include "job.h"

struct convert_options {
	const char *from;
	const char *graph; /* a model that lends its graph, or NULL */
	struct rules rules;
	int overflow;		  /* enum tp_overflow */
	struct cli_list metadata; /* each has a '=' */
	bool no_metadata;
	unsigned allow_loss; /* bits of enum tp_loss_kind */
	int constants;	     /* enum convert_constants */
	int external;	     /* enum tp_external */
	uint64_t external_threshold, max_shard_size, align; /* bytes */
	int64_t compress;				    /* 0: no */
	struct cli_output output;
};
extern struct convert_options convert_options;

/* Of Constant nodes. */
enum convert_constants { CONVERT_CONSTANTS_KEEP, CONVERT_CONSTANTS_EXTRACT };

/* Bytes of a tensor that may lie beside an ONNX model, unless told. */
#define CONVERT_THRESHOLD 1024

/* Make one output of the files, and report; the exit status. */
int convert(char **paths, size_t n_paths, const char *output);

#endif
