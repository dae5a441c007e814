#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/status.h"

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

// Writes the pieces one after another to a file without a name in the folder of `path` and names it
// once it is whole, so that `path` holds either what it held before or the whole new content, and a
// process that is killed leaves nothing behind. File systems that have no files without a name get
// one with a temporary name.
//
// A file that is replaced hands its permissions on. A symbolic link stays, and what it leads to is
// replaced. Of a hard link this name alone gets the new content.
Status WriteFileAtomically(const std::string& path,
                           std::span<const std::span<const uint8_t>> pieces);

// What WriteFileAtomically would refuse `path` for, as far as it shows without writing: a folder, a
// pipe or a device, a missing folder, permissions, a read-only file system.
Status CheckWritable(const std::string& path);

// Whether both exist and are one file, by whatever links.
bool IsSameFile(const std::string& a, const std::string& b);

}  // namespace tcc
