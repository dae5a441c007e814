#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/status.h"

// ZIP archives as far as NumPy's .npz files are such: members stored or deflated, below 4 GiB.
namespace tcc {

struct ZipMember {
  std::string name;
  std::vector<uint8_t> bytes;
};

// Reads the members in the archive's order. InvalidArgument, naming the member: it is damaged,
// encrypted, compressed otherwise, larger than 4 GiB (zip64), or there twice. No member becomes
// larger than it says, nor all of them larger than deflate can make of a file of this size.
StatusOr<std::vector<ZipMember>> ReadZip(std::span<const uint8_t> file);

// Returns an archive of stored members. Error (Unimplemented): 4 GiB or more.
StatusOr<std::vector<uint8_t>> ZipBytes(std::span<const ZipMember> members);

}  // namespace tcc
