// Kernels by hand for the tests of the runtime, built without libc like generated ones.
// FACTOR tells the two builds apart.
#include "runtime/artefact/kernel_abi.h"

typedef struct {
  const float* x;
  const float* w;
  float* out;
} ScaleAdd;

static void ScaleAddRange(void* closure, int64_t begin, int64_t end) {
  const ScaleAdd* args = closure;
  for (int64_t i = begin; i < end; ++i) args->out[i] = args->x[i] + FACTOR * args->w[i];
}

// out[i] = x[i] + FACTOR * w[i] for i in 0..shape_args[0].
int32_t scale_add(const TccRuntime* runtime, void* const* buffers, const int64_t* shape_args) {
  ScaleAdd args = {buffers[0], buffers[1], buffers[2]};
  runtime->parallel_for(runtime->context, shape_args[0], ScaleAddRange, &args);
  return TCC_KERNEL_OK;
}

// out[i] = sum of row i of x[shape_args[0]][shape_args[1]], by way of a copy in scratch memory.
int32_t row_sums(const TccRuntime* runtime, void* const* buffers, const int64_t* shape_args) {
  int64_t rows = shape_args[0], columns = shape_args[1];
  const float* x = buffers[0];
  float* out = buffers[1];
  float* copy = runtime->alloc(runtime->context, rows * columns * (int64_t)sizeof(float));
  if (!copy) return TCC_KERNEL_OUT_OF_MEMORY;
  for (int64_t i = 0; i < rows * columns; ++i) copy[i] = x[i];
  for (int64_t i = 0; i < rows; ++i) {
    out[i] = 0;
    for (int64_t j = 0; j < columns; ++j) out[i] += copy[i * columns + j];
  }
  runtime->free(runtime->context, copy);
  return TCC_KERNEL_OK;
}

// next = 2 * state + counter; goes_on = next < 1000.
int32_t step(const TccRuntime* runtime, void* const* buffers, const int64_t* shape_args) {
  (void)runtime;
  const float* state = buffers[0];
  float* next = buffers[1];
  unsigned char* goes_on = buffers[2];
  next[0] = 2 * state[0] + (float)shape_args[0];
  goes_on[0] = next[0] < 1000;
  return TCC_KERNEL_OK;
}

// One bool: x < 0.
int32_t is_negative(const TccRuntime* runtime, void* const* buffers, const int64_t* shape_args) {
  (void)runtime, (void)shape_args;
  const float* x = buffers[0];
  unsigned char* out = buffers[1];
  out[0] = x[0] < 0;
  return TCC_KERNEL_OK;
}

// out = exp(x) by the runtime's function.
int32_t exponential(const TccRuntime* runtime, void* const* buffers, const int64_t* shape_args) {
  (void)shape_args;
  const float* x = buffers[0];
  float* out = buffers[1];
  out[0] = (float)runtime->math(TCC_MATH_EXP, x[0], 0);
  return TCC_KERNEL_OK;
}

int32_t needs_too_much(const TccRuntime* runtime, void* const* buffers, const int64_t* shape_args) {
  (void)buffers, (void)shape_args;
  void* memory = runtime->alloc(runtime->context, (int64_t)1 << 61);
  return memory ? TCC_KERNEL_OK : TCC_KERNEL_OUT_OF_MEMORY;
}

int32_t fails(const TccRuntime* runtime, void* const* buffers, const int64_t* shape_args) {
  (void)runtime, (void)buffers, (void)shape_args;
  return 7;
}
