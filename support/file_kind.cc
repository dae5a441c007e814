#include "support/file_kind.h"

#include <absl/strings/ascii.h>
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace tcc {
namespace {

struct Magic {
  size_t offset;
  std::string_view bytes;
  std::string_view kind;
};

constexpr Magic kMagics[] = {
    {0, kArtefactMagic, "a compiled model of tcc"},
    {0, "\x1f\x8b", "a gzip archive; unpack it"},
    {0, "PK\x03\x04", "a zip archive (PyTorch's files are); unpack it or export it to ONNX"},
    {0, "BZh", "a bzip2 archive; unpack it"},
    {0,
     "\xfd"
     "7zXZ",
     "an xz archive; unpack it"},
    {0, "\x28\xb5\x2f\xfd", "a zstd archive; unpack it"},
    {257, "ustar", "a tar archive; unpack it"},
    {0, "\x80\x02", "a Python pickle (PyTorch's files are); export it to ONNX"},
    {0, "\x80\x04", "a Python pickle; export it to ONNX"},
    {0, "\x89HDF\r\n\x1a\n", "an HDF5 file (Keras has them); export it to ONNX"},
    {4, "TFL3", "a TensorFlow Lite model; export it to ONNX"},
    {4, "ORTM", "a model in ONNX Runtime's own format; take the ONNX model it was made of"},
    {0, "GGUF", "a GGUF model; export it to ONNX"},
    {0, "\x93NUMPY", "a NumPy array"},
    {0,
     "\x7f"
     "ELF",
     "an executable or shared object"},
    {0, "<?xml", "an XML file"},
};

std::string_view TextOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr std::string_view kPointerStart = "version https://git-lfs.github.com/spec/";
constexpr size_t kMaxPointerBytes = 1024;  // git-lfs reads no longer pointers

std::string SizeText(uint64_t bytes) {
  if (bytes >> 20 != 0) return fmt::format("{} MiB", bytes >> 20);
  return bytes >> 10 != 0 ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} bytes", bytes);
}

// Returns e.g. " to 97 MiB", or "" where the pointer names no size.
std::string PointerTarget(std::string_view text) {
  constexpr std::string_view kSize = "\nsize ";
  size_t at = text.find(kSize);
  uint64_t size = 0;
  if (at == std::string_view::npos) return "";
  const char* begin = text.data() + at + kSize.size();
  if (std::from_chars(begin, text.data() + text.size(), size).ec != std::errc()) return "";
  return " to " + SizeText(size);
}

// Returns whether the text is a page that a server sent in place of the file.
bool IsHtml(std::string_view text) {
  size_t begin = std::min(text.find_first_not_of(" \t\r\n\xef\xbb\xbf"), text.size());
  const std::string start = absl::AsciiStrToLower(std::string(text.substr(begin, 14)));
  return start.starts_with("<!doctype html") || start.starts_with("<html");
}

// Returns whether the bytes begin with the length of a JSON text in eight bytes, then that text.
bool IsSafetensors(std::span<const uint8_t> bytes) {
  if (bytes.size() < 10 || bytes[8] != '{') return false;
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length << 8 | bytes[i];
  return length >= 2 && length <= bytes.size() - 8;
}

}  // namespace

bool IsGitLfsPointer(std::span<const uint8_t> bytes) {
  return bytes.size() <= kMaxPointerBytes && TextOf(bytes).starts_with(kPointerStart);
}

bool LooksLikeOnnx(std::span<const uint8_t> bytes) {
  constexpr uint8_t kVersion = 0x08;
  constexpr uint8_t kNewestVersion = 32;
  // The tags of the fields that may follow: producer, domain and such, model version, graph,
  // opsets, properties.
  constexpr uint8_t kNext[] = {0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42, 0x72};
  return bytes.size() > 3 && bytes[0] == kVersion && bytes[1] <= kNewestVersion &&
         std::ranges::find(kNext, bytes[2]) != std::end(kNext);
}

std::string KindOfFile(std::span<const uint8_t> bytes) {
  std::string_view text = TextOf(bytes);
  if (bytes.empty()) return "an empty file";
  if (IsGitLfsPointer(bytes)) {
    return fmt::format("a git-lfs pointer{}; run git lfs pull", PointerTarget(text));
  }
  for (const Magic& magic : kMagics) {
    bool begins = text.size() >= magic.offset && text.substr(magic.offset).starts_with(magic.bytes);
    if (begins) return std::string(magic.kind);
  }
  if (IsHtml(text)) return "an HTML page; the download failed";
  return IsSafetensors(bytes) ? "a safetensors file; export its model to ONNX" : "";
}

}  // namespace tcc
