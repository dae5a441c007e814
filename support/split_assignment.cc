#include "support/split_assignment.h"

#include <absl/strings/str_split.h>

#include <charconv>

namespace tcc {

StatusOr<std::pair<std::string, std::string>> SplitAssignment(const std::string& option,
                                                              const std::string& text) {
  size_t equals = text.rfind('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
    return UsageError("{}: expected name=value, got '{}'", option, text);
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

StatusOr<int64_t> ParseSize(const std::string& option, const std::string& text) {
  int64_t size = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size < 0) {
    return UsageError("{}: expected a whole number, got '{}'", option, text);
  }
  return size;
}

StatusOr<std::vector<int64_t>> ParseShape(const std::string& option, const std::string& text) {
  std::vector<int64_t> shape;
  for (const auto& word : absl::StrSplit(text, 'x')) {
    TCC_ASSIGN_OR_RETURN(int64_t size, ParseSize(option, std::string(word)));
    shape.push_back(size);
  }
  return shape;
}

}  // namespace tcc
