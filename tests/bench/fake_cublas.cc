// cuBLAS and cuBLASLt as far as bench/gpu/cublas_library.h goes: on host memory, which is what the
// emulated driver has. Calls are logged; what they compute is right, and slow. A heuristic names
// three algorithms: a usable one, one that is not, and one that computes something else.

#include <cstring>

#include "bench/gpu/cublas_library.h"
#include "tests/bench/fake_log.h"

namespace {

using tcc::test::LogCall;
using namespace tcc::cublaslt;

struct Layout {
  int type = -1;
  int64_t rows = 0, columns = 0, ld = 0;
  int batch = 1;
  int64_t stride = 0;
};

// c = scale * a * b, column by column.
struct Product {
  int64_t m, n, k;
  const float* a;
  int64_t lda;
  const float* b;
  int64_t ldb;
  float* c;
  int64_t ldc;
  bool a_is_transposed = false;
};

void Multiply(const Product& p, float scale) {
  int64_t row = p.a_is_transposed ? p.lda : 1, column = p.a_is_transposed ? 1 : p.lda;
  for (int64_t j = 0; j < p.n; ++j) {
    for (int64_t i = 0; i < p.m; ++i) {
      double sum = 0;
      for (int64_t l = 0; l < p.k; ++l)
        sum += double{p.a[i * row + l * column]} * p.b[j * p.ldb + l];
      p.c[j * p.ldc + i] = static_cast<float>(scale * sum);
    }
  }
}

// With beta 0, which is what the peers want.
int Gemm(const Product& p, const void* alpha, const void* beta) {
  float scale = 0, zero = 1;
  std::memcpy(&scale, alpha, sizeof(scale));
  std::memcpy(&zero, beta, sizeof(zero));
  if (zero != 0) return 7;
  Multiply(p, scale);
  return 0;
}

int handle_object = 0;

}  // namespace

extern "C" {

const char* cublasGetStatusString(int status) {
  return status == 0 ? "success" : "a fake's failure";
}
const char* cublasLtGetStatusString(int status) {
  return cublasGetStatusString(status);
}
int cublasCreate_v2(void** handle) {
  LogCall("cublasCreate");
  *handle = &handle_object;
  return 0;
}
int cublasSetStream_v2(void* handle, void* stream) {
  LogCall(stream != nullptr ? "cublasSetStream" : "cublasSetStream null");
  return handle == &handle_object ? 0 : 1;
}
int cublasSetWorkspace_v2(void*, void* memory, size_t bytes) {
  LogCall("cublasSetWorkspace " + std::to_string(bytes));
  return memory != nullptr ? 0 : 7;
}
int cublasSetMathMode(void*, int mode) {
  LogCall("cublasSetMathMode " + std::to_string(mode));
  return 0;
}
int cublasSgemm_v2(void*, int ta, int tb, int m, int n, int k, const float* alpha, const float* a,
                   int lda, const float* b, int ldb, const float* beta, float* c, int ldc) {
  LogCall("cublasSgemm");
  if (ta != 0 || tb != 0) return 7;
  return Gemm({m, n, k, a, lda, b, ldb, c, ldc}, alpha, beta);
}
int cublasSgemmStridedBatched(void*, int ta, int tb, int m, int n, int k, const float* alpha,
                              const float* a, int lda, long long stride_a, const float* b, int ldb,
                              long long stride_b, const float* beta, float* c, int ldc,
                              long long stride_c, int batch) {
  LogCall("cublasSgemmStridedBatched");
  if (tb != 0) return 7;
  for (int i = 0; i < batch; ++i) {
    int result = Gemm({m, n, k, a + i * stride_a, lda, b + i * stride_b, ldb, c + i * stride_c, ldc,
                       ta == tcc::cublas::kTranspose},
                      alpha, beta);
    if (result != 0) return result;
  }
  return 0;
}
int cublasGemmEx(void*, int ta, int tb, int m, int n, int k, const void* alpha, const void* a,
                 int type_a, int lda, const void* b, int type_b, int ldb, const void* beta, void* c,
                 int type_c, int ldc, int compute, int) {
  LogCall("cublasGemmEx compute " + std::to_string(compute));
  if (ta != 0 || tb != 0 || type_a != 0 || type_b != 0 || type_c != 0) return 7;
  return Gemm({m, n, k, static_cast<const float*>(a), lda, static_cast<const float*>(b), ldb,
               static_cast<float*>(c), ldc},
              alpha, beta);
}

int cublasLtCreate(void** handle) {
  LogCall("cublasLtCreate");
  *handle = &handle_object;
  return 0;
}
int cublasLtMatmulDescCreate(void** desc, int compute, int scale) {
  LogCall("cublasLtMatmulDescCreate compute " + std::to_string(compute));
  *desc = &handle_object;
  return scale == 0 ? 0 : 7;
}
int cublasLtMatrixLayoutCreate(void** made, int type, uint64_t rows, uint64_t columns, int64_t ld) {
  LogCall("cublasLtMatrixLayoutCreate");
  *made = new Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), ld};
  return 0;
}
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, size_t bytes) {
  LogCall("cublasLtMatrixLayoutSetAttribute");
  auto& set = *static_cast<Layout*>(layout);
  if (attribute == kLayoutBatchCount && bytes == sizeof(set.batch)) {
    std::memcpy(&set.batch, value, bytes);
    return 0;
  }
  if (attribute != kLayoutBatchStride || bytes != sizeof(set.stride)) return 7;
  std::memcpy(&set.stride, value, bytes);
  return 0;
}
int cublasLtMatmulPreferenceCreate(void** preference) {
  LogCall("cublasLtMatmulPreferenceCreate");
  *preference = &handle_object;
  return 0;
}
int cublasLtMatmulPreferenceSetAttribute(void*, int attribute, const void*, size_t bytes) {
  LogCall("cublasLtMatmulPreferenceSetAttribute");
  return attribute == kPreferenceWorkspace && bytes == 8 ? 0 : 7;
}
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int requested,
                                   HeuristicResult* results, int* returned) {
  LogCall("cublasLtMatmulAlgoGetHeuristic " + std::to_string(requested));
  for (int i = 0; i < 3; ++i) {
    results[i] = {};
    results[i].algorithm.data[0] = 10 + static_cast<uint64_t>(i);
    results[i].state = i == 1 ? 15 : 0;
  }
  *returned = 3;
  return 0;
}
int cublasLtMatmulAlgoConfigGetAttribute(const Algorithm* algorithm, int attribute, void* value,
                                         size_t bytes, size_t* written) {
  int number = attribute == kConfigId ? static_cast<int>(algorithm->data[0]) : attribute;
  if (bytes != sizeof(number)) return 7;
  std::memcpy(value, &number, bytes);
  *written = bytes;
  return 0;
}
int cublasLtMatmul(void*, void*, const void* alpha, const void* a, void* a_layout, const void* b,
                   void* b_layout, const void* beta, const void*, void*, void* d, void* d_layout,
                   const Algorithm* algorithm, void* workspace, size_t, void*) {
  uint64_t id = algorithm->data[0];
  LogCall("cublasLtMatmul algorithm " + std::to_string(id));
  const auto& left = *static_cast<Layout*>(a_layout);
  const auto& right = *static_cast<Layout*>(b_layout);
  const auto& result = *static_cast<Layout*>(d_layout);
  if (workspace == nullptr || left.columns != right.rows || id == 11) return 7;
  auto* c = static_cast<float*>(d);
  for (int i = 0; i < result.batch; ++i) {
    int failed = Gemm(
        {result.rows, result.columns, left.columns, static_cast<const float*>(a) + i * left.stride,
         left.ld, static_cast<const float*>(b) + i * right.stride, right.ld, c + i * result.stride,
         result.ld},
        alpha, beta);
    if (failed != 0) return failed;
  }
  if (id == 12) c[0] += 1;
  return 0;
}

}  // extern "C"
