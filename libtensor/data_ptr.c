/* SPDX-License-Identifier: Apache-2.0 */
/* data_ptr.c - moving, clearing, releasing; and the names of devices */
#include "tp/data_ptr.h"

#include "banned.h"

static const struct tp_data_ptr empty = TP_DATA_PTR_NULL;

void
tp_data_ptr_move(struct tp_data_ptr *to, struct tp_data_ptr *from)
{
	struct tp_data_ptr taken = *from;

	if (to == from)
		return;
	*from = empty;
	tp_data_ptr_clear(to);
	*to = taken;
}

void
tp_data_ptr_clear(struct tp_data_ptr *p)
{
	struct tp_data_ptr taken = *p;

	/* Empty before the deleter runs, so that it cannot run again. */
	*p = empty;
	if (taken.deleter)
		taken.deleter(taken.ctx);
}

void *
tp_data_ptr_release(struct tp_data_ptr *p)
{
	void *data = p->data;

	*p = empty;
	return data;
}

static const struct {
	const char *name;
	bool strided;
} devices[TP_DEVICE_TYPES] = {
    [TP_DEVICE_CPU] = {"cpu", true},
    [TP_DEVICE_HOST_LINEAR] = {"host-linear", false},
    [TP_DEVICE_USER_1] = {"user-1", true},
    [TP_DEVICE_USER_2] = {"user-2", true},
    [TP_DEVICE_USER_3] = {"user-3", true},
    [TP_DEVICE_USER_4] = {"user-4", true},
};

const char *
tp_device_name(enum tp_device_type type)
{
	return (unsigned)type < TP_DEVICE_TYPES ? devices[type].name : "?";
}

bool
tp_device_is_strided(enum tp_device_type type)
{
	return (unsigned)type < TP_DEVICE_TYPES && devices[type].strided;
}
