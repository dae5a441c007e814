#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

// Text as zstd packs it.
namespace tcc {

// Returns the packed text: the same bytes for the same text and version of zstd.
std::vector<uint8_t> PackText(std::string_view text);

// Returns the text again. Error (InvalidArgument, which names the text by `what`): it is damaged or
// cut off, or it has more than `most_bytes`.
StatusOr<std::string> UnpackText(std::span<const uint8_t> packed, const std::string& what,
                                 size_t most_bytes = std::numeric_limits<size_t>::max());

}  // namespace tcc
