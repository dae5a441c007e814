#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/cuda/cuda_api.h"
#include "support/dtype.h"
#include "support/numeric_mode.h"
#include "support/status.h"

// The parts of cuBLAS and cuBLASLt, versions 12 and 13, that the peers use, declared here so that
// no toolkit is needed to build; tests hold them against the real headers where there are some. All
// functions return 0 where they succeed.
namespace tcc::cublas {

inline constexpr int kNoTranspose = 0, kTranspose = 1;
inline constexpr int kFloat = 0, kHalf = 2, kBfloat16 = 14;  // CUDA_R_32F, _16F, _16BF
// Compute types. CUBLAS_COMPUTE_32F: products of operands as they are, sums in float32. _FAST_*:
// float32 operands may be rounded before. _EMULATED_16BFX9: each operand is a sum of three
// bfloat16.
inline constexpr int kCompute32F = 68, kFast16F = 74, kFast16BF = 75, kFastTf32 = 77;
inline constexpr int kEmulated16BFx9 = 78;
inline constexpr int kGemmDefault = -1;  // CUBLAS_GEMM_DEFAULT
inline constexpr int kDefaultMath = 0;   // CUBLAS_DEFAULT_MATH: no tf32

struct Library {
  const char* (*status_text)(int status) = nullptr;
  int (*create)(void** handle) = nullptr;
  int (*set_stream)(void* handle, CudaStreamHandle stream) = nullptr;
  int (*set_workspace)(void* handle, void* memory, size_t bytes) = nullptr;
  int (*set_math_mode)(void* handle, int mode) = nullptr;
  int (*sgemm_strided_batched)(void* handle, int transpose_a, int transpose_b, int m, int n, int k,
                               const float* alpha, const float* a, int lda, long long stride_a,
                               const float* b, int ldb, long long stride_b, const float* beta,
                               float* c, int ldc, long long stride_c, int batch) = nullptr;
  int (*sgemm)(void* handle, int transpose_a, int transpose_b, int m, int n, int k,
               const float* alpha, const float* a, int lda, const float* b, int ldb,
               const float* beta, float* c, int ldc) = nullptr;
  int (*gemm_ex)(void* handle, int transpose_a, int transpose_b, int m, int n, int k,
                 const void* alpha, const void* a, int type_a, int lda, const void* b, int type_b,
                 int ldb, const void* beta, void* c, int type_c, int ldc, int compute,
                 int algorithm) = nullptr;
  int (*gemm_strided_batched_ex)(void* handle, int transpose_a, int transpose_b, int m, int n,
                                 int k, const void* alpha, const void* a, int type_a, int lda,
                                 long long stride_a, const void* b, int type_b, int ldb,
                                 long long stride_b, const void* beta, void* c, int type_c, int ldc,
                                 long long stride_c, int batch, int compute,
                                 int algorithm) = nullptr;
};

// Opens cuBLAS, sought as support/cuda/cuda_library.h says; the variable is TCC_CUBLAS.
StatusOr<Library> OpenLibrary();

// A way to compute in a mode: the type of the stored operands, the compute type to ask for, and its
// name. Results and sums are float32.
struct Arithmetic {
  NumericMode mode;
  DType stored;
  int type;  // of `stored`
  int compute;
  const char* name;

  // Returns whether it computes as float32 does, so that cublasSgemm will do.
  bool IsStrict() const { return type == kFloat && compute == kCompute32F; }
};

// Returns all ways of a mode: those that round float32 operands, and those that expect them
// rounded. Nothing but strict arithmetic and the emulation of float32 by bfloat16 is as exact as
// 3xtf32.
std::vector<Arithmetic> ArithmeticsOf(NumericMode mode);

}  // namespace tcc::cublas

namespace tcc::cublaslt {

// Attributes, grouped by enumeration.
inline constexpr int kLayoutBatchCount = 5, kLayoutBatchStride = 6;
inline constexpr int kPreferenceWorkspace = 1;
inline constexpr int kConfigId = 0, kConfigTile = 1, kConfigSplitK = 2, kConfigStages = 6;

struct Algorithm {
  std::array<uint64_t, 8> data;
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace_bytes;
  int state;  // 0: usable
  float waves;
  std::array<int, 4> reserved;
};

struct Library {
  const char* (*status_text)(int status) = nullptr;
  int (*create)(void** handle) = nullptr;
  int (*desc_create)(void** desc, int compute, int scale_type) = nullptr;
  int (*layout_create)(void** layout, int type, uint64_t rows, uint64_t columns,
                       int64_t ld) = nullptr;
  int (*layout_set)(void* layout, int attribute, const void* value, size_t bytes) = nullptr;
  int (*preference_create)(void** preference) = nullptr;
  int (*preference_set)(void* preference, int attribute, const void* value, size_t bytes) = nullptr;
  int (*heuristic)(void* handle, void* desc, void* a, void* b, void* c, void* d, void* preference,
                   int requested, HeuristicResult* results, int* returned) = nullptr;
  int (*config_get)(const Algorithm* algorithm, int attribute, void* value, size_t bytes,
                    size_t* written) = nullptr;
  int (*matmul)(void* handle, void* desc, const void* alpha, const void* a, void* a_layout,
                const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                void* d, void* d_layout, const Algorithm* algorithm, void* workspace,
                size_t workspace_bytes, CudaStreamHandle stream) = nullptr;
};

// Opens cuBLASLt in the same way; the variable is TCC_CUBLASLT.
StatusOr<Library> OpenLibrary();

}  // namespace tcc::cublaslt
