#include <algorithm>
#include <cmath>

#include "search/searchers/ranked_points.h"
#include "search/space/moves.h"

namespace tcc {
namespace {

constexpr size_t kPopulation = 512;
constexpr double kMeasuredShare = 0.2;  // of the first population, at most
constexpr int kGenerations = 4;
// Shares of a generation: the best go on as they are, some children have two parents.
constexpr double kElite = 0.02, kRecombined = 0.1;

struct Individual {
  SearchPoint point;
  Prediction prediction;
};

// Evolves a population by predicted times: parents are drawn by how fast they are, children are
// mutated or recombined. Proposes the best fresh ones of all generations (Ansor: Zheng et al. 2020;
// MetaSchedule: Shao et al. 2022).
class EvolutionarySearcher final : public Searcher {
 public:
  explicit EvolutionarySearcher(const SearchContext& context) : context_(context) {}

  std::vector<SearchPoint> Propose(size_t count, Random& random) override {
    RankedPoints seen(context_);
    std::vector<Individual> population = Rank(FirstPopulation(random), seen);
    for (int generation = 0; generation < kGenerations && !population.empty(); ++generation) {
      population = Rank(NextGeneration(population, random), seen);
    }
    return seen.Pick(count, 0, random);
  }

 private:
  std::vector<SearchPoint> FirstPopulation(Random& random) const {
    auto most = static_cast<size_t>(kMeasuredShare * kPopulation);
    std::vector<SearchPoint> points = BestMeasured(context_, most);
    std::vector<SearchPoint> drawn = SampleAll(context_, kPopulation - points.size(), random);
    points.insert(points.end(), drawn.begin(), drawn.end());
    return points;
  }

  // Without the points that nothing is known of.
  std::vector<Individual> Rank(const std::vector<SearchPoint>& points, RankedPoints& seen) const {
    std::vector<Prediction> predictions = RankAll(context_.ranker, points);
    std::vector<Individual> population;
    for (size_t p = 0; p < points.size(); ++p) {
      seen.Add(points[p], predictions[p]);
      if (std::isnan(predictions[p].ln_seconds)) continue;
      population.push_back({points[p], predictions[p]});
    }
    std::ranges::stable_sort(population, {}, [](const Individual& individual) {
      return individual.prediction.ln_seconds;
    });
    return population;
  }

  // `population` is sorted.
  std::vector<SearchPoint> NextGeneration(const std::vector<Individual>& population,
                                          Random& random) const {
    std::vector<double> sums;  // of the fitness, up to each individual
    for (const Individual& individual : population) {
      double slower = individual.prediction.ln_seconds - population.front().prediction.ln_seconds;
      sums.push_back((sums.empty() ? 0 : sums.back()) + std::exp(-slower));
    }
    auto parent = [&]() -> const SearchPoint& {
      auto place = std::ranges::upper_bound(sums, random.Unit() * sums.back());
      auto last = std::ssize(population) - 1;
      return population[static_cast<size_t>(std::min(place - sums.begin(), last))].point;
    };
    std::vector<SearchPoint> next, mutated;
    size_t elite = std::min(static_cast<size_t>(kElite * kPopulation), population.size());
    for (size_t i = 0; i < elite; ++i) next.push_back(population[i].point);
    for (size_t i = elite; i < kPopulation; ++i) {
      if (random.Unit() >= kRecombined) {
        mutated.push_back(parent());
      } else if (auto child = Recombine(context_.space, parent(), parent(), random)) {
        next.push_back(*std::move(child));
      }
    }
    for (std::optional<SearchPoint>& child : MutateMany(context_.space, mutated, random)) {
      if (child) next.push_back(*std::move(child));
    }
    return next;
  }

  SearchContext context_;
};

}  // namespace

std::unique_ptr<Searcher> MakeEvolutionarySearcher(const SearchContext& context) {
  return std::make_unique<EvolutionarySearcher>(context);
}

}  // namespace tcc
