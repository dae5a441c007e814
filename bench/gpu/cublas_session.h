#pragma once

#include "bench/gpu/cublas_library.h"
#include "bench/gpu/gpu_bench.h"

namespace tcc::cublas {

// A handle of cuBLAS's with a workspace, on a bench's stream. It computes strictly unless a
// function's compute type says otherwise. It stays open until the process ends, because the
// libraries do not like to be closed.
class Session {
 public:
  static StatusOr<Session> Open(const GpuBench& bench);

  const Library& library() const { return library_; }
  void* handle() const { return handle_; }
  // Turns an error into "cublasSgemm fails with ...".
  Status Expect(int result, const char* call) const;

 private:
  Library library_;
  void* handle_ = nullptr;
};

// Returns the session of the process, opened by the first caller.
StatusOr<const Session*> SharedSession(const GpuBench& bench);

}  // namespace tcc::cublas
