#include "cli/cost_model/compressed_text.h"

#include <lzma.h>
#include <zstd.h>

#include <memory>
#include <vector>

#include "support/file.h"

namespace tcc {
namespace {

constexpr size_t kPiece = size_t{1} << 20;
// The highest preset of xz takes 65 MiB to unpack.
constexpr uint64_t kMaxMemory = uint64_t{256} << 20;

StatusOr<std::string> UnpackXz(std::span<const uint8_t> packed, const std::string& path) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxMemory, LZMA_CONCATENATED) != LZMA_OK) {
    return absl::ResourceExhaustedError("no memory to unpack " + path);
  }
  std::string text;
  std::vector<uint8_t> piece(kPiece);
  stream.next_in = packed.data();
  stream.avail_in = packed.size();
  lzma_ret ret = LZMA_OK;
  while (ret == LZMA_OK) {
    stream.next_out = piece.data();
    stream.avail_out = piece.size();
    ret = lzma_code(&stream, LZMA_FINISH);
    text.append(piece.begin(), piece.end() - static_cast<ptrdiff_t>(stream.avail_out));
  }
  lzma_end(&stream);
  if (ret == LZMA_STREAM_END) return text;
  if (ret == LZMA_MEM_ERROR || ret == LZMA_MEMLIMIT_ERROR) {
    return InvalidInput("{}: expected an xz file that unpacks in {} MiB", path, kMaxMemory >> 20);
  }
  return InvalidInput("{}: expected a whole xz file; it is damaged or cut off", path);
}

StatusOr<std::string> UnpackZstd(std::span<const uint8_t> packed, const std::string& path) {
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
      return InvalidInput("{}: expected a whole zstd file; it is damaged or cut off", path);
    }
    text.append(piece.begin(), piece.begin() + static_cast<ptrdiff_t>(out.pos));
  }
  return text;
}

}  // namespace

StatusOr<std::string> ReadCompressedText(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  if (path.ends_with(".xz")) return UnpackXz(file.bytes, path);
  if (path.ends_with(".zst")) return UnpackZstd(file.bytes, path);
  return std::string(file.bytes.begin(), file.bytes.end());
}

}  // namespace tcc
