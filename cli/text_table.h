#pragma once

#include <string>
#include <vector>

namespace tcc {

// Returns rows of cells as lines behind `indent`. Columns are as wide as their widest cell and two
// spaces apart. The first row is the head; if all its cells are empty, it is left out. A column
// whose other cells all begin with a digit is right-aligned.
std::string TextTable(const std::vector<std::vector<std::string>>& rows, const std::string& indent);

// Returns "conv1 relu1 and 7 more": as many names as fit a line, at least one.
std::string NamesText(const std::vector<std::string>& names);

}  // namespace tcc
