#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tcc {

// The first bytes of a compiled model. The byte above 127 and the line ends, an idea of PNG's, show
// damage by text transfers.
inline constexpr std::string_view kArtefactMagic = "\x89TCC\r\n\x1a\n";

// Describes a file by its first bytes and says what to do about it, for messages where another kind
// was expected: "a git-lfs pointer to 97 MiB; run git lfs pull". Returns "" for an unknown kind.
std::string KindOfFile(std::span<const uint8_t> bytes);

// Returns whether the bytes are the short text that git leaves in place of a large file.
bool IsGitLfsPointer(std::span<const uint8_t> bytes);

// Returns whether the bytes begin like an ONNX model: with the format's version, then another
// field.
bool LooksLikeOnnx(std::span<const uint8_t> bytes);

}  // namespace tcc
