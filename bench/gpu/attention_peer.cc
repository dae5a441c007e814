// Attention as a network has it that calls a library for each operator: two products of cuBLAS's
// and a softmax of cuDNN's between them, on float32. Strictly so cuDNN has no fused one.

#include <cmath>
#include <memory>

#include "bench/gpu/cublas_session.h"
#include "bench/gpu/cudnn_functions.h"
#include "bench/gpu/gpu_peers.h"

namespace tcc {
namespace {

// One head's matrix after the other, row by row.
struct Matrices {
  const float* data;
  int64_t rows, columns;
  int transpose = cublas::kNoTranspose;
};

// c = scale * a * b for every head. Its matrices are column by column: it is asked for c' = b' a'.
Status Multiply(const cublas::Session& session, const AttentionOp& op, int compute, float scale,
                Matrices a, Matrices b, float* c) {
  constexpr float kNothing = 0;
  int64_t columns = b.transpose == cublas::kTranspose ? b.rows : b.columns;
  if (compute != cublas::kCompute32F) {
    int result = session.library().gemm_strided_batched_ex(
        session.handle(), b.transpose, a.transpose, static_cast<int>(columns),
        static_cast<int>(a.rows), static_cast<int>(a.columns), &scale, b.data, cublas::kFloat,
        static_cast<int>(b.columns), b.rows * b.columns, a.data, cublas::kFloat,
        static_cast<int>(a.columns), a.rows * a.columns, &kNothing, c, cublas::kFloat,
        static_cast<int>(columns), a.rows * columns, static_cast<int>(op.batch * op.heads), compute,
        cublas::kGemmDefault);
    return session.Expect(result, "cublasGemmStridedBatchedEx");
  }
  int result = session.library().sgemm_strided_batched(
      session.handle(), b.transpose, a.transpose, static_cast<int>(columns),
      static_cast<int>(a.rows), static_cast<int>(a.columns), &scale, b.data,
      static_cast<int>(b.columns), b.rows * b.columns, a.data, static_cast<int>(a.columns),
      a.rows * a.columns, &kNothing, c, static_cast<int>(columns), a.rows * columns,
      static_cast<int>(op.batch * op.heads));
  return session.Expect(result, "cublasSgemmStridedBatched");
}

Status Attend(const cublas::Session& session, const AttentionOp& op, int compute,
              const GpuCandidate& softmax, uint8_t* scores, const GpuOperands& operands) {
  auto matrices = [&](size_t input) {
    return Matrices{reinterpret_cast<const float*>(operands.inputs[input]), op.tokens, op.depth};
  };
  Matrices q = matrices(0), k = matrices(1), v = matrices(2);
  k.transpose = cublas::kTranspose;
  auto* of_tokens = reinterpret_cast<float*>(scores);
  float scale = 1 / std::sqrt(static_cast<float>(op.depth));
  TCC_RETURN_IF_ERROR(Multiply(session, op, compute, scale, q, k, of_tokens));
  TCC_RETURN_IF_ERROR(softmax.enqueue({.inputs = {scores}, .constants = {}, .outputs = {scores}}));
  return Multiply(session, op, compute, 1, {of_tokens, op.tokens, op.tokens}, v,
                  reinterpret_cast<float*>(operands.outputs[0]));
}

}  // namespace

StatusOr<std::vector<GpuCandidate>> AttentionCandidates(const BenchOperator& op,
                                                        NumericMode numeric,
                                                        const GpuBench& bench) {
  const auto* attention = std::get_if<AttentionOp>(&op.kind);
  if (attention == nullptr) return std::vector<GpuCandidate>();
  TCC_ASSIGN_OR_RETURN(const cublas::Session* products, cublas::SharedSession(bench));
  TCC_ASSIGN_OR_RETURN(const cudnn::Session* rows, cudnn::SharedSession(bench.stream()));
  int64_t count = attention->batch * attention->heads * attention->tokens;
  TCC_ASSIGN_OR_RETURN(std::vector<GpuCandidate> softmaxes,
                       cudnn::SoftmaxCandidates(*rows, {count, attention->tokens}));
  TCC_ASSIGN_OR_RETURN(CudaMemory memory, bench.Allocate(count * attention->tokens *
                                                             static_cast<int64_t>(sizeof(float)),
                                                         "attention's scores"));
  auto scores = std::make_shared<CudaMemory>(std::move(memory));
  std::vector<GpuCandidate> candidates;
  for (const cublas::Arithmetic& how : cublas::ArithmeticsOf(numeric)) {
    if (how.stored != kFloat32) continue;  // the softmax between the products is of float32
    for (const GpuCandidate& softmax : softmaxes) {
      candidates.push_back(
          {.algorithm = fmt::format("{} twice, {}",
                                    how.IsStrict() ? "SgemmStridedBatched" : "GemmStridedBatchedEx",
                                    softmax.algorithm),
           .numeric = how.name,
           .enqueue = [products, op = *attention, compute = how.compute, softmax,
                       scores](const GpuOperands& operands) {
             return Attend(*products, op, compute, softmax, scores->data(), operands);
           }});
    }
  }
  return candidates;
}

}  // namespace tcc
