#include "cli/report/utf8_text.h"

#include <cstdint>

namespace tcc {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// First bytes of sequences, and the range of the second byte that rules out overlong forms,
// surrogates and code points beyond U+10FFFF (Unicode 15, table 3-7).
struct SequenceRow {
  uint8_t first, last;
  size_t length;
  uint8_t second_first, second_last;
};
constexpr SequenceRow kSequences[] = {
    {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf}, {0xe1, 0xec, 3, 0x80, 0xbf},
    {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

bool IsBetween(char byte, uint8_t first, uint8_t last) {
  auto value = static_cast<uint8_t>(byte);
  return first <= value && value <= last;
}

// Returns the length of the code point that the text begins with; 0: it begins with none.
size_t SequenceLength(std::string_view text) {
  if (IsBetween(text[0], 0, 0x7f)) return 1;
  for (const SequenceRow& row : kSequences) {
    if (!IsBetween(text[0], row.first, row.last)) continue;
    if (text.size() < row.length) return 0;
    if (!IsBetween(text[1], row.second_first, row.second_last)) return 0;
    for (size_t i = 2; i < row.length; ++i) {
      if (!IsBetween(text[i], 0x80, 0xbf)) return 0;
    }
    return row.length;
  }
  return 0;
}

}  // namespace

std::string WithValidUtf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    size_t length = SequenceLength(text);
    result += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace tcc
