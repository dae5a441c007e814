#include <set>

#include "search/searchers/searcher.h"

namespace tcc {
namespace {

constexpr int kDraws = 8;  // for one fresh point

class RandomSearcher final : public Searcher {
 public:
  explicit RandomSearcher(const SearchContext& context) : context_(context) {}

  std::vector<SearchPoint> Propose(size_t count, Random& random) override {
    std::set<SearchPoint> chosen;
    std::vector<SearchPoint> points;
    for (size_t i = 0; i < count; ++i) {
      std::optional<SearchPoint> point = DrawFresh(context_, random);
      if (point && chosen.insert(*point).second) points.push_back(*std::move(point));
    }
    return points;
  }

 private:
  SearchContext context_;
};

}  // namespace

std::optional<SearchPoint> DrawFresh(const SearchContext& context, Random& random) {
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<size_t> live = context.space.live();
    if (live.empty()) return std::nullopt;
    size_t sketch = live[random.Below(live.size())];
    const SearchSpace* points = context.space.Points(sketch);
    if (!points) continue;
    std::optional<Point> point = points->Sample(random);
    if (!point) continue;
    SearchPoint found{sketch, *std::move(point)};
    if (!context.history.Knows(found)) return found;
  }
  return std::nullopt;
}

std::unique_ptr<Searcher> MakeRandomSearcher(const SearchContext& context) {
  return std::make_unique<RandomSearcher>(context);
}

}  // namespace tcc
