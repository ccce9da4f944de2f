/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op.h - what an operator is, for the files in ops/
 *
 * A family ends with `const struct tp_op tpi_NAME_ops[]`, a list up to a row
 * without a name. Its line in ops/families.def registers it.
 */
#ifndef TPI_OP_H
#define TPI_OP_H

#include "tp/iter.h"
#include "tp/op.h"
#include "tp/shape.h"

#include "share.h"

/* Shape and dtype of an output. */
struct tpi_info {
	enum tp_dtype dtype;
	unsigned rank;
	int64_t sizes[TP_MAX_RANK];
};

/*
 * What infer and run see. Absent inputs are NULL, and so are those behind the
 * last up to number TPI_OP_FEW - 1.
 */
#define TPI_OP_FEW 8

struct tpi_call {
	const struct tp_op *op;
	const struct tp_attr *attrs;
	size_t n_attrs;
	const struct tp_tensor **in;
	size_t n_in;
	struct tp_tensor **out;
	size_t n_out;
	tp_loop_fn *kernel; /* for the dtype of input op->kernel_of */
	const struct tp_alloc *alloc;
	unsigned n_threads;
	const struct tp_op_opts *opts; /* never NULL */
	const struct tp_value *values; /* the inputs as they were given, n_in */
	struct tp_value *results;      /* of TPI_OP_VALUES, n_out */
	bool moves_strings; /* inputs of op->strings_in are strings */
	/*
	 * Of TPI_OP_MOVES: their dtype as given, TP_DTYPE_STRING for strings.
	 */
	enum tp_dtype moves;
	struct tp_tensor **widened; /* n_in, what op_narrow.c made, or NULL */
};

/* Fills infos[0 … c->n_out-1] from the inputs and attributes. */
typedef enum tp_status tpi_infer_fn(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err);
/*
 * Computes c->out, which are allocated, packed unless the operator is
 * TPI_OP_ELEMENTWISE, and undefined; those of TPI_OP_MAKES are made here.
 */
typedef enum tp_status tpi_run_fn(struct tpi_call *c, struct tp_err *err);

enum tpi_op_flags {
	/*
	 * run makes the outputs, as views or since their sizes depend on
	 * values. infer may be NULL then.
	 */
	TPI_OP_MAKES = 1,
	/* Element i of the output depends on element i of the inputs alone. */
	TPI_OP_ELEMENTWISE = 2,
	/*
	 * Inputs may be of any kind: run looks at c->values and fills
	 * c->results itself. c->in has what is a tensor. No infer.
	 */
	TPI_OP_VALUES = 4,
	/*
	 * run adds to outputs, or leaves elements of them as they are: they
	 * are zero before. Without it run writes all.
	 */
	TPI_OP_ON_ZEROS = 8,
	/*
	 * Elements go from inputs of strings_in, which have one dtype, to
	 * outputs of strings_out. Those narrower than a byte are seen as u8 or
	 * i8, one each; c->moves is what they are.
	 */
	TPI_OP_MOVES = 16,
	/* Differentiates the graph around it: graph_gradient.h. */
	TPI_OP_DIFFERENTIATES = 32,
};

/* Input or output k in a set of them; the last bit is for all from 31 on. */
#define TPI_BIT(k) (UINT32_C(1) << ((k) < 31 ? (k) : 31))
#define TPI_ALL UINT32_MAX

struct tpi_attr_spec {
	const char *name;
	enum tp_attr_kind kind;
};

struct tp_op {
	const char *name, *onnx;
	const char *domain; /* NULL: ONNX's own */
	int since, until;   /* until 0: to the newest */
	uint8_t min_in, max_in, min_out, max_out;
	unsigned flags;
	/*
	 * The inputs that may be strings, which are seen as tensors of u64, and
	 * the outputs that then are strings: all of strings_in that are given
	 * must be or none. An output of dtype TP_DTYPE_STRING always is.
	 */
	uint32_t strings_in, strings_out;
	const struct tpi_attr_spec *attrs; /* up to one without name; or NULL */
	tpi_infer_fn *infer;
	tpi_run_fn *run;
	/*
	 * By dtype of input kernel_of; an empty slot is "unsupported". NULL:
	 * any of `dtypes`, without a kernel. What the operands of a kernel are
	 * is between it and run.
	 */
	uint8_t kernel_of;
	uint32_t dtypes; /* a TPI_BIT each; 0: all */
	tp_loop_fn *const *kernels;
	/* The same for families whose run needs a second kernel. */
	tp_loop_fn *const *finish;
};

/*
 * For .kernels of operators that have none, since they compute in f64 whatever
 * they are given: f16, bf16, f32, f64.
 */
extern tp_loop_fn *const tpi_float_dtypes[TP_DTYPE_COUNT];
/* Those, i32 and i64, as most of ai.onnx.ml has it. */
extern tp_loop_fn *const tpi_number_dtypes[TP_DTYPE_COUNT];

/* The attribute of that name, or NULL. */
const struct tp_attr *tpi_attr_find(const struct tpi_call *c, const char *name);
int64_t tpi_attr_int(
    const struct tpi_call *c, const char *name, int64_t otherwise);
double tpi_attr_float(
    const struct tpi_call *c, const char *name, double otherwise);

/*
 * Which of n names, some of which may be NULL, a string attribute is: its
 * number, or `otherwise` where it is absent.
 */
enum tp_status tpi_attr_choice(const struct tpi_call *c, const char *name,
    const char *const *names, unsigned n, unsigned otherwise, unsigned *choice,
    struct tp_err *err);

/* The dtype whose ONNX number is the value of an attribute. */
enum tp_status tpi_attr_dtype(const struct tpi_call *c, const char *name,
    enum tp_dtype otherwise, enum tp_dtype *dtype, struct tp_err *err);

/*
 * A list of integers from an attribute or, if that is absent, from input k (i64
 * or i32, rank 0 or 1) into list, with room for TP_MAX_RANK. *given tells if
 * there was one at all.
 */
enum tp_status tpi_int_list(const struct tpi_call *c, const char *name,
    size_t k, int64_t *list, size_t *n, bool *given, struct tp_err *err);

/* An axis of a tensor of that rank, negative ones from the end. */
enum tp_status tpi_op_axis(const struct tpi_call *c, int64_t axis,
    unsigned rank, unsigned *found, struct tp_err *err);

/* True if input k is strings. */
bool tpi_is_strings(const struct tpi_call *c, size_t k);

bool tpi_is_integer(enum tp_dtype dtype);
bool tpi_same_shape(const struct tp_tensor *a, const struct tp_tensor *b);

/* The shape and dtype of a tensor. */
struct tpi_info tpi_info_of(const struct tp_tensor *t);

/* infer: output 0 is like input 0; like all inputs broadcast, one dtype. */
tpi_infer_fn tpi_infer_same, tpi_infer_broadcast;

/*
 * run: the kernel over output 0 and all inputs, elementwise; the second with
 * what kernels get as ctx.
 */
tpi_run_fn tpi_run_elementwise;
enum tp_status tpi_run_elementwise_with(
    struct tpi_call *c, void *ctx, struct tp_err *err);

/* A temporary tensor of the call, its elements still to be written. */
enum tp_status tpi_op_temp(const struct tpi_call *c, enum tp_dtype dtype,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err);

/* The numbers of t as packed f64, under a shape of as many elements. */
enum tp_status tpi_op_doubles(const struct tpi_call *c,
    const struct tp_tensor *t, const int64_t *sizes, unsigned rank,
    struct tp_tensor **out, struct tp_err *err);

/*
 * Memory for n items of size bytes, which are undefined, or NULL; it goes back
 * with tp_mem_free(c->alloc, p, n, size).
 */
void *tpi_op_scratch(const struct tpi_call *c, size_t n, size_t size);

/*
 * Parts for work of that size: 1 when it is not worth a thread. tpi_share tells
 * what each has to do.
 */
size_t tpi_op_parts(const struct tpi_call *c, uint64_t work, uint64_t most);

/*
 * What tp_op_run does for TPI_OP_MOVES with elements narrower than a byte:
 * inputs before, outputs after. tpi_op_widens: is there anything to do?
 */
bool tpi_op_widens(const struct tpi_call *c);
enum tp_dtype tpi_op_wide(enum tp_dtype narrow);
enum tp_status tpi_op_widen(struct tpi_call *c, struct tp_err *err);
enum tp_status tpi_op_narrow(struct tpi_call *c, struct tp_err *err);
void tpi_op_drop_widened(struct tpi_call *c);

/*
 * Shapes and dtypes of n_out outputs, without computing them. TP_EUNSUPPORTED
 * if they depend on more than shapes and on what infer reads.
 */
enum tp_status tpi_op_infer(const struct tp_op *op, const struct tp_attr *attrs,
    size_t n_attrs, const struct tp_value *inputs, size_t n_in,
    struct tpi_info *infos, size_t n_out, const struct tp_op_opts *opts,
    struct tp_err *err);

/* Run op with what tp_op_run would have found; for functions of tp/ops.h. */
const struct tp_op *tpi_op_newest(const char *onnx);

#endif
