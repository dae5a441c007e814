#pragma once

#include <string>
#include <vector>

namespace tcc {

// Rows of cells as lines behind `indent`, whose columns are as wide as their widest cell and two
// spaces apart. The first row is the head; without names in it, it is no line. A column whose other
// cells all begin with a digit is to the right.
std::string TextTable(const std::vector<std::vector<std::string>>& rows, const std::string& indent);

// "conv1 relu1 and 7 more": as many names as fit a line, one at least.
std::string NamesText(const std::vector<std::string>& names);

}  // namespace tcc
