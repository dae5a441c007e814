#include "cli/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

namespace tcc {
namespace {

bool IsNumber(const std::string& cell) {
  return !cell.empty() && std::isdigit(static_cast<unsigned char>(cell[0])) != 0;
}

}  // namespace

std::string TextTable(const std::vector<std::vector<std::string>>& rows,
                      const std::string& indent) {
  std::vector<size_t> widths;
  std::vector<bool> right;
  for (size_t r = 0; r < rows.size(); ++r) {
    widths.resize(std::max(widths.size(), rows[r].size()));
    right.resize(widths.size(), true);
    for (size_t c = 0; c < rows[r].size(); ++c) {
      widths[c] = std::max(widths[c], rows[r][c].size());
      if (r > 0 && !rows[r][c].empty() && !IsNumber(rows[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line = indent;
    for (size_t c = 0; c < row.size(); ++c) {
      line += c == 0 ? "" : "  ";
      line += right[c] ? fmt::format("{:>{}}", row[c], widths[c])
                       : fmt::format("{:<{}}", row[c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty()) text += line + "\n";
  }
  return text;
}

std::string NamesText(const std::vector<std::string>& names) {
  constexpr size_t kMax = 60;
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    std::string next = (i == 0 ? "" : " ") + names[i];
    if (i > 0 && text.size() + next.size() > kMax) {
      return fmt::format("{} and {} more", text, names.size() - i);
    }
    text += next;
  }
  return text;
}

}  // namespace tcc
