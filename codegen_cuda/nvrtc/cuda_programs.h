#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "codegen_cuda/nvrtc/nvrtc.h"
#include "support/sha256.h"
#include "support/target.h"

namespace tcc {

// A cache of NVRTC's results in files: one per program, named by the hash of its text and of
// Nvrtc::Settings. Files appear whole or not at all, and a file that does not verify is not found.
// Nothing is ever removed; the folder may be deleted at any time. Many threads and processes may
// use it at once. The folder records the identities of its compilers, so that a machine without any
// of them can still find their results.
class ProgramCache {
 public:
  // Files lie in `folder`/nvrtc, which the first write creates. "" keeps nothing.
  explicit ProgramCache(const std::string& folder);

  // Returns the result of compiling `text` with these Nvrtc::Settings.
  std::optional<Cubin> Find(const std::string& settings, const std::string& text) const;
  // Keeps a result under `text` and its settings. A folder that cannot be written to is no error:
  // nothing is found next time.
  void Put(const std::string& text, const Cubin& cubin) const;

  // Records that the compiler with this identity has filled the folder; the same holds for errors.
  void AddCompiler(const std::string& identity) const;
  // Returns the identities that have been added, in alphabetical order.
  std::vector<std::string> Compilers() const;

 private:
  std::string PathOf(const std::string& settings, const std::string& text) const;

  std::string folder_;
};

// A kernel's text: its length without the prelude, and the names of its launches.
struct KernelTextInfo {
  size_t bytes = 0;
  std::vector<std::string> symbols;
};
// Groups the kernels that are compiled together, and returns their indices in order. Small kernels
// share a program, since a program costs more than they do. The kernels of a program have no name
// in common.
std::vector<std::vector<size_t>> GroupKernels(const std::vector<KernelTextInfo>& kernels);

struct CudaProgramsOptions {
  std::string cache_folder = {};  // of the ProgramCache
  bool keep = true;               // false: results are neither kept here nor added to the cache
};

// A compiler of texts for one target. It compiles each text at most once in its lifetime;
// ProgramCache keeps the results beyond that. Thread-safe.
class CudaPrograms {
 public:
  CudaPrograms(const Target& target, const CudaProgramsOptions& options)
      : sm_(target.sm), keep_(options.keep), cache_(options.cache_folder) {}

  // Compiles a text; the first call opens NVRTC. If there is no NVRTC, or none for the target, a
  // result that another NVRTC left in the cache is taken. Errors are those of Nvrtc.
  StatusOr<std::shared_ptr<const Cubin>> Compile(const std::string& text);
  StatusOr<std::string> CompileToPtx(const std::string& text);

 private:
  StatusOr<const Nvrtc*> Library();
  StatusOr<Cubin> FindOrCompile(const std::string& text);
  std::optional<Cubin> FindOfAnyCompiler(const std::string& text) const;

  int sm_;
  bool keep_;
  ProgramCache cache_;
  std::mutex mutex_;
  std::optional<StatusOr<Nvrtc>> nvrtc_;  // set at the first use
  std::vector<std::string> compilers_;    // those that have filled the cache; set at the same time
  std::map<Sha256Digest, std::shared_ptr<const Cubin>> known_;  // by text
};

}  // namespace tcc
