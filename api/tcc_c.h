#pragma once

/*
 * The C API of tcc: loads compiled networks and runs them, in libtcc_runtime; libtcc has all of it
 * too. C99, and the API that other languages bind to.
 *
 *   tcc_error* error = NULL;
 *   tcc_module* module = NULL;
 *   if (tcc_module_load("model.tcc", NULL, &module, &error) != TCC_OK) {
 *     fprintf(stderr, "%s\n", tcc_error_message(error));
 *     tcc_error_free(error);
 *   }
 *
 * Functions that can fail return a code and, where `error` is not null, make an error that the
 * caller frees; on success they write none. Results are written on success only. Every pointer
 * to a handle may be null in its _free function. Strings and shapes that are handed in are copied.
 * Nothing is thrown and nothing prints; a bug in tcc ends the program with a message. docs/c.md is
 * the guide.
 */

#include <stdint.h>

#if defined(__GNUC__)
#define TCC_API __attribute__((visibility("default")))
#else
#define TCC_API
#endif

/* NOLINTBEGIN(readability-identifier-naming): names as in C */
#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface, which grows only by additions: a program runs with a library whose
 * tcc_abi() is at least the TCC_ABI that it was compiled with. */
#define TCC_ABI 1u
TCC_API uint32_t tcc_abi(void);
/* Returns the library's version, "0.1.0". */
TCC_API const char* tcc_version(void);

/* The kind of a failure: the command line's exit codes, and two more. */
typedef int32_t tcc_code;
enum {
  TCC_OK = 0,
  TCC_USAGE = 2,       /* options or arguments that do not fit the model */
  TCC_UNSUPPORTED = 3, /* the model asks for what this version does not have */
  TCC_BAD_INPUT = 4,   /* a model, artefact or tensor that is not valid or not there */
  TCC_MISSING = 5,     /* a device, a CPU feature or disk space */
  TCC_BUDGET = 6,      /* a limit of time ended */
  TCC_NO_MEMORY = 7,   /* the model, or a run of it, does not fit into memory */
  TCC_BUG = 70,        /* a bug in tcc */
  TCC_CANCELLED = 130
};

/* A failure. */
typedef struct tcc_error tcc_error;
TCC_API tcc_code tcc_error_code(const tcc_error* error);
/* Returns a text that names the thing, what was expected and what came; it lives as the error. */
TCC_API const char* tcc_error_message(const tcc_error* error);
TCC_API void tcc_error_free(tcc_error* error);

/* The element types. A bool takes a byte; two elements of TCC_I4 or TCC_U4 share a byte. */
typedef int32_t tcc_dtype;
enum {
  TCC_BOOL = 0,
  TCC_I8 = 1,
  TCC_I16 = 2,
  TCC_I32 = 3,
  TCC_I64 = 4,
  TCC_U8 = 5,
  TCC_U16 = 6,
  TCC_U32 = 7,
  TCC_U64 = 8,
  TCC_F16 = 9,
  TCC_BF16 = 10,
  TCC_F32 = 11,
  TCC_F64 = 12,
  TCC_F8E4M3 = 13,
  TCC_F8E5M2 = 14,
  TCC_I4 = 15,
  TCC_U4 = 16
};
/* Returns e.g. "f32", "i64", "bool"; null for other numbers. */
TCC_API const char* tcc_dtype_name(tcc_dtype dtype);

/* A tensor in the caller's memory, row-major without gaps, or a module's description of one. Its
 * size is fixed. Make it zero before filling it in. */
typedef struct tcc_tensor {
  const char* name;     /* null: matched by its position in the list */
  void* data;           /* inputs are only read; null in a description */
  uint64_t bytes;       /* of all elements; 0 in a description with a free extent */
  const int64_t* shape; /* `rank` extents; -1 in a description: free, inputs determine it */
  int32_t rank;         /* -1: the shape is the declared one, `shape` is not read */
  tcc_dtype dtype;
  uint64_t reserved; /* 0 */
} tcc_tensor;

/* Options of loading: texts by the names of the command line's long options, without dashes. */
typedef struct tcc_options tcc_options;
/* Returns null where memory is short. */
TCC_API tcc_options* tcc_options_new(void);
/* Sets an option; "threads" (0: one per usable CPU), "map-weights" ("true" keeps the weights
 * mapped, shared by all processes that load the file), "device" (the GPU's number). TCC_USAGE,
 * naming the key, for an unknown key or a value that does not fit. */
TCC_API tcc_code tcc_options_set(tcc_options* options, const char* key, const char* value,
                                 tcc_error** error);
TCC_API void tcc_options_free(tcc_options* options);

/* A compiled network, ready to run. Its functions may be called from several threads at once. */
typedef struct tcc_module tcc_module;
/* Loads a file by mapping it: the file must not be changed while the module lives. `options` may be
 * null. TCC_BAD_INPUT for a bad file; TCC_MISSING where this machine lacks a CPU feature, GPU or
 * driver that the kernels need. */
TCC_API tcc_code tcc_module_load(const char* path, const tcc_options* options, tcc_module** module,
                                 tcc_error** error);
/* Loads a file's content. Without `release` the bytes are copied. With it, bytes at a multiple of
 * 64 are used in place, and `release(owner)` is called once, when they are not needed any more,
 * also after a failure. */
TCC_API tcc_code tcc_module_load_bytes(const void* data, uint64_t bytes,
                                       void (*release)(void* owner), void* owner,
                                       const tcc_options* options, tcc_module** module,
                                       tcc_error** error);
/* Frees the handle; executors made from it keep the network alive. */
TCC_API void tcc_module_free(tcc_module* module);

/* Lists of a module, whose entries count from 0. Texts, shapes and names live as the module. An
 * index beyond the list ends the program. */
typedef int32_t tcc_list;
enum { TCC_INPUTS = 0, TCC_OUTPUTS = 1, TCC_KERNELS = 2, TCC_PROPERTIES = 3 };
TCC_API uint32_t tcc_module_count(const tcc_module* module, tcc_list list);
/* Describes an input or output: `list` is TCC_INPUTS or TCC_OUTPUTS. */
TCC_API void tcc_module_tensor(const tcc_module* module, tcc_list list, uint32_t index,
                               tcc_tensor* description);
/* Returns the name of a free extent of an input or output; "" for one that has a size. */
TCC_API const char* tcc_module_dim_name(const tcc_module* module, tcc_list list, uint32_t index,
                                        uint32_t axis);
/* Describe a kernel: its name and operations per call, and the model's nodes that it computes.
 * Returns null past the last node. */
TCC_API const char* tcc_module_kernel(const tcc_module* module, uint32_t index, int64_t* flops);
TCC_API const char* tcc_module_kernel_node(const tcc_module* module, uint32_t index, uint32_t node);
/* Returns the key of a fact such as "compiler" and writes its value, such as "0.1.0". */
TCC_API const char* tcc_module_property(const tcc_module* module, uint32_t index,
                                        const char** value);
TCC_API const char* tcc_module_name(const tcc_module* module);
TCC_API const char* tcc_module_target(const tcc_module* module);
TCC_API uint64_t tcc_module_weights_bytes(const tcc_module* module);
/* Returns the memory of a run beyond weights, inputs and outputs; -1 if free extents decide it. */
TCC_API int64_t tcc_module_activation_bytes(const tcc_module* module);
TCC_API int32_t tcc_module_threads(const tcc_module* module);
/* Returns the number of the GPU that the module runs on; -1 for a CPU. */
TCC_API int32_t tcc_module_device(const tcc_module* module);

/* Computes the shape of an output for inputs of these types and shapes, whose data and bytes are
 * not read. Writes its rank, and its extents where `most_rank` suffices. TCC_USAGE for an output
 * beyond the list. */
TCC_API tcc_code tcc_module_output_shape(const tcc_module* module, const tcc_tensor* inputs,
                                         uint32_t input_count, uint32_t output, int64_t* shape,
                                         uint32_t most_rank, uint32_t* rank, tcc_error** error);

/* Runs the module: reads all inputs and overwrites all outputs, which must not overlap. Concurrent
 * runs of one module each take activation memory, which is kept for later runs. TCC_BAD_INPUT,
 * naming the tensor, where something does not fit. */
TCC_API tcc_code tcc_module_run(tcc_module* module, const tcc_tensor* inputs, uint32_t input_count,
                                const tcc_tensor* outputs, uint32_t output_count,
                                tcc_error** error);

/* A runner of a module with its own activation memory, used by one thread at a time. */
typedef struct tcc_executor tcc_executor;
TCC_API tcc_code tcc_executor_new(tcc_module* module, tcc_executor** executor, tcc_error** error);
/* Checks and keeps what later runs read and write, in place of what was bound before; the tensors'
 * memory must stay. After a failure the former tensors are still bound. */
TCC_API tcc_code tcc_executor_bind(tcc_executor* executor, const tcc_tensor* inputs,
                                   uint32_t input_count, const tcc_tensor* outputs,
                                   uint32_t output_count, tcc_error** error);
/* Runs on what is bound, without looking anything up; on a CPU only the first run allocates memory.
 * TCC_USAGE where nothing is bound. */
TCC_API tcc_code tcc_executor_run(tcc_executor* executor, tcc_error** error);
/* Enqueues a run on GPU memory (`data` is a CUdeviceptr) in the caller's stream, a CUstream; null
 * is the default stream. Nothing is copied; the caller synchronizes. The executor, the stream and
 * the memory must live until the work has ended. */
TCC_API tcc_code tcc_executor_enqueue(tcc_executor* executor, const tcc_tensor* inputs,
                                      uint32_t input_count, const tcc_tensor* outputs,
                                      uint32_t output_count, void* stream, tcc_error** error);
TCC_API void tcc_executor_free(tcc_executor* executor);

/* Describes a DLTensor (a `const DLTensor*` of DLPack 0.x or 1.x), which keeps its memory; `shape`
 * has room for `most_rank` extents and the description points to it. Writes DLPack's device type
 * and number. TCC_BAD_INPUT for elements with gaps or in another order, and for types that tcc
 * lacks. */
TCC_API tcc_code tcc_from_dlpack(const void* dl_tensor, tcc_tensor* tensor, int64_t* shape,
                                 uint32_t most_rank, int32_t* device_type, int32_t* device,
                                 tcc_error** error);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(readability-identifier-naming) */
