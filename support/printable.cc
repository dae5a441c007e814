#include "support/printable.h"

#include <algorithm>

namespace tcc {

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
