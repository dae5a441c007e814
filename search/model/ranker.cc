#include "search/model/ranker.h"

#include <map>

namespace tcc {

std::vector<Prediction> RankAll(Ranker& ranker, std::span<const SearchPoint> points) {
  std::map<size_t, std::vector<size_t>> of_sketch;  // places in `points`
  for (size_t p = 0; p < points.size(); ++p) of_sketch[points[p].sketch].push_back(p);
  std::vector<Prediction> predictions(points.size());
  for (const auto& [sketch, places] : of_sketch) {
    std::vector<Point> own;
    for (size_t place : places) own.push_back(points[place].point);
    std::vector<Prediction> ranked = ranker.Rank(sketch, own);
    for (size_t i = 0; i < places.size(); ++i) predictions[places[i]] = ranked[i];
  }
  return predictions;
}

}  // namespace tcc
