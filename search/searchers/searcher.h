#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "search/model/ranker.h"
#include "search/model/task_estimator.h"
#include "search/space/task_history.h"
#include "support/random.h"

namespace tcc {

// The data that a searcher has about its task.
struct SearchContext {
  TaskSpace& space;
  const TaskHistory& history;
  Ranker& ranker;            // predictions for points that were not measured
  TaskEstimator* estimator;  // slopes of the predictions; null: there are none
};

// A method of choosing what to measure next. A searcher keeps no state beyond the history: a new
// one over the same history proposes the same points.
class Searcher {
 public:
  virtual ~Searcher() = default;
  // Returns up to `count` different legal points that the history does not know, the most promising
  // first; fewer if it finds no more.
  virtual std::vector<SearchPoint> Propose(size_t count, Random& random) = 0;
};

struct SearcherRow {
  std::string_view name;
  std::unique_ptr<Searcher> (*make)(const SearchContext& context);
  bool shares;            // whether it shares the batches of "auto"
  std::string_view from;  // the source of the method
};

// The name that stands for the searchers that share batches.
inline constexpr std::string_view kAutoSearcher = "auto";

// Returns every searcher, in the order of the help.
std::span<const SearcherRow> Searchers();
// Returns the searcher of that name, from Searchers() or `more`, or those that kAutoSearcher stands
// for; none: the name is not known. `more` outlives the result.
std::vector<const SearcherRow*> SearchersNamed(std::string_view name,
                                               std::span<const SearcherRow> more = {});

// Draws a legal point of a live sketch uniformly that is not known; nullopt if several draws found
// none.
std::optional<SearchPoint> DrawFresh(const SearchContext& context, Random& random);

std::unique_ptr<Searcher> MakeRandomSearcher(const SearchContext& context);
std::unique_ptr<Searcher> MakeCoordinateSearcher(const SearchContext& context);
std::unique_ptr<Searcher> MakeEvolutionarySearcher(const SearchContext& context);
std::unique_ptr<Searcher> MakeAnnealingSearcher(const SearchContext& context);
std::unique_ptr<Searcher> MakeTileSearcher(const SearchContext& context);
std::unique_ptr<Searcher> MakeGradientSearcher(const SearchContext& context);

}  // namespace tcc
