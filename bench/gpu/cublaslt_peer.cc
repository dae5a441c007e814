// cuBLASLt: matrix products, strict float32, by every algorithm that its heuristic names.

#include "bench/gpu/cublas_library.h"
#include "bench/gpu/gpu_peers.h"

namespace tcc {
namespace {

using namespace cublaslt;

constexpr int64_t kWorkspaceBytes = int64_t{256} << 20;
// More than it ever returned.
constexpr int kRequested = 64;
constexpr float kOne = 1, kZero = 0;

// What stays open until the process ends.
struct Session {
  Library library;
  void* handle = nullptr;
  void* desc = nullptr;
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
  TCC_RETURN_IF_ERROR(
      session.Expect(library.desc_create(&session.desc, cublas::kCompute32F, cublas::kFloat),
                     "cublasLtMatmulDescCreate"));
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

// Column by column; of each of `batch` matrices.
StatusOr<void*> LayoutOf(const Session& session, int64_t rows, int64_t columns, int64_t batch) {
  void* layout = nullptr;
  TCC_RETURN_IF_ERROR(session.Expect(
      session.library.layout_create(&layout, cublas::kFloat, static_cast<uint64_t>(rows),
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

struct Layouts {
  void* left = nullptr;   // the transposed right operand
  void* right = nullptr;  // the transposed left one
  void* result = nullptr;
};

Status Run(const Session& session, const Layouts& layouts, const HeuristicResult& found,
           bool constant, const GpuOperands& operands) {
  const uint8_t* b = constant ? operands.constants[0] : operands.inputs[1];
  return session.Expect(
      session.library.matmul(session.handle, session.desc, &kOne, b, layouts.left,
                             operands.inputs[0], layouts.right, &kZero, operands.outputs[0],
                             layouts.result, operands.outputs[0], layouts.result, &found.algorithm,
                             session.workspace, kWorkspaceBytes, session.stream),
      "cublasLtMatmul");
}

}  // namespace

StatusOr<std::vector<GpuCandidate>> CublasLtCandidates(const BenchOperator& op,
                                                       const GpuBench& bench) {
  std::vector<GpuCandidate> candidates;
  const auto* matmul = std::get_if<MatmulOp>(&op.kind);
  if (matmul == nullptr) return candidates;
  static const StatusOr<Session> session = OpenSession(bench);
  TCC_RETURN_IF_ERROR(session.status());
  Layouts layouts;
  TCC_ASSIGN_OR_RETURN(layouts.left,
                       LayoutOf(*session, matmul->columns, matmul->depth, matmul->batch));
  TCC_ASSIGN_OR_RETURN(layouts.right,
                       LayoutOf(*session, matmul->depth, matmul->rows, matmul->batch));
  TCC_ASSIGN_OR_RETURN(layouts.result,
                       LayoutOf(*session, matmul->columns, matmul->rows, matmul->batch));
  std::vector<HeuristicResult> results(kRequested);
  int returned = 0;
  TCC_RETURN_IF_ERROR(session->Expect(
      session->library.heuristic(session->handle, session->desc, layouts.left, layouts.right,
                                 layouts.result, layouts.result, session->preference, kRequested,
                                 results.data(), &returned),
      "cublasLtMatmulAlgoGetHeuristic"));
  results.resize(static_cast<size_t>(returned));
  for (const HeuristicResult& found : results) {
    if (found.state != 0) continue;
    candidates.push_back(
        {.algorithm = NameOf(*session, found.algorithm),
         .enqueue = [layouts, found, constant = matmul->batch == 1](const GpuOperands& operands) {
           return Run(*session, layouts, found, constant, operands);
         }});
  }
  return candidates;
}

}  // namespace tcc
