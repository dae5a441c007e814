#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen_cuda/nvrtc/nvrtc.h"

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

}  // namespace tcc
