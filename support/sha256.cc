#include "support/sha256.h"

#include <fmt/ranges.h>
#include <openssl/sha.h>

namespace tcc {

Sha256Digest Sha256(std::span<const uint8_t> data) {
  Sha256Digest digest;
  SHA256(data.data(), data.size(), digest.data());
  return digest;
}

Sha256Digest Sha256(std::string_view text) {
  return Sha256({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

std::string ToHex(const Sha256Digest& digest) {
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace tcc
