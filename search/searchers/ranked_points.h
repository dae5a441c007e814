#pragma once

#include <map>
#include <set>
#include <vector>

#include "search/searchers/searcher.h"

namespace tcc {

// Predicted points of a search, each once.
class RankedPoints {
 public:
  explicit RankedPoints(const SearchContext& context) : context_(context) {}

  // Points that the history knows and predictions that are no number are left out.
  void Add(const SearchPoint& point, const Prediction& prediction);

  // Up to `count` points: the least predicted, less `hope` deviations, but at most a quarter of
  // them with the same innermost sizes of one sketch, which are mostly wrong together. One in
  // twenty is drawn from everywhere, and so is what the points do not suffice for.
  std::vector<SearchPoint> Pick(size_t count, double hope, Random& random) const;

 private:
  SearchContext context_;
  std::map<SearchPoint, Prediction> points_;
};

// Legal points, as many of each live sketch; fewer where a sketch has no more. Points may repeat.
std::vector<SearchPoint> SampleAll(const SearchContext& context, size_t count, Random& random);

// The fastest different points that were measured right, of live sketches, the fastest first.
std::vector<SearchPoint> BestMeasured(const SearchContext& context, size_t most);

}  // namespace tcc
