#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tcc {

// The first bytes of a compiled model. PNG's idea: a byte above 127 and line ends, which text
// transfers damage.
inline constexpr std::string_view kArtefactMagic = "\x89TCC\r\n\x1a\n";

// What a file is by its first bytes, for messages where another kind was expected, with what to do
// about it: "a git-lfs pointer to 97 MiB; run git lfs pull". "" where the bytes say nothing.
std::string KindOfFile(std::span<const uint8_t> bytes);

// Whether the bytes are the short text that git leaves in place of a large file.
bool IsGitLfsPointer(std::span<const uint8_t> bytes);

// Whether the bytes begin as ONNX models do: with the format's version, then another field.
bool LooksLikeOnnx(std::span<const uint8_t> bytes);

}  // namespace tcc
