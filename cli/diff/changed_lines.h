#pragma once

#include <string>
#include <vector>

namespace tcc {

// Returns the lines that only one of two texts has, in the order of the texts: "- line" of the
// first,
// "+ line" of the second. As few as possible are told.
std::vector<std::string> ChangedLines(const std::string& before, const std::string& after);

}  // namespace tcc
