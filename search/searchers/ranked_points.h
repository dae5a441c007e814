#pragma once

#include <map>
#include <set>
#include <vector>

#include "search/searchers/searcher.h"

namespace tcc {

// The predicted points of a search, each once.
class RankedPoints {
 public:
  explicit RankedPoints(const SearchContext& context) : context_(context) {}

  // Adds a point, unless the history knows it or the prediction is NaN.
  void Add(const SearchPoint& point, const Prediction& prediction);

  // Returns up to `count` points with the least prediction minus `hope` deviations. At most a
  // quarter of them share the innermost sizes of one sketch, because such predictions are mostly
  // wrong together. One in twenty is drawn from everywhere, and so are the missing ones if the
  // points do not suffice.
  std::vector<SearchPoint> Pick(size_t count, double hope, Random& random) const;

 private:
  SearchContext context_;
  std::map<SearchPoint, Prediction> points_;
};

// Returns legal points, equally many of each live sketch, or fewer if a sketch has no more. Points
// may repeat.
std::vector<SearchPoint> SampleAll(const SearchContext& context, size_t count, Random& random);

// Returns the fastest distinct points of live sketches that were measured right, the fastest first.
std::vector<SearchPoint> BestMeasured(const SearchContext& context, size_t most);

}  // namespace tcc
