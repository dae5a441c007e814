#include <algorithm>
#include <cmath>

#include "search/searchers/ranked_points.h"
#include "search/space/moves.h"

namespace tcc {
namespace {

constexpr size_t kChains = 64;
constexpr size_t kFromBest = 16;  // measured points that half of the chains start from
constexpr int kSteps = 60;
// A step to a point that takes e^T times as long is taken with probability 1/e. T falls
// geometrically, from less once much is known.
constexpr double kFirstHeat = 0.5, kLaterHeat = 0.1, kLastHeat = 0.02;
constexpr size_t kMuchKnown = 64;  // trials

// Walks from many points at once: to faster predicted neighbours always, to slower ones the more
// rarely the longer it walks. Proposes the best fresh points that it passed (simulated annealing:
// Kirkpatrick, Gelatt, Vecchi 1983; parallel chains over a cost model: Chen et al. 2018).
class AnnealingSearcher final : public Searcher {
 public:
  explicit AnnealingSearcher(const SearchContext& context) : context_(context) {}

  std::vector<SearchPoint> Propose(size_t count, Random& random) override {
    RankedPoints passed(context_);
    std::vector<SearchPoint> chains = Starts(random);
    std::vector<Prediction> at = RankAll(context_.ranker, chains);
    for (size_t c = 0; c < chains.size(); ++c) passed.Add(chains[c], at[c]);
    double first = context_.history.trials().size() < kMuchKnown ? kFirstHeat : kLaterHeat;
    for (int step = 0; step < kSteps && !chains.empty(); ++step) {
      double heat = first * std::pow(kLastHeat / first, static_cast<double>(step) / kSteps);
      Walk(heat, chains, at, passed, random);
    }
    return passed.Pick(count, 0, random);
  }

 private:
  std::vector<SearchPoint> Starts(Random& random) const {
    std::vector<SearchPoint> best = BestMeasured(context_, kFromBest);
    std::vector<SearchPoint> chains;
    for (size_t c = 0; c < kChains / 2 && !best.empty(); ++c) {
      chains.push_back(best[c % best.size()]);
    }
    std::vector<SearchPoint> drawn = SampleAll(context_, kChains - chains.size(), random);
    chains.insert(chains.end(), drawn.begin(), drawn.end());
    return chains;
  }

  // One step of each chain.
  void Walk(double heat, std::vector<SearchPoint>& chains, std::vector<Prediction>& at,
            RankedPoints& passed, Random& random) const {
    std::vector<std::optional<SearchPoint>> moves = MutateMany(context_.space, chains, random);
    std::vector<size_t> walking;
    std::vector<SearchPoint> moved;
    for (size_t c = 0; c < chains.size(); ++c) {
      if (!moves[c]) continue;
      walking.push_back(c);
      moved.push_back(*std::move(moves[c]));
    }
    std::vector<Prediction> there = RankAll(context_.ranker, moved);
    for (size_t i = 0; i < walking.size(); ++i) {
      passed.Add(moved[i], there[i]);
      size_t c = walking[i];
      double slower = there[i].ln_seconds - at[c].ln_seconds;
      // Every step away from a point without a prediction is taken, and no step to one.
      bool taken =
          std::isnan(at[c].ln_seconds) || slower < 0 || random.Unit() < std::exp(-slower / heat);
      if (!taken) continue;
      chains[c] = std::move(moved[i]);
      at[c] = there[i];
    }
  }

  SearchContext context_;
};

}  // namespace

std::unique_ptr<Searcher> MakeAnnealingSearcher(const SearchContext& context) {
  return std::make_unique<AnnealingSearcher>(context);
}

}  // namespace tcc
