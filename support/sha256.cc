#include "support/sha256.h"

#include <fmt/ranges.h>
// The functions of a whole digest go through OpenSSL's providers, which are 4 MB of a program that
// is linked from archives.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace tcc {

Sha256Digest Sha256(std::span<const uint8_t> data) {
  Sha256Digest digest;
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, data.data(), data.size());
  SHA256_Final(digest.data(), &context);
  return digest;
}

Sha256Digest Sha256(std::string_view text) {
  return Sha256({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

std::string ToHex(const Sha256Digest& digest) {
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace tcc
