#include "cli/report/schedule_lines.h"

#include <algorithm>
#include <cstdint>
#include <set>

namespace tcc {
namespace {

constexpr size_t kMaxPairs = 4'000'000;  // of lines that are compared

using Lines = std::vector<MarkedLine>;

Lines LinesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back().text = std::string(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void MarkAbsent(Lines& lines, const Lines& others) {
  std::set<std::string_view> known;
  for (const MarkedLine& line : others) known.insert(line.text);
  for (MarkedLine& line : lines) line.differs = !known.contains(line.text);
}

// lengths[i][j]: common lines of what follows line i of `a` and line j of `b`.
void MarkOutsideOfCommon(Lines& a, Lines& b) {
  std::vector<std::vector<uint32_t>> lengths(a.size() + 1, std::vector<uint32_t>(b.size() + 1));
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      lengths[i][j] = a[i].text == b[j].text ? lengths[i + 1][j + 1] + 1
                                             : std::max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i].text == b[j].text) {
      ++i;
      ++j;
    } else if (j == b.size() || (i < a.size() && lengths[i + 1][j] >= lengths[i][j + 1])) {
      a[i++].differs = true;
    } else {
      b[j++].differs = true;
    }
  }
}

}  // namespace

std::pair<std::vector<MarkedLine>, std::vector<MarkedLine>> MarkDifferences(std::string_view a,
                                                                            std::string_view b) {
  std::pair<Lines, Lines> lines = {LinesOf(a), LinesOf(b)};
  if (lines.first.size() * lines.second.size() <= kMaxPairs) {
    MarkOutsideOfCommon(lines.first, lines.second);
  } else {
    MarkAbsent(lines.first, lines.second);
    MarkAbsent(lines.second, lines.first);
  }
  return lines;
}

}  // namespace tcc
