// OpenBLAS: single precision matrix products.

#include <dlfcn.h>

#include <cstdlib>

#include "bench/cpu/peers.h"

namespace tcc {
namespace {

constexpr int kRowMajor = 101;
constexpr int kNoTranspose = 111;

struct Library {
  void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                const float* a, int lda, const float* b, int ldb, float beta, float* c,
                int ldc) = nullptr;
  void (*set_num_threads)(int threads) = nullptr;
};

template <typename Fn>
void Find(void* handle, const char* name, Fn*& entry) {
  entry = reinterpret_cast<Fn*>(::dlsym(handle, name));
}

Library Open() {
  // Selects the AVX-512 kernels. The core type that OpenBLAS picks by itself on newer AMD CPUs, and
  // that some environments set for the sake of equal results, uses half of their vectors
  // (reference: cpu_perf, 2).
  if (__builtin_cpu_supports("avx512f")) ::setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
  void* handle = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  Library library;
  if (handle == nullptr) return library;
  Find(handle, "cblas_sgemm", library.sgemm);
  Find(handle, "openblas_set_num_threads", library.set_num_threads);
  return library;
}

const Library& Loaded() {
  static const Library library = Open();
  return library;
}

}  // namespace

bool HasOpenBlas() {
  return Loaded().sgemm != nullptr && Loaded().set_num_threads != nullptr;
}

std::function<void()> OpenBlasKernel(const BenchKernel& kernel,
                                     const std::vector<Tensor>& arguments, int threads) {
  if (kernel.kind != KernelKind::kGemm || !HasOpenBlas()) return {};
  Loaded().set_num_threads(threads);
  int m = static_cast<int>(kernel.rows), n = static_cast<int>(kernel.columns);
  int k = static_cast<int>(kernel.depth);
  return [=] {
    auto* result = reinterpret_cast<float*>(const_cast<uint8_t*>(arguments[2].bytes.data()));
    Loaded().sgemm(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, 1.0F,
                   arguments[0].values<float>().data(), k, arguments[1].values<float>().data(), n,
                   0.0F, result, n);
  };
}

std::function<void()> OpenBlasOperator(const BenchOperator& op, const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& constants, const Tensor& output,
                                       int threads) {
  const auto* matmul = std::get_if<MatmulOp>(&op.kind);
  if (matmul == nullptr || matmul->batch != 1) return {};
  BenchKernel kernel{.name = "matmul",
                     .kind = KernelKind::kGemm,
                     .rows = matmul->rows,
                     .columns = matmul->columns,
                     .depth = matmul->depth};
  return OpenBlasKernel(kernel, {inputs[0], constants[0], output}, threads);
}

}  // namespace tcc
