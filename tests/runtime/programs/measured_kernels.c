// Kernels by hand for the tests of measuring, built without libc like generated ones. Each computes
// out[i] = x[i] + 2 * w[i] for COUNT floats from (x, w, out) unless it says otherwise.
#include "runtime/artefact/kernel_abi.h"

enum { COUNT = 1024 };

#define KERNEL(name) \
  int32_t name(const TccRuntime* runtime, void* const* buffers, const int64_t* shape_args)
#define UNUSED (void)runtime, (void)buffers, (void)shape_args

static int32_t Compute(void* const* buffers) {
  const float *x = buffers[0], *w = buffers[1];
  float* out = buffers[2];
  for (int i = 0; i < COUNT; ++i) out[i] = x[i] + 2 * w[i];
  return TCC_KERNEL_OK;
}

static void ComputeRange(void* closure, int64_t begin, int64_t end) {
  void* const* buffers = closure;
  const float *x = buffers[0], *w = buffers[1];
  float* out = buffers[2];
  for (int64_t i = begin; i < end; ++i) out[i] = x[i] + 2 * w[i];
}

KERNEL(right) {
  UNUSED;
  return Compute(buffers);
}

KERNEL(parallel) {
  UNUSED;
  runtime->parallel_for(runtime->context, COUNT, ComputeRange, (void*)buffers);
  return TCC_KERNEL_OK;
}

// Off by rounding.
KERNEL(nearly_right) {
  UNUSED;
  Compute(buffers);
  float* out = buffers[2];
  for (int i = 0; i < COUNT; ++i) out[i] *= 1.0000002F;
  return TCC_KERNEL_OK;
}

KERNEL(wrong_by_one_element) {
  UNUSED;
  Compute(buffers);
  float* out = buffers[2];
  out[17] += 0.125F;
  return TCC_KERNEL_OK;
}

// Sums of products of x and w, clipped to [-1/16, 1/16]. Each product is moved by that share of
// itself, up and down in turn, as if it had been rounded otherwise.
static int32_t Clip(void* const* buffers, int terms, float moved) {
  const float *x = buffers[0], *w = buffers[1];
  float* out = buffers[2];
  for (int i = 0; i < COUNT; ++i) {
    float sum = 0;
    for (int k = 0; k < terms; ++k) {
      float product = x[(i + k) % COUNT] * w[k];
      sum += product + (k % 2 ? moved : -moved) * product;
    }
    out[i] = sum < -0.0625F ? -0.0625F : sum > 0.0625F ? 0.0625F : sum;
  }
  return TCC_KERNEL_OK;
}

KERNEL(clip) {
  UNUSED;
  return Clip(buffers, 64, 0);
}

KERNEL(clip_rounded_otherwise) {
  UNUSED;
  return Clip(buffers, 64, 0x1p-21F);
}

KERNEL(clip_without_a_term) {
  UNUSED;
  return Clip(buffers, 63, 0);
}

// An element that is 2 percent of the largest result off.
KERNEL(clip_with_a_wrong_element) {
  UNUSED;
  Clip(buffers, 64, 0);
  float* out = buffers[2];
  out[17] -= 0.00125F;
  return TCC_KERNEL_OK;
}

KERNEL(forgets_the_last) {
  UNUSED;
  const float *x = buffers[0], *w = buffers[1];
  volatile float* out = buffers[2];
  for (int i = 0; i + 1 < COUNT; ++i) out[i] = x[i] + 2 * w[i];
  return TCC_KERNEL_OK;
}

// Right but for inputs beyond 2, which only the second set of values has.
KERNEL(wrong_for_large_values) {
  UNUSED;
  Compute(buffers);
  const float* x = buffers[0];
  float* out = buffers[2];
  for (int i = 0; i < COUNT; ++i) {
    if (x[i] > 2 || x[i] < -2) out[i] = 0;
  }
  return TCC_KERNEL_OK;
}

KERNEL(wrong_at_first) {
  UNUSED;
  static volatile int calls;
  Compute(buffers);
  float* out = buffers[2];
  if (calls++ == 0) out[3] = 99;
  return TCC_KERNEL_OK;
}

KERNEL(writes_after_its_end) {
  UNUSED;
  volatile float* out = buffers[2];
  out[COUNT] = 0;
  return Compute(buffers);
}

KERNEL(writes_before_its_start) {
  UNUSED;
  volatile float* out = buffers[2];
  out[-1] = 0;
  return Compute(buffers);
}

KERNEL(writes_its_input) {
  UNUSED;
  Compute(buffers);
  volatile float* x = buffers[0];
  x[5] = 7;
  return TCC_KERNEL_OK;
}

KERNEL(writes_its_constant) {
  UNUSED;
  Compute(buffers);
  volatile float* w = buffers[1];
  w[5] = 7;
  return TCC_KERNEL_OK;
}

KERNEL(stores_to_null) {
  UNUSED;
  int* volatile nowhere = 0;
  *(volatile int*)nowhere = 1;
  return Compute(buffers);
}

KERNEL(never_returns) {
  UNUSED;
  volatile int64_t turns = 0;
  while (turns >= 0) turns = turns < 9 ? turns + 1 : 0;
  return TCC_KERNEL_OK;
}

// Forever, but compilers must not see that.
static volatile int descends = 1;
static int Descend(volatile char* above) {
  volatile char here[2048];
  here[0] = above[0];
  return (descends ? Descend(here) : 0) + here[0];
}

KERNEL(recurses) {
  UNUSED;
  volatile char start[1] = {0};
  return Descend(start);
}

KERNEL(traps) {
  UNUSED;
  __builtin_trap();
}

// Ends the process with code 41, without libc.
KERNEL(exits) {
  UNUSED;
#if defined(__x86_64__)
  __asm__ volatile("syscall" : : "a"(231L), "D"(41L) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
  register long code __asm__("x0") = 41;
  register long number __asm__("x8") = 94;
  __asm__ volatile("svc 0" : : "r"(code), "r"(number) : "memory");
#endif
  return Compute(buffers);
}

KERNEL(needs_too_much) {
  UNUSED;
  void* memory = runtime->alloc(runtime->context, (int64_t)1 << 61);
  return memory ? TCC_KERNEL_OK : TCC_KERNEL_OUT_OF_MEMORY;
}

KERNEL(fails) {
  UNUSED;
  return 7;
}

// prepared[i] = 2 * w[i] from (w, prepared).
KERNEL(prepare_double) {
  UNUSED;
  const float* w = buffers[0];
  float* prepared = buffers[1];
  for (int i = 0; i < COUNT; ++i) prepared[i] = 2 * w[i];
  return TCC_KERNEL_OK;
}

KERNEL(prepare_beyond) {
  UNUSED;
  volatile float* prepared = buffers[1];
  prepared[COUNT] = 1;
  return prepare_double(runtime, buffers, shape_args);
}

// out[i] = x[i] + prepared[i] from (x, prepared, out).
KERNEL(add_prepared) {
  UNUSED;
  const float *x = buffers[0], *prepared = buffers[1];
  float* out = buffers[2];
  for (int i = 0; i < COUNT; ++i) out[i] = x[i] + prepared[i];
  return TCC_KERNEL_OK;
}

// Bytes: out[i] = x[i] from (x, w, out), the last one off by so much.
static int32_t CopyBytes(void* const* buffers, int off) {
  const volatile signed char* x = buffers[0];
  signed char* out = buffers[2];
  for (int i = 0; i < COUNT; ++i) out[i] = x[i];
  out[COUNT - 1] = (signed char)(out[COUNT - 1] + off);
  return TCC_KERNEL_OK;
}

KERNEL(bytes) {
  UNUSED;
  return CopyBytes(buffers, 0);
}

KERNEL(bytes_off_by_one) {
  UNUSED;
  return CopyBytes(buffers, 1);
}

KERNEL(bytes_off_by_two) {
  UNUSED;
  return CopyBytes(buffers, -2);
}
