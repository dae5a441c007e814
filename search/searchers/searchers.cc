#include "search/searchers/searcher.h"

namespace tcc {
namespace {

// clang-format off
constexpr SearcherRow kSearchers[] = {
    {"random",       MakeRandomSearcher,       false, "uniform draws"},
    {"coordinate",   MakeCoordinateSearcher,   true,  "Droplet: Canesche et al. 2024"},
    {"evolutionary", MakeEvolutionarySearcher, true,  "Ansor: Zheng et al. 2020"},
    {"annealing",    MakeAnnealingSearcher,    false, "AutoTVM: Chen et al. 2018"},
    {"rtile",        MakeTileSearcher,         true,  "Roller: Zhu et al. 2022"},
    {"gradient",     MakeGradientSearcher,     true,  "Felix: Zhao et al. 2024"},
};
// clang-format on

}  // namespace

std::span<const SearcherRow> Searchers() {
  return kSearchers;
}

std::vector<const SearcherRow*> SearchersNamed(std::string_view name,
                                               std::span<const SearcherRow> more) {
  std::vector<const SearcherRow*> rows;
  for (std::span<const SearcherRow> table : {Searchers(), more}) {
    for (const SearcherRow& row : table) {
      if (name == kAutoSearcher ? row.shares : row.name == name) rows.push_back(&row);
    }
  }
  return rows;
}

}  // namespace tcc
