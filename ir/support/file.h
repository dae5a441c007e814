#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/support/status.h"

namespace tcc {

// Bytes that nobody changes, kept alive by `owner`: a mapped file or memory.
struct SharedBytes {
  std::shared_ptr<const void> owner;
  std::span<const uint8_t> bytes;
};

// Takes the vector over.
SharedBytes OwnBytes(std::vector<uint8_t> bytes);

// The regular file at `path`, mapped read-only at a page boundary. The file must not be truncated
// while the bytes live. Fails with the path and the system's reason.
StatusOr<SharedBytes> MapFile(const std::string& path);
// As MapFile, of a file that is open already; `name` is for messages. The caller closes it.
StatusOr<SharedBytes> MapDescriptor(int fd, const std::string& name);

// Writes the pieces one after another to a temporary file beside `path` and renames it, so that
// `path` holds either what it held before or the whole new content.
Status WriteFileAtomically(const std::string& path,
                           std::span<const std::span<const uint8_t>> pieces);

}  // namespace tcc
