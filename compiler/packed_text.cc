#include "compiler/packed_text.h"

#include <zstd.h>

#include <memory>

#include "support/check.h"

namespace tcc {
namespace {

// The highest level whose time does not show beside that of a compilation.
constexpr int kLevel = 9;
// The bytes that are unpacked at a time.
constexpr size_t kPiece = size_t{1} << 20;

}  // namespace

std::vector<uint8_t> PackText(std::string_view text) {
  std::vector<uint8_t> packed(ZSTD_compressBound(text.size()));
  size_t bytes = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), kLevel);
  TCC_CHECK(ZSTD_isError(bytes) == 0) << ZSTD_getErrorName(bytes);
  packed.resize(bytes);
  return packed;
}

StatusOr<std::string> UnpackText(std::span<const uint8_t> packed, const std::string& what,
                                 size_t most_bytes) {
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  std::string text;
  std::vector<char> piece(kPiece);
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  size_t left = 1;  // 0 at the end of a frame
  while (in.pos < in.size || left != 0) {
    ZSTD_outBuffer out{piece.data(), piece.size(), 0};
    size_t before = in.pos;
    left = ZSTD_decompressStream(context.get(), &out, &in);
    bool stuck = in.pos == before && out.pos == 0;
    if (ZSTD_isError(left) || (stuck && left != 0)) {
      return InvalidInput("{}: expected a whole zstd file; it is damaged or cut off", what);
    }
    if (out.pos > most_bytes - text.size()) {
      return InvalidInput("{}: expected at most {} bytes of text", what, most_bytes);
    }
    text.append(piece.begin(), piece.begin() + static_cast<ptrdiff_t>(out.pos));
  }
  return text;
}

}  // namespace tcc
