#include "bench/gpu/cublas_session.h"

namespace tcc::cublas {

// Hopper's kernels want 32 MiB.
constexpr int64_t kWorkspaceBytes = int64_t{64} << 20;

StatusOr<Session> Session::Open(const GpuBench& bench) {
  Session session;
  TCC_ASSIGN_OR_RETURN(session.library_, OpenLibrary());
  const Library& library = session.library_;
  TCC_RETURN_IF_ERROR(session.Expect(library.create(&session.handle_), "cublasCreate"));
  TCC_RETURN_IF_ERROR(
      session.Expect(library.set_stream(session.handle_, bench.stream()), "cublasSetStream"));
  // A capture would not allow it to allocate one. It lives as long as the process.
  TCC_ASSIGN_OR_RETURN(CudaMemory workspace, bench.Allocate(kWorkspaceBytes, "cuBLAS's workspace"));
  auto* kept = new CudaMemory(std::move(workspace));
  TCC_RETURN_IF_ERROR(session.Expect(
      library.set_workspace(session.handle_, kept->data(), kWorkspaceBytes), "cublasSetWorkspace"));
  TCC_RETURN_IF_ERROR(
      session.Expect(library.set_math_mode(session.handle_, kDefaultMath), "cublasSetMathMode"));
  return session;
}

Status Session::Expect(int result, const char* call) const {
  if (result == 0) return OkStatus();
  return absl::InternalError(fmt::format("{} fails with {}", call, library_.status_text(result)));
}

StatusOr<const Session*> SharedSession(const GpuBench& bench) {
  static const StatusOr<Session> session = Session::Open(bench);
  TCC_RETURN_IF_ERROR(session.status());
  return &*session;
}

}  // namespace tcc::cublas
