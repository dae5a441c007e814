#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen_cuda/nvrtc/nvrtc.h"

namespace tcc {

// What NVRTC made of a text, kept in files: one a program, named by the hash of its text and of
// Nvrtc::Settings. Files appear whole or not at all; one that does not verify is not found. Nothing
// is ever removed: the folder may be deleted at any time. May be used by many threads and processes
// at once. The folder knows the identities of its compilers, so that what lies there can be found
// where none of them is.
class ProgramCache {
 public:
  // Files lie in `folder`/nvrtc, which is made when first written to. "": nothing is kept.
  explicit ProgramCache(const std::string& folder);

  // What `text` was made into with those Nvrtc::Settings.
  std::optional<Cubin> Find(const std::string& settings, const std::string& text) const;
  // Keeps it under `text` and its settings. A folder that cannot be written to is no error: nothing
  // is found next time.
  void Put(const std::string& text, const Cubin& cubin) const;

  // Remembers that the compiler with this identity has filled the folder; the same holds of errors.
  void AddCompiler(const std::string& identity) const;
  // Those that have been added, in the order of the alphabet.
  std::vector<std::string> Compilers() const;

 private:
  std::string PathOf(const std::string& settings, const std::string& text) const;

  std::string folder_;
};

}  // namespace tcc
