/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/tp.h - all of libtensor, in the order in which it is best read
 */
#ifndef TP_TP_H
#define TP_TP_H

#include "tp/version.h"
#include "tp/macros.h"
#include "tp/error.h"
#include "tp/checked.h"
#include "tp/endian.h"
#include "tp/utf8.h"
#include "tp/alloc.h"
#include "tp/device.h"
#include "tp/data_ptr.h"
#include "tp/allocator.h"
#include "tp/mem_stats.h"
#include "tp/map.h"
#include "tp/parallel.h"
#include "tp/dtype.h"
#include "tp/onnx_dtype.h"
#include "tp/convert.h"
#include "tp/shape.h"
#include "tp/broadcast.h"
#include "tp/storage.h"
#include "tp/tensor.h"
#include "tp/view.h"
#include "tp/copy.h"
#include "tp/iter.h"
#include "tp/layout.h"
#include "tp/access.h"
#include "tp/quant.h"
#include "tp/quant_fit.h"
#include "tp/print.h"
#include "tp/sparse.h"
#include "tp/scan.h"
#include "tp/stats.h"
#include "tp/compare.h"
#include "tp/strings.h"
#include "tp/value.h"
#include "tp/op.h"
#include "tp/graph.h"
#include "tp/ops.h"
#include "tp/autograd.h"
#include "tp/vmap.h"
#include "tp/profile.h"

#endif
