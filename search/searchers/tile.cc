#include <map>

#include "search/searchers/ranked_points.h"
#include "search/searchers/tile_ladder.h"

namespace tcc {
namespace {

constexpr size_t kKept = 400;  // tiles of a sketch that are looked at again after each batch

// Constructs tiles from what the machine is made of, without a measurement (Roller: Zhu et al.
// 2022), and proposes those that are expected to be fastest once measured neighbours have had their
// say. Split reductions are sketches like others.
class TileSearcher final : public Searcher {
 public:
  explicit TileSearcher(const SearchContext& context) : context_(context) {}

  std::vector<SearchPoint> Propose(size_t count, Random& random) override {
    RankedPoints ranked(context_);
    for (size_t sketch : context_.space.live()) {
      const std::vector<Point>& tiles = TilesOf(sketch);
      std::vector<Prediction> expected = context_.ranker.Rank(sketch, tiles);
      for (size_t t = 0; t < tiles.size(); ++t) ranked.Add({sketch, tiles[t]}, expected[t]);
    }
    return ranked.Pick(count, 0, random);
  }

 private:
  // They depend on the sketch alone.
  const std::vector<Point>& TilesOf(size_t sketch) {
    auto [place, is_new] = tiles_.try_emplace(sketch);
    if (!is_new || !context_.estimator) return place->second;
    for (ExpectedPoint& tile : ClimbLadder(context_.space, *context_.estimator, sketch, kKept)) {
      place->second.push_back(std::move(tile.point));
    }
    return place->second;
  }

  SearchContext context_;
  std::map<size_t, std::vector<Point>> tiles_;
};

}  // namespace

std::unique_ptr<Searcher> MakeTileSearcher(const SearchContext& context) {
  return std::make_unique<TileSearcher>(context);
}

}  // namespace tcc
