#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tcc {

// A line of a text that is shown beside another text.
struct MarkedLine {
  std::string text;
  bool differs = false;  // the other text does not have it at this place
};

// Marks the lines of both texts outside of a longest common subsequence. In texts of very many
// lines it marks the lines that the other one does not have anywhere.
std::pair<std::vector<MarkedLine>, std::vector<MarkedLine>> MarkDifferences(std::string_view a,
                                                                            std::string_view b);

}  // namespace tcc
