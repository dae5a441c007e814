// cuBLAS: matrix products, strictly by SGEMM, in every mode by GemmEx. Ours are row by row, its are
// column by column: it is asked for the transposed product of the swapped operands, which is the
// same.

#include <optional>

#include "bench/gpu/cublas_session.h"
#include "bench/gpu/gpu_peers.h"

namespace tcc {
namespace {

using cublas::Arithmetic;
using cublas::Session;

constexpr float kOne = 1, kZero = 0;

Status Sgemm(const Session& session, const MatmulOp& op, const GpuOperands& operands) {
  int m = static_cast<int>(op.columns), n = static_cast<int>(op.rows);
  int k = static_cast<int>(op.depth);
  const auto* a = reinterpret_cast<const float*>(operands.inputs[0]);
  auto* c = reinterpret_cast<float*>(operands.outputs[0]);
  if (op.batch == 1) {
    const auto* b = reinterpret_cast<const float*>(operands.constants[0]);
    int result =
        session.library().sgemm(session.handle(), cublas::kNoTranspose, cublas::kNoTranspose, m, n,
                                k, &kOne, b, m, a, k, &kZero, c, m);
    return session.Expect(result, "cublasSgemm");
  }
  const auto* b = reinterpret_cast<const float*>(operands.inputs[1]);
  int result = session.library().sgemm_strided_batched(
      session.handle(), cublas::kNoTranspose, cublas::kNoTranspose, m, n, k, &kOne, b, m,
      op.depth * op.columns, a, k, op.rows * op.depth, &kZero, c, m, op.rows * op.columns,
      static_cast<int>(op.batch));
  return session.Expect(result, "cublasSgemmStridedBatched");
}

Status GemmEx(const Session& session, const MatmulOp& op, const Arithmetic& how,
              const GpuOperands& operands) {
  int m = static_cast<int>(op.columns), n = static_cast<int>(op.rows);
  int k = static_cast<int>(op.depth);
  if (op.batch == 1) {
    int result = session.library().gemm_ex(
        session.handle(), cublas::kNoTranspose, cublas::kNoTranspose, m, n, k, &kOne,
        operands.constants[0], how.type, m, operands.inputs[0], how.type, k, &kZero,
        operands.outputs[0], cublas::kFloat, m, how.compute, cublas::kGemmDefault);
    return session.Expect(result, "cublasGemmEx");
  }
  int result = session.library().gemm_strided_batched_ex(
      session.handle(), cublas::kNoTranspose, cublas::kNoTranspose, m, n, k, &kOne,
      operands.inputs[1], how.type, m, op.depth * op.columns, operands.inputs[0], how.type, k,
      op.rows * op.depth, &kZero, operands.outputs[0], cublas::kFloat, m, op.rows * op.columns,
      static_cast<int>(op.batch), how.compute, cublas::kGemmDefault);
  return session.Expect(result, "cublasGemmStridedBatchedEx");
}

}  // namespace

StatusOr<std::vector<GpuCandidate>> CublasCandidates(const BenchOperator& op, NumericMode numeric,
                                                     const GpuBench& bench) {
  std::vector<GpuCandidate> candidates;
  const auto* matmul = std::get_if<MatmulOp>(&op.kind);
  if (matmul == nullptr) return candidates;
  TCC_ASSIGN_OR_RETURN(const Session* session, cublas::SharedSession(bench));
  bool one = matmul->batch == 1;
  for (const Arithmetic& how : cublas::ArithmeticsOf(numeric)) {
    if (how.IsStrict()) {
      candidates.push_back({.algorithm = one ? "SGEMM" : "SgemmStridedBatched",
                            .numeric = how.name,
                            .enqueue = [session, matmul = *matmul](const GpuOperands& operands) {
                              return Sgemm(*session, matmul, operands);
                            }});
      if (!one) continue;
    }
    candidates.push_back({.algorithm = one ? "GemmEx" : "GemmStridedBatchedEx",
                          .numeric = how.name,
                          .stored = how.stored,
                          .enqueue = [session, matmul = *matmul, how](const GpuOperands& operands) {
                            return GemmEx(*session, matmul, how, operands);
                          }});
  }
  return candidates;
}

}  // namespace tcc
