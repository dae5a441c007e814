#include "bench/gpu/cublas_library.h"

#include "support/cuda/cuda_library.h"

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

constexpr Symbol<cublas::Library> kCublasSymbols[] = {
    SymbolFor<&cublas::Library::status_text>("cublasGetStatusString"),
    SymbolFor<&cublas::Library::create>("cublasCreate_v2"),
    SymbolFor<&cublas::Library::set_stream>("cublasSetStream_v2"),
    SymbolFor<&cublas::Library::set_workspace>("cublasSetWorkspace_v2"),
    SymbolFor<&cublas::Library::set_math_mode>("cublasSetMathMode"),
    SymbolFor<&cublas::Library::sgemm>("cublasSgemm_v2"),
    SymbolFor<&cublas::Library::sgemm_strided_batched>("cublasSgemmStridedBatched"),
    SymbolFor<&cublas::Library::gemm_ex>("cublasGemmEx"),
    SymbolFor<&cublas::Library::gemm_strided_batched_ex>("cublasGemmStridedBatchedEx"),
};

constexpr Symbol<cublaslt::Library> kLtSymbols[] = {
    SymbolFor<&cublaslt::Library::status_text>("cublasLtGetStatusString"),
    SymbolFor<&cublaslt::Library::create>("cublasLtCreate"),
    SymbolFor<&cublaslt::Library::desc_create>("cublasLtMatmulDescCreate"),
    SymbolFor<&cublaslt::Library::layout_create>("cublasLtMatrixLayoutCreate"),
    SymbolFor<&cublaslt::Library::layout_set>("cublasLtMatrixLayoutSetAttribute"),
    SymbolFor<&cublaslt::Library::preference_create>("cublasLtMatmulPreferenceCreate"),
    SymbolFor<&cublaslt::Library::preference_set>("cublasLtMatmulPreferenceSetAttribute"),
    SymbolFor<&cublaslt::Library::heuristic>("cublasLtMatmulAlgoGetHeuristic"),
    SymbolFor<&cublaslt::Library::config_get>("cublasLtMatmulAlgoConfigGetAttribute"),
    SymbolFor<&cublaslt::Library::matmul>("cublasLtMatmul"),
};

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
  return BindAll(opened, kCublasSymbols, "cuBLAS of version 12 or 13");
}

StatusOr<cublaslt::Library> cublaslt::OpenLibrary() {
  TCC_ASSIGN_OR_RETURN(OpenedLibrary opened, OpenCudaLibrary({.variable = "TCC_CUBLASLT",
                                                              .names = kLtNames,
                                                              .toolkit_folders = {},
                                                              .wheel_folders = kWheels}));
  return BindAll(opened, kLtSymbols, "cuBLASLt of version 12 or 13");
}

}  // namespace tcc
