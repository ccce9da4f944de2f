/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/device.h - where bytes live
 *
 * The CPU is built in. `host-linear` lies in the same memory but says that it
 * cannot be addressed by strides, as some accelerators cannot: views of it are
 * made by copying, and the branch is tested by it. Other types are a program's
 * to name and to register an allocator for (tp/allocator.h).
 */
#ifndef TP_DEVICE_H
#define TP_DEVICE_H

#include <stdbool.h>

#include "tp/macros.h"

enum tp_device_type {
	TP_DEVICE_CPU,
	TP_DEVICE_HOST_LINEAR,
	TP_DEVICE_USER_1, /* a program's own */
	TP_DEVICE_USER_2,
	TP_DEVICE_USER_3,
	TP_DEVICE_USER_4,
	TP_DEVICE_TYPES /* how many */
};

struct tp_device {
	enum tp_device_type type;
	int index;
};

/* "cpu", "host-linear", "user-1", …; "?" for a number that is no type. */
TP_API const char *tp_device_name(enum tp_device_type type);

/* False where a tensor of that device must be row-major. */
TP_API bool tp_device_is_strided(enum tp_device_type type);

#endif
