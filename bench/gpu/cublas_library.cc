#include "bench/gpu/cublas_library.h"

#include "ir/support/cuda_library.h"

namespace tcc {
namespace {

constexpr const char* kCublasNames[] = {"libcublas.so.13", "libcublas.so.12"};
constexpr const char* kLtNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr const char* kWheels[] = {"cublas/lib"};

// clang-format off
constexpr cublas::Arithmetic kArithmetics[] = {
    {NumericMode::kStrict, kFloat32, cublas::kFloat, cublas::kCompute32F, "strict"},
    {NumericMode::k3xTf32, kFloat32, cublas::kFloat, cublas::kCompute32F, "strict"},
    {NumericMode::k3xTf32, kFloat32, cublas::kFloat, cublas::kEmulated16BFx9, "9 products of bf16"},
    {NumericMode::kTf32, kFloat32, cublas::kFloat, cublas::kFastTf32, "tf32"},
    {NumericMode::kBf16, kFloat32, cublas::kFloat, cublas::kFast16BF, "bf16"},
    {NumericMode::kBf16, DType(DTypeCode::kBFloat16), cublas::kBfloat16, cublas::kCompute32F, "bf16, stored so"},
    {NumericMode::kFp16, kFloat32, cublas::kFloat, cublas::kFast16F, "fp16"},
    {NumericMode::kFp16, kFloat16, cublas::kHalf, cublas::kCompute32F, "fp16, stored so"},
};
// clang-format on

}  // namespace

std::vector<cublas::Arithmetic> cublas::ArithmeticsOf(NumericMode mode) {
  std::vector<Arithmetic> found;
  for (const Arithmetic& arithmetic : kArithmetics) {
    if (arithmetic.mode == mode) found.push_back(arithmetic);
  }
  return found;
}

StatusOr<cublas::Library> cublas::OpenLibrary() {
  TCC_ASSIGN_OR_RETURN(OpenedLibrary opened, OpenCudaLibrary({.variable = "TCC_CUBLAS",
                                                              .names = kCublasNames,
                                                              .toolkit_folders = {},
                                                              .wheel_folders = kWheels}));
  Library library;
  bool complete = Bind(opened, "cublasGetStatusString", library.status_text) &&
                  Bind(opened, "cublasCreate_v2", library.create) &&
                  Bind(opened, "cublasSetStream_v2", library.set_stream) &&
                  Bind(opened, "cublasSetWorkspace_v2", library.set_workspace) &&
                  Bind(opened, "cublasSetMathMode", library.set_math_mode) &&
                  Bind(opened, "cublasSgemm_v2", library.sgemm) &&
                  Bind(opened, "cublasSgemmStridedBatched", library.sgemm_strided_batched) &&
                  Bind(opened, "cublasGemmEx", library.gemm_ex) &&
                  Bind(opened, "cublasGemmStridedBatchedEx", library.gemm_strided_batched_ex);
  if (!complete) return Lacks(opened, "cuBLAS of version 12 or 13");
  return library;
}

StatusOr<cublaslt::Library> cublaslt::OpenLibrary() {
  TCC_ASSIGN_OR_RETURN(OpenedLibrary opened, OpenCudaLibrary({.variable = "TCC_CUBLASLT",
                                                              .names = kLtNames,
                                                              .toolkit_folders = {},
                                                              .wheel_folders = kWheels}));
  Library library;
  bool complete = Bind(opened, "cublasLtGetStatusString", library.status_text) &&
                  Bind(opened, "cublasLtCreate", library.create) &&
                  Bind(opened, "cublasLtMatmulDescCreate", library.desc_create) &&
                  Bind(opened, "cublasLtMatrixLayoutCreate", library.layout_create) &&
                  Bind(opened, "cublasLtMatrixLayoutSetAttribute", library.layout_set) &&
                  Bind(opened, "cublasLtMatmulPreferenceCreate", library.preference_create) &&
                  Bind(opened, "cublasLtMatmulPreferenceSetAttribute", library.preference_set) &&
                  Bind(opened, "cublasLtMatmulAlgoGetHeuristic", library.heuristic) &&
                  Bind(opened, "cublasLtMatmulAlgoConfigGetAttribute", library.config_get) &&
                  Bind(opened, "cublasLtMatmul", library.matmul);
  if (!complete) return Lacks(opened, "cuBLASLt of version 12 or 13");
  return library;
}

}  // namespace tcc
