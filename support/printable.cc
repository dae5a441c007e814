#include "support/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tcc {
namespace {

// Returns the bytes of the UTF-8 sequence at the start of `text`, or 0 if it is invalid: overlong
// forms, surrogates and code points beyond U+10FFFF are.
size_t SequenceLength(std::string_view text) {
  auto byte = [&](size_t i) -> uint32_t {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
  };
  uint32_t lead = byte(0);
  if (lead < 0x80) return 1;
  size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0) return 0;
  uint32_t point = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kMinPoint[] = {0, 0, 0x80, 0x800, 0x10000};
  bool surrogate = point >= 0xd800 && point < 0xe000;
  return point < kMinPoint[length] || point > 0x10ffff || surrogate ? 0 : length;
}

}  // namespace

bool IsPlainText(std::string_view text) {
  while (!text.empty()) {
    size_t length = SequenceLength(text);
    auto first = static_cast<uint8_t>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7f) return false;
    // U+0080 to U+009F are control characters too.
    if (length == 2 && first == 0xc2 && static_cast<uint8_t>(text[1]) < 0xa0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string WithValidUtf8(std::string_view text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    size_t length = SequenceLength(text);
    valid += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

std::string Printable(std::string_view text) {
  std::string shown;
  for (char c : text) {
    bool plain = c >= 0x20 && c < 0x7f;
    shown += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return shown;
}

Status PrintableStatus(const Status& status) {
  if (status.ok()) return status;
  std::string shown;
  std::string message = Message(status);
  for (size_t start = 0; start <= message.size();) {
    size_t end = std::min(message.find('\n', start), message.size());
    shown += (start == 0 ? "" : "\n") + Printable(message.substr(start, end - start));
    start = end + 1;
  }
  return WithMessage(status, shown);
}

}  // namespace tcc
