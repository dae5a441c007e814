#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "codegen_cuda/nvrtc/nvrtc.h"
#include "codegen_cuda/nvrtc/program_cache.h"
#include "support/sha256.h"
#include "support/target.h"

namespace tcc {

// Which kernels are compiled together, given the length of each one's text without the prelude and
// the names of its launches: small ones share a program, since a program costs more than they do.
// Indices in order; those of a program have no name in common.
struct KernelTextInfo {
  size_t bytes = 0;
  std::vector<std::string> symbols;
};
std::vector<std::vector<size_t>> GroupKernels(const std::vector<KernelTextInfo>& kernels);

// Compiles texts for one target, each only once in its life; ProgramCache keeps them beyond that.
// May be used by many threads at once.
class CudaPrograms {
 public:
  CudaPrograms(const Target& target, const std::string& cache_folder)
      : sm_(target.sm), cache_(cache_folder) {}

  // Opens NVRTC at the first call. Where there is none, or none for the target, what another one
  // has left in the cache will do. Errors are Nvrtc's.
  StatusOr<std::shared_ptr<const Cubin>> Compile(const std::string& text);
  StatusOr<std::string> CompileToPtx(const std::string& text);

 private:
  StatusOr<const Nvrtc*> Library();
  StatusOr<Cubin> FindOrCompile(const std::string& text);
  std::optional<Cubin> FindOfAnyCompiler(const std::string& text) const;

  int sm_;
  ProgramCache cache_;
  std::mutex mutex_;
  std::optional<StatusOr<Nvrtc>> nvrtc_;  // once it was asked for
  std::vector<std::string> compilers_;    // that have filled the cache; then as well
  std::map<Sha256Digest, std::shared_ptr<const Cubin>> known_;  // by text
};

}  // namespace tcc
