/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_*.c, data_ptr.c: no block twice, alignment kept, nothing lost */
#include "support/cmocka_all.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tp/allocator.h"
#include "tp/layout.h"
#include "tp/mem_stats.h"

#include "support/random.h"

static const struct tp_device cpu = {TP_DEVICE_CPU, 0};

/* Every allocator there is, made anew for each test that asks. */
static struct tp_allocator *
make_allocator(unsigned which)
{
	static const struct tp_pool_options small = {(size_t)64 << 10, 1};
	struct tp_allocator *a = NULL;

	switch (which) {
	case 0:
		return tp_system_allocator();
	case 1:
		assert_int_equal(
		    tp_caching_allocator_new(NULL, &a, NULL), TP_OK);
		return a;
	case 2:
		assert_int_equal(tp_pool_allocator_new(NULL, &a, NULL), TP_OK);
		return a;
	case 3:
		assert_int_equal(
		    tp_pool_allocator_new(&small, &a, NULL), TP_OK);
		return a;
	}
	return NULL;
}

static unsigned n_deleted;

static void
count_deleter(void *ctx)
{
	(void)ctx;
	n_deleted++;
}

static void
a_handle_has_one_owner(void **state)
{
	int data, other;
	struct tp_data_ptr a = {&data, &data, count_deleter, cpu};
	struct tp_data_ptr b = {&other, &other, count_deleter, cpu};

	(void)state;
	n_deleted = 0;
	tp_data_ptr_move(&b, &a);
	assert_int_equal(n_deleted, 1); /* what b had */
	assert_null(a.data);
	assert_ptr_equal(b.data, &data);
	tp_data_ptr_move(&b, &b);
	assert_ptr_equal(b.data, &data);
	tp_data_ptr_clear(&a);
	assert_int_equal(n_deleted, 1);
	tp_data_ptr_clear(&b);
	tp_data_ptr_clear(&b);
	assert_int_equal(n_deleted, 2);
	b = (struct tp_data_ptr){&data, &data, count_deleter, cpu};
	assert_ptr_equal(tp_data_ptr_release(&b), &data);
	tp_data_ptr_clear(&b);
	assert_int_equal(n_deleted, 2);
}

static void
sizes_and_alignments_are_kept(void **state)
{
	static const size_t sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 255, 256,
	    257, 1000, 4096, 65535, 65536, 100000, 1 << 20, 3 << 20, 9 << 20};

	(void)state;
	for (unsigned w = 0; w < 4; w++) {
		struct tp_allocator *a = make_allocator(w);

		for (size_t align = 1; align <= 65536; align *= 2)
			for (size_t i = 0; i < COUNT_OF(sizes); i++) {
				struct tp_data_ptr p = TP_DATA_PTR_NULL;

				assert_int_equal(a->allocate(a, sizes[i], align,
						     cpu, &p, NULL),
				    TP_OK);
				assert_int_equal((uintptr_t)p.data % align, 0);
				memset(p.data, 0x5c, sizes[i]);
				tp_data_ptr_clear(&p);
			}
		tp_allocator_trim(a);
		tp_allocator_free(a);
	}
}

static void
the_last_freed_of_a_size_comes_first(void **state)
{
	struct tp_allocator *a = make_allocator(1);
	struct tp_data_ptr p[3];
	void *second;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
		    a->allocate(a, 1000 + i, 64, cpu, &p[i], NULL), TP_OK);
	second = p[1].data;
	tp_data_ptr_clear(&p[0]);
	tp_data_ptr_clear(&p[1]);
	/* 999 rounds to the same multiple of 64 as 1000 and 1001. */
	assert_int_equal(a->allocate(a, 999, 64, cpu, &p[0], NULL), TP_OK);
	assert_ptr_equal(p[0].data, second);
	tp_data_ptr_clear(&p[0]);
	tp_data_ptr_clear(&p[2]);
	tp_allocator_free(a);
}

static void
neighbours_are_joined(void **state)
{
	/* A region of 64 KiB: three blocks of 20 KB fill it, one of 30 fits
	 * only where two of them were. */
	struct tp_allocator *a = make_allocator(3);
	struct tp_data_ptr p[3], big = TP_DATA_PTR_NULL;
	char *low, *high;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
		    a->allocate(a, 20000, 64, cpu, &p[i], NULL), TP_OK);
	low = p[0].data;
	high = (char *)p[2].data + 20000;
	tp_data_ptr_clear(&p[0]);
	tp_data_ptr_clear(&p[2]);
	tp_data_ptr_clear(&p[1]);
	assert_int_equal(a->allocate(a, 30000, 64, cpu, &big, NULL), TP_OK);
	assert_true((char *)big.data >= low && (char *)big.data < high);
	tp_data_ptr_clear(&big);
	tp_allocator_free(a);
}

static void
bad_requests_are_refused(void **state)
{
	static const struct tp_pool_options odd = {100000, 1}, tiny = {1024, 1};
	struct tp_data_ptr p = TP_DATA_PTR_NULL;
	struct tp_allocator *a = NULL;
	struct tp_err err = TP_ERR_INIT;
	const struct tp_device user = {TP_DEVICE_USER_1, 0};

	(void)state;
	assert_int_equal(tp_allocate(8, 3, cpu, &p, &err), TP_EARG);
	assert_string_equal(err.msg, "alignment 3 is no power of two");
	assert_int_equal(tp_allocate(8, 0, cpu, &p, &err), TP_EARG);
	assert_int_equal(tp_allocate(8, 8, user, &p, &err), TP_EUNSUPPORTED);
	assert_string_equal(err.msg, "no allocator for device user-1");
	assert_int_equal(tp_pool_allocator_new(&odd, &a, &err), TP_EARG);
	assert_int_equal(tp_pool_allocator_new(&tiny, &a, &err), TP_EARG);
	assert_null(a);
	for (unsigned w = 0; w < 4; w++) {
		a = make_allocator(w);
		assert_int_equal(
		    a->allocate(a, SIZE_MAX - 3, 64, cpu, &p, &err), TP_ENOMEM);
		assert_null(p.data);
		tp_allocator_free(a);
	}
}

static void
a_registered_allocator_serves_its_device(void **state)
{
	struct tp_allocator *a = make_allocator(1), *before;
	const struct tp_device user = {TP_DEVICE_USER_2, 3};
	struct tp_data_ptr p = TP_DATA_PTR_NULL;

	(void)state;
	before = tp_allocator_set(TP_DEVICE_USER_2, a);
	assert_null(before);
	assert_int_equal(tp_allocate(100, 64, user, &p, NULL), TP_OK);
	assert_int_equal(p.device.type, TP_DEVICE_USER_2);
	assert_int_equal(p.device.index, 3);
	/* Unregistered, it still takes back what it handed out. */
	assert_ptr_equal(tp_allocator_set(TP_DEVICE_USER_2, NULL), a);
	tp_data_ptr_clear(&p);
	tp_allocator_free(a);

	assert_ptr_equal(
	    tp_allocator_get(TP_DEVICE_CPU), tp_system_allocator());
	assert_true(tp_device_is_strided(TP_DEVICE_CPU));
	assert_false(tp_device_is_strided(TP_DEVICE_HOST_LINEAR));
}

/* An allocator of the program's own, which has nothing to give. */
static enum tp_status
refuse(struct tp_allocator *self, size_t nbytes, size_t alignment,
    struct tp_device device, struct tp_data_ptr *out, struct tp_err *err)
{
	(void)self;
	(void)alignment;
	(void)device;
	(void)out;
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "nothing of %zu bytes", nbytes);
}

static void
tensors_come_from_the_registered_allocator(void **state)
{
	struct tp_allocator poor = {.name = "poor", .allocate = refuse};
	struct tp_allocator *rich = make_allocator(2), *before;
	const int64_t sizes[] = {3, 4};
	struct tp_err err = TP_ERR_INIT;
	struct tp_tensor *t = NULL, *c = NULL;
	struct tp_mem_stats s;

	(void)state;
	before = tp_allocator_set(TP_DEVICE_CPU, rich);
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, sizes, 2, &t, &err), TP_OK);
	(void)tp_allocator_set(TP_DEVICE_CPU, &poor);
	assert_int_equal(
	    tp_tensor_clone(t, TP_LAYOUT_PRESERVE, &c, &err), TP_ENOMEM);
	assert_null(c);
	assert_string_equal(err.msg, "nothing of 48 bytes");
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, sizes, 2, &c, &err), TP_ENOMEM);
	assert_null(c);
	assert_ptr_equal(tp_allocator_set(TP_DEVICE_CPU, before), &poor);

	/* The tensor goes back where it came from; a clone is counted. */
	tp_mem_stats_enable(true);
	tp_mem_stats_reset();
	assert_int_equal(
	    tp_tensor_clone(t, TP_LAYOUT_PRESERVE, &c, &err), TP_OK);
	tp_mem_stats_get(&s);
	assert_int_equal(s.n_allocated, 1);
	assert_int_equal(s.live_bytes, 48);
	tp_tensor_free(c);
	tp_mem_stats_get(&s);
	assert_int_equal(s.n_live, 0);
	tp_mem_stats_enable(false);
	tp_tensor_free(t);
	tp_allocator_free(rich);
}

/*
 * The stress: each thread makes blocks, fills each with a pattern of its own,
 * and trades them with the others through a table of slots. Whoever takes a
 * block out checks the pattern: a block handed out twice would carry two.
 */
#define N_SLOTS 256
#define N_THREADS 4
#define N_STEPS 20000

struct parcel {
	struct tp_data_ptr p;
	size_t nbytes;
	uint8_t pattern;
};

struct stress {
	struct tp_allocator *a;
	_Atomic(struct parcel *) slots[N_SLOTS];
	atomic_uint n_bad;
	unsigned seed;
};

static void
open_parcel(struct stress *st, struct parcel *parcel)
{
	const uint8_t *data;

	if (!parcel)
		return;
	data = parcel->p.data;
	for (size_t i = 0; i < parcel->nbytes; i += i < 64 ? 1 : 997)
		if (data[i] != parcel->pattern)
			atomic_fetch_add(&st->n_bad, 1);
	tp_data_ptr_clear(&parcel->p);
	free(parcel);
}

static void *
trade(void *arg)
{
	struct stress *st = arg;
	static atomic_uint n_threads;
	uint64_t rng =
	    st->seed + 77777u * (atomic_fetch_add(&n_threads, 1) + 1);

	for (unsigned step = 0; step < N_STEPS; step++) {
		uint64_t r = random_next(&rng);
		size_t align = (size_t)1 << r % 13; /* up to 4096 */
		unsigned bits = (unsigned)(r >> 8) % (r % 64 ? 13 : 20);
		struct parcel *parcel = calloc(1, sizeof(*parcel)), *other;

		parcel->nbytes = (size_t)(r >> 20) & (((size_t)1 << bits) - 1);
		parcel->pattern = (uint8_t)(r >> 50);
		if (st->a->allocate(
			st->a, parcel->nbytes, align, cpu, &parcel->p, NULL) ||
		    (uintptr_t)parcel->p.data % align)
			atomic_fetch_add(&st->n_bad, 1);
		else
			memset(parcel->p.data, parcel->pattern, parcel->nbytes);
		other =
		    atomic_exchange(&st->slots[(r >> 40) % N_SLOTS], parcel);
		open_parcel(st, other);
	}
	return NULL;
}

static void
threads_may_free_what_others_made(void **state)
{
	(void)state;
	for (unsigned w = 0; w < 4; w++) {
		struct stress st = {.a = make_allocator(w), .seed = 20261130};

		printf("seed %u\n", st.seed);
		/* Two rounds: the second takes over the caches of the first. */
		for (unsigned round = 0; round < 2; round++) {
			pthread_t threads[N_THREADS];

			for (unsigned i = 0; i < N_THREADS; i++)
				assert_int_equal(pthread_create(&threads[i],
						     NULL, trade, &st),
				    0);
			for (unsigned i = 0; i < N_THREADS; i++)
				pthread_join(threads[i], NULL);
			tp_allocator_trim(st.a);
		}
		for (unsigned i = 0; i < N_SLOTS; i++)
			open_parcel(&st, atomic_exchange(&st.slots[i], NULL));
		assert_int_equal(atomic_load(&st.n_bad), 0);
		tp_allocator_free(st.a);
	}
}

struct found {
	char text[4096];
};

static void
add_line(void *ctx, const char *line)
{
	struct found *f = ctx;
	size_t used = strlen(f->text);

	snprintf(f->text + used, sizeof(f->text) - used, "%s\n", line);
}

static void
figures_are_exact_and_the_leak_is_named(void **state)
{
	struct tp_data_ptr a = TP_DATA_PTR_NULL, b = TP_DATA_PTR_NULL;
	struct found f = {""};
	struct tp_mem_stats s;
	char want[128];
	int line;

	(void)state;
	tp_mem_stats_enable(true);
	tp_mem_stats_reset();
	assert_int_equal(tp_allocate(1000, 64, cpu, &a, NULL), TP_OK);
	line = __LINE__ + 1;
	assert_int_equal(tp_allocate(24, 8, cpu, &b, NULL), TP_OK);
	tp_data_ptr_clear(&a);
	tp_mem_stats_get(&s);
	assert_int_equal(s.n_allocated, 2);
	assert_int_equal(s.n_freed, 1);
	assert_int_equal(s.n_live, 1);
	assert_int_equal(s.live_bytes, 24);
	assert_int_equal(s.peak_bytes, 1024);
	assert_int_equal(s.by_size[1], 1); /* up to 32 */
	assert_int_equal(s.by_size[6], 1); /* up to 1024 */

	tp_mem_report(add_line, &f);
	snprintf(want, sizeof(want), "24 bytes from %s:%d\n", __FILE__, line);
	assert_non_null(strstr(f.text, want));
	assert_null(strstr(f.text, "1000 bytes from"));

	/* A block made while it is on reports also when it is off by then. */
	tp_mem_stats_enable(false);
	assert_int_equal(tp_allocate(7, 1, cpu, &a, NULL), TP_OK);
	tp_data_ptr_clear(&b);
	tp_data_ptr_clear(&a);
	tp_mem_stats_get(&s);
	assert_int_equal(s.n_live, 0);
	assert_int_equal(s.n_allocated, 2);
}

#ifdef TP_DEBUG_CHECKS

static void
free_twice(struct tp_data_ptr *p)
{
	struct tp_data_ptr copy = *p;

	tp_data_ptr_clear(p);
	tp_data_ptr_clear(&copy);
}

static void
write_past(struct tp_data_ptr *p)
{
	((char *)p->data)[40] = 'x';
	tp_data_ptr_clear(p);
}

/* A block that has the deleter of this allocator, but was never its own. */
static void
free_foreign(struct tp_data_ptr *p)
{
	static _Alignas(65536) char other[2 * 65536];
	ptrdiff_t lead = (char *)p->data - (char *)p->ctx;
	struct tp_data_ptr foreign = *p;

	foreign.data = other + 4096;
	foreign.ctx = other + 4096 - lead;
	tp_data_ptr_clear(&foreign);
}

/* The abort is what is wanted, so it happens in a child. */
static void
misuse_is_found_in_debug_builds(void **state)
{
	static void (*const misuses[])(struct tp_data_ptr * p) = {
	    free_twice, write_past, free_foreign};

	(void)state;
	for (unsigned w = 1; w < 4; w++)
		for (size_t i = 0; i < COUNT_OF(misuses); i++) {
			struct tp_allocator *a = make_allocator(w);
			int status = 0;
			pid_t child = fork();

			assert_true(child >= 0);
			if (child == 0) {
				struct tp_data_ptr p = TP_DATA_PTR_NULL;

				signal(SIGABRT, SIG_DFL);
				if (!freopen("/dev/null", "w", stderr) ||
				    a->allocate(a, 40, 8, cpu, &p, NULL))
					_exit(1);
				misuses[i](&p);
				_exit(0);
			}
			assert_int_equal(waitpid(child, &status, 0), child);
			assert_true(WIFSIGNALED(status));
			assert_int_equal(WTERMSIG(status), SIGABRT);
			tp_allocator_free(a);
		}
}

#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_handle_has_one_owner),
	    cmocka_unit_test(sizes_and_alignments_are_kept),
	    cmocka_unit_test(the_last_freed_of_a_size_comes_first),
	    cmocka_unit_test(neighbours_are_joined),
	    cmocka_unit_test(bad_requests_are_refused),
	    cmocka_unit_test(a_registered_allocator_serves_its_device),
	    cmocka_unit_test(tensors_come_from_the_registered_allocator),
	    cmocka_unit_test(threads_may_free_what_others_made),
	    cmocka_unit_test(figures_are_exact_and_the_leak_is_named),
#ifdef TP_DEBUG_CHECKS
	    cmocka_unit_test(misuse_is_found_in_debug_builds),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
