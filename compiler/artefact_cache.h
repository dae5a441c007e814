#pragma once

#include <cstdint>
#include <string>

#include "runtime/artefact/artefact.h"
#include "support/status.h"

namespace tcc {

// A folder of artefacts that were compiled on demand. Files appear whole or not at all, and the
// folder may be deleted at any time. Many threads and processes may use it at once.
class ArtefactCache {
 public:
  static constexpr int64_t kDefaultBytes = int64_t{8} << 30;

  // Files lie in `folder`/session, which the first Put creates. "" keeps nothing.
  explicit ArtefactCache(const std::string& folder, int64_t max_bytes = kDefaultBytes);
  // The folder of this user, and the limit of TCC_CACHE_BYTES.
  static ArtefactCache OfUser();

  // Returns the file of an artefact; "" where nothing is kept.
  std::string PathOf(const Sha256Digest& key) const;
  // Notes that a file was used just now.
  void Use(const std::string& path) const;
  // Writes an artefact, then removes the least recently used files beyond the limit, but not this
  // one. Error: the file cannot be written; OK where nothing is kept.
  Status Put(const Artefact& artefact, const Sha256Digest& key) const;

 private:
  void Trim(const std::string& keep) const;

  std::string folder_;
  int64_t max_bytes_;
};

}  // namespace tcc
