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

// c = scale * a * b, column by column. Operands are of `type`, and rounded as `compute` allows.
struct Product {
  int64_t m, n, k;
  const void* a;
  int64_t lda;
  const void* b;
  int64_t ldb;
  float* c;
  int64_t ldc;
  bool a_is_transposed = false;
  int type = tcc::cublas::kFloat;
  int compute = tcc::cublas::kCompute32F;
};

float RoundedTo10Bits(float x) {
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof(bits));
  bits = (bits + 0x1000U) & ~0x1fffU;
  std::memcpy(&x, &bits, sizeof(bits));
  return x;
}

// Element i of an operand, as it is multiplied.
float ElementOf(const Product& p, const void* data, int64_t i) {
  const auto* words = static_cast<const uint16_t*>(data);
  if (p.type == tcc::cublas::kHalf) return tcc::HalfToFloat(words[i]);
  if (p.type == tcc::cublas::kBfloat16) return tcc::BFloat16ToFloat(words[i]);
  float x = static_cast<const float*>(data)[i];
  if (p.compute == tcc::cublas::kFastTf32) return RoundedTo10Bits(x);
  if (p.compute == tcc::cublas::kFast16F) return tcc::HalfToFloat(tcc::FloatToHalf(x));
  if (p.compute == tcc::cublas::kFast16BF) return tcc::BFloat16ToFloat(tcc::FloatToBFloat16(x));
  return x;
}

int64_t BytesOf(int type) {
  return type == tcc::cublas::kFloat ? 4 : 2;
}
const void* Advanced(const void* data, int type, int64_t elements) {
  return static_cast<const uint8_t*>(data) + elements * BytesOf(type);
}

void Multiply(const Product& p, float scale) {
  int64_t row = p.a_is_transposed ? p.lda : 1, column = p.a_is_transposed ? 1 : p.lda;
  for (int64_t j = 0; j < p.n; ++j) {
    for (int64_t i = 0; i < p.m; ++i) {
      double sum = 0;
      for (int64_t l = 0; l < p.k; ++l)
        sum += double{ElementOf(p, p.a, i * row + l * column)} * ElementOf(p, p.b, j * p.ldb + l);
      p.c[j * p.ldc + i] = static_cast<float>(scale * sum);
    }
  }
}

// With beta 0, which is what the peers want. Operands of 16 bits are not rounded again.
int Gemm(const Product& p, const void* alpha, const void* beta) {
  bool narrow = p.type == tcc::cublas::kHalf || p.type == tcc::cublas::kBfloat16;
  if (narrow && p.compute != tcc::cublas::kCompute32F) return 15;
  if (!narrow && p.type != tcc::cublas::kFloat) return 15;
  // As on devices before Blackwell.
  if (p.compute == tcc::cublas::kEmulated16BFx9) return 15;
  float scale = 0, zero = 1;
  std::memcpy(&scale, alpha, sizeof(scale));
  std::memcpy(&zero, beta, sizeof(zero));
  if (zero != 0) return 7;
  Multiply(p, scale);
  return 0;
}

// " half"; nothing of float32.
std::string TypeText(int type) {
  if (type == tcc::cublas::kHalf) return " half";
  return type == tcc::cublas::kBfloat16 ? " bfloat16" : "";
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
  LogCall("cublasGemmEx compute " + std::to_string(compute) + TypeText(type_a));
  if (ta != 0 || tb != 0 || type_a != type_b || type_c != 0) return 7;
  return Gemm({m, n, k, a, lda, b, ldb, static_cast<float*>(c), ldc, false, type_a, compute}, alpha,
              beta);
}
int cublasGemmStridedBatchedEx(void*, int ta, int tb, int m, int n, int k, const void* alpha,
                               const void* a, int type_a, int lda, long long stride_a,
                               const void* b, int type_b, int ldb, long long stride_b,
                               const void* beta, void* c, int type_c, int ldc, long long stride_c,
                               int batch, int compute, int) {
  LogCall("cublasGemmStridedBatchedEx compute " + std::to_string(compute) + TypeText(type_a));
  if (tb != 0 || type_a != type_b || type_c != 0) return 7;
  for (int i = 0; i < batch; ++i) {
    int result =
        Gemm({m, n, k, Advanced(a, type_a, i * stride_a), lda, Advanced(b, type_b, i * stride_b),
              ldb, static_cast<float*>(c) + i * stride_c, ldc, ta == tcc::cublas::kTranspose,
              type_a, compute},
             alpha, beta);
    if (result != 0) return result;
  }
  return 0;
}

int cublasLtCreate(void** handle) {
  LogCall("cublasLtCreate");
  *handle = &handle_object;
  return 0;
}
int cublasLtMatmulDescCreate(void** desc, int compute, int scale) {
  LogCall("cublasLtMatmulDescCreate compute " + std::to_string(compute));
  *desc = new int(compute);
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
int cublasLtMatmulAlgoGetHeuristic(void*, void* desc, void*, void*, void*, void*, void*,
                                   int requested, HeuristicResult* results, int* returned) {
  LogCall("cublasLtMatmulAlgoGetHeuristic " + std::to_string(requested));
  if (*static_cast<int*>(desc) == tcc::cublas::kEmulated16BFx9) return 15;
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
int cublasLtMatmul(void*, void* desc, const void* alpha, const void* a, void* a_layout,
                   const void* b, void* b_layout, const void* beta, const void*, void*, void* d,
                   void* d_layout, const Algorithm* algorithm, void* workspace, size_t, void*) {
  uint64_t id = algorithm->data[0];
  const auto& left = *static_cast<Layout*>(a_layout);
  const auto& right = *static_cast<Layout*>(b_layout);
  const auto& result = *static_cast<Layout*>(d_layout);
  LogCall("cublasLtMatmul algorithm " + std::to_string(id) + TypeText(left.type));
  if (workspace == nullptr || left.columns != right.rows || id == 11) return 7;
  if (left.type != right.type || result.type != tcc::cublas::kFloat) return 7;
  auto* c = static_cast<float*>(d);
  for (int i = 0; i < result.batch; ++i) {
    int failed =
        Gemm({result.rows, result.columns, left.columns, Advanced(a, left.type, i * left.stride),
              left.ld, Advanced(b, right.type, i * right.stride), right.ld, c + i * result.stride,
              result.ld, false, left.type, *static_cast<int*>(desc)},
             alpha, beta);
    if (failed != 0) return failed;
  }
  if (id == 12) c[0] += 1;
  return 0;
}

}  // extern "C"
