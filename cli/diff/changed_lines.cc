#include "cli/diff/changed_lines.h"

#include <absl/strings/str_split.h>

#include <algorithm>

namespace tcc {

std::vector<std::string> ChangedLines(const std::string& before, const std::string& after) {
  const std::vector<std::string> a = absl::StrSplit(before, '\n', absl::SkipEmpty());
  const std::vector<std::string> b = absl::StrSplit(after, '\n', absl::SkipEmpty());
  // common[i][j]: the most lines in order that a has from i on and b from j on.
  std::vector<std::vector<size_t>> common(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      common[i][j] =
          a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::vector<std::string> changed;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
      changed.push_back("- " + a[i++]);
    } else {
      changed.push_back("+ " + b[j++]);
    }
  }
  return changed;
}

}  // namespace tcc
