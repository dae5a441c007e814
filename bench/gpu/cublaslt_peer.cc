// cuBLASLt: matrix products by every algorithm that its heuristic names for a numeric mode.

#include "bench/gpu/cublas_library.h"
#include "bench/gpu/gpu_peers.h"

namespace tcc {
namespace {

using namespace cublaslt;

constexpr int64_t kWorkspaceBytes = int64_t{256} << 20;
// The number of algorithms to request, more than cuBLASLt ever returned.
constexpr int kRequested = 64;
constexpr float kOne = 1, kZero = 0;

// A session, which stays open until the process ends.
struct Session {
  Library library;
  void* handle = nullptr;
  void* preference = nullptr;
  uint8_t* workspace = nullptr;
  CudaStreamHandle stream = nullptr;

  Status Expect(int result, const char* call) const {
    if (result == 0) return OkStatus();
    return absl::InternalError(fmt::format("{} fails with {}", call, library.status_text(result)));
  }
};

StatusOr<Session> OpenSession(const GpuBench& bench) {
  Session session;
  TCC_ASSIGN_OR_RETURN(session.library, OpenLibrary());
  const Library& library = session.library;
  TCC_RETURN_IF_ERROR(session.Expect(library.create(&session.handle), "cublasLtCreate"));
  TCC_RETURN_IF_ERROR(session.Expect(library.preference_create(&session.preference),
                                     "cublasLtMatmulPreferenceCreate"));
  auto bytes = static_cast<uint64_t>(kWorkspaceBytes);
  TCC_RETURN_IF_ERROR(session.Expect(
      library.preference_set(session.preference, kPreferenceWorkspace, &bytes, sizeof(bytes)),
      "cublasLtMatmulPreferenceSetAttribute"));
  TCC_ASSIGN_OR_RETURN(CudaMemory workspace,
                       bench.Allocate(kWorkspaceBytes, "cuBLASLt's workspace"));
  session.workspace = (new CudaMemory(std::move(workspace)))->data();
  session.stream = bench.stream();
  return session;
}

// Makes the layout of column-major matrices, `batch` of them.
StatusOr<void*> LayoutOf(const Session& session, int type, int64_t rows, int64_t columns,
                         int64_t batch) {
  void* layout = nullptr;
  TCC_RETURN_IF_ERROR(
      session.Expect(session.library.layout_create(&layout, type, static_cast<uint64_t>(rows),
                                                   static_cast<uint64_t>(columns), rows),
                     "cublasLtMatrixLayoutCreate"));
  if (batch == 1) return layout;
  auto count = static_cast<int32_t>(batch);
  int64_t stride = rows * columns;
  TCC_RETURN_IF_ERROR(
      session.Expect(session.library.layout_set(layout, kLayoutBatchCount, &count, sizeof(count)),
                     "cublasLtMatrixLayoutSetAttribute"));
  TCC_RETURN_IF_ERROR(session.Expect(
      session.library.layout_set(layout, kLayoutBatchStride, &stride, sizeof(stride)),
      "cublasLtMatrixLayoutSetAttribute"));
  return layout;
}

int ConfigOf(const Session& session, const Algorithm& algorithm, int attribute) {
  int value = -1;
  size_t written = 0;
  int result = session.library.config_get(&algorithm, attribute, &value, sizeof(value), &written);
  return result == 0 ? value : -1;
}

std::string NameOf(const Session& session, const Algorithm& algorithm) {
  return fmt::format(
      "algorithm {}, tile {}, stages {}, split-K {}", ConfigOf(session, algorithm, kConfigId),
      ConfigOf(session, algorithm, kConfigTile), ConfigOf(session, algorithm, kConfigStages),
      ConfigOf(session, algorithm, kConfigSplitK));
}

// The descriptors of a product, which stay until the process ends, too.
struct Problem {
  void* desc = nullptr;
  void* left = nullptr;   // the transposed right operand
  void* right = nullptr;  // the transposed left one
  void* result = nullptr;
};

StatusOr<Problem> ProblemOf(const Session& session, const MatmulOp& op,
                            const cublas::Arithmetic& how) {
  Problem problem;
  TCC_RETURN_IF_ERROR(
      session.Expect(session.library.desc_create(&problem.desc, how.compute, cublas::kFloat),
                     "cublasLtMatmulDescCreate"));
  TCC_ASSIGN_OR_RETURN(problem.left, LayoutOf(session, how.type, op.columns, op.depth, op.batch));
  TCC_ASSIGN_OR_RETURN(problem.right, LayoutOf(session, how.type, op.depth, op.rows, op.batch));
  TCC_ASSIGN_OR_RETURN(problem.result,
                       LayoutOf(session, cublas::kFloat, op.columns, op.rows, op.batch));
  return problem;
}

StatusOr<std::vector<HeuristicResult>> HeuristicsOf(const Session& session,
                                                    const Problem& problem) {
  std::vector<HeuristicResult> results(kRequested);
  int returned = 0;
  TCC_RETURN_IF_ERROR(session.Expect(
      session.library.heuristic(session.handle, problem.desc, problem.left, problem.right,
                                problem.result, problem.result, session.preference, kRequested,
                                results.data(), &returned),
      "cublasLtMatmulAlgoGetHeuristic"));
  results.resize(static_cast<size_t>(returned));
  return results;
}

Status Run(const Session& session, const Problem& problem, const HeuristicResult& found,
           bool constant, const GpuOperands& operands) {
  const uint8_t* b = constant ? operands.constants[0] : operands.inputs[1];
  return session.Expect(
      session.library.matmul(session.handle, problem.desc, &kOne, b, problem.left,
                             operands.inputs[0], problem.right, &kZero, operands.outputs[0],
                             problem.result, operands.outputs[0], problem.result, &found.algorithm,
                             session.workspace, kWorkspaceBytes, session.stream),
      "cublasLtMatmul");
}

}  // namespace

// Returns every algorithm of the heuristic. A compute type that the library or the device does not
// have is left out if another one works.
StatusOr<std::vector<GpuCandidate>> CublasLtCandidates(const BenchOperator& op, NumericMode numeric,
                                                       const GpuBench& bench) {
  std::vector<GpuCandidate> candidates;
  const auto* matmul = std::get_if<MatmulOp>(&op.kind);
  if (matmul == nullptr) return candidates;
  static const StatusOr<Session> session = OpenSession(bench);
  TCC_RETURN_IF_ERROR(session.status());
  Status failed;
  for (const cublas::Arithmetic& how : cublas::ArithmeticsOf(numeric)) {
    TCC_ASSIGN_OR_RETURN(Problem problem, ProblemOf(*session, *matmul, how));
    StatusOr<std::vector<HeuristicResult>> results = HeuristicsOf(*session, problem);
    if (!results.ok()) {
      failed = Annotate(results.status(), how.name);
      continue;
    }
    for (const HeuristicResult& found : *results) {
      if (found.state != 0) continue;
      candidates.push_back(
          {.algorithm = NameOf(*session, found.algorithm),
           .numeric = how.name,
           .stored = how.stored,
           .enqueue = [problem, found, constant = matmul->batch == 1](const GpuOperands& operands) {
             return Run(*session, problem, found, constant, operands);
           }});
    }
  }
  if (candidates.empty()) return failed;
  return candidates;
}

}  // namespace tcc
