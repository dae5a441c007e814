#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen_cuda/nvrtc.h"
#include "ir/support/sha256.h"

namespace tcc {

// What NVRTC made of a text, kept in files: one a program, named by the hash of its text and of
// Nvrtc::Settings. Files appear whole or not at all; one that does not verify is not found. Nothing
// is ever removed: the folder may be deleted at any time. May be used by many threads and processes
// at once.
class ProgramCache {
 public:
  // Files lie in `folder`/nvrtc, which is made at the first Put. "": nothing is kept.
  explicit ProgramCache(const std::string& folder);

  static Sha256Digest KeyOf(const std::string& settings, const std::string& text);

  std::optional<Cubin> Find(const Sha256Digest& key) const;
  // A folder that cannot be written to is no error: nothing is found next time.
  void Put(const Sha256Digest& key, const Cubin& cubin) const;

 private:
  std::string PathOf(const Sha256Digest& key) const;

  std::string folder_;
};

}  // namespace tcc
