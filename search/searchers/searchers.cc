#include "search/searchers/searcher.h"

namespace tcc {
namespace {

// clang-format off
constexpr SearcherRow kSearchers[] = {
    {"random",     MakeRandomSearcher,     "uniform over sketches, then over the logarithms of sizes"},
    {"coordinate", MakeCoordinateSearcher, "Droplet search: Canesche, Verma, Pereira 2024"},
};
// clang-format on

}  // namespace

std::span<const SearcherRow> Searchers() {
  return kSearchers;
}

const SearcherRow* FindSearcher(std::string_view name) {
  for (const SearcherRow& row : kSearchers) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace tcc
