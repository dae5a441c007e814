#include "cli/split_assignment.h"

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
    return UsageError("{}: expected a size, got '{}'", option, text);
  }
  return size;
}

StatusOr<std::vector<int64_t>> ParseShape(const std::string& option, const std::string& text) {
  std::vector<int64_t> shape;
  size_t begin = 0;
  while (true) {
    size_t end = text.find('x', begin);
    TCC_ASSIGN_OR_RETURN(int64_t size, ParseSize(option, text.substr(begin, end - begin)));
    shape.push_back(size);
    if (end == text.npos) return shape;
    begin = end + 1;
  }
}

}  // namespace tcc
