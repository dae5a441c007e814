#include <algorithm>
#include <cmath>
#include <map>

#include "autodiff_features/descent.h"
#include "search/searchers/ranked_points.h"

namespace tcc {
namespace {

constexpr size_t kSeeds = 32;  // over all sketches
constexpr int kSteps = 80;
constexpr size_t kSampled = 1000;      // points that seeds are chosen from
constexpr size_t kMeasuredSeeds = 4;   // in one sketch
constexpr double kChosenShare = 0.75;  // seeds that are the best of the sampled points
constexpr size_t kKept = 64;           // points of one descent
constexpr size_t kMinSketches = 2;
constexpr double kHope = 0.5;  // deviations that a proposal may be better than expected

// Descends on the expected time through real sizes, in the sketches that promise most, and proposes
// the best legal points on the way (Felix: Zhao et al. 2024). A sketch without slopes has the best
// of its sampled points.
class GradientSearcher final : public Searcher {
 public:
  explicit GradientSearcher(const SearchContext& context) : context_(context) {}

  std::vector<SearchPoint> Propose(size_t count, Random& random) override {
    RankedPoints found(context_);
    std::vector<Sampled> sketches = SampleSketches(found, random);
    // The half that promises more.
    size_t kept = std::min(sketches.size(), std::max(kMinSketches, (sketches.size() + 1) / 2));
    sketches.resize(kept);
    for (const Sampled& sketch : sketches) {
      const SketchSlopes* slopes =
          context_.estimator ? context_.estimator->Slopes(sketch.sketch) : nullptr;
      if (slopes) Search(sketch, *slopes, kSeeds / kept, found, random);
    }
    return found.Pick(count, kHope, random);
  }

 private:
  // Legal points of a sketch, the best expected first.
  struct Sampled {
    size_t sketch = 0;
    double ln_seconds = 0;  // of the best
    std::vector<Point> points;
  };

  // The sketches, the most promising first.
  std::vector<Sampled> SampleSketches(RankedPoints& found, Random& random) const {
    std::map<size_t, std::vector<std::pair<double, Point>>> of_sketch;
    std::vector<SearchPoint> points = SampleAll(context_, kSampled, random);
    for (size_t sketch : context_.space.live()) {
      if (auto start = context_.space.Start(sketch)) points.push_back(*std::move(start));
    }
    std::vector<Prediction> predictions = RankAll(context_.ranker, points);
    for (size_t p = 0; p < points.size(); ++p) {
      found.Add(points[p], predictions[p]);
      if (std::isnan(predictions[p].ln_seconds)) continue;
      of_sketch[points[p].sketch].emplace_back(predictions[p].ln_seconds, points[p].point);
    }
    std::vector<Sampled> sketches;
    for (auto& [sketch, ranked] : of_sketch) {
      std::ranges::sort(ranked);
      Sampled& sampled = sketches.emplace_back(sketch, ranked.front().first);
      for (auto& [ln_seconds, point] : ranked) sampled.points.push_back(std::move(point));
    }
    std::ranges::stable_sort(sketches, {}, &Sampled::ln_seconds);
    return sketches;
  }

  // The start, the best measured points of the variant, the best and some more of the sampled ones.
  std::vector<Point> SeedsOf(const Sampled& sketch, size_t count, Random& random) const {
    const SearchSpace& space = *context_.space.Points(sketch.sketch);
    std::vector<Point> seeds = {context_.space.Start(sketch.sketch)->point};
    size_t variant = context_.space.sketch(sketch.sketch).variant;
    for (const SearchPoint& best : BestMeasured(context_, kMeasuredSeeds)) {
      if (context_.space.sketch(best.sketch).variant != variant) continue;
      Decisions decisions = context_.space.Points(best.sketch)->ToDecisions(best.point);
      std::optional<Point> own =
          space.Adopt(decisions, random, context_.space.sketch(sketch.sketch).start);
      if (own) seeds.push_back(*std::move(own));
    }
    size_t chosen = static_cast<size_t>(kChosenShare * static_cast<double>(count));
    for (size_t p = 0; p < sketch.points.size() && seeds.size() < count; ++p) {
      bool best = seeds.size() < chosen;
      seeds.push_back(sketch.points[best ? p : random.Below(sketch.points.size())]);
    }
    return seeds;
  }

  void Search(const Sampled& sketch, const SketchSlopes& slopes, size_t seeds, RankedPoints& found,
              Random& random) const {
    const SearchSpace& space = *context_.space.Points(sketch.sketch);
    PointPredictor predict = [&](std::span<const Point> points) {
      std::vector<double> ln_seconds;
      for (const Prediction& prediction : context_.ranker.Rank(sketch.sketch, points)) {
        ln_seconds.push_back(prediction.ln_seconds);
      }
      return ln_seconds;
    };
    DescentOptions options{.steps = kSteps, .model = context_.estimator->model()};
    DescentResult result =
        Descend(slopes, space, SeedsOf(sketch, std::max<size_t>(seeds, 1), random), predict,
                options, random);
    std::vector<Point> best;
    for (RankedPoint& ranked : result.best) {
      if (best.size() == kKept) break;
      if (!context_.history.Knows({sketch.sketch, ranked.point})) {
        best.push_back(std::move(ranked.point));
      }
    }
    std::vector<Prediction> predictions = context_.ranker.Rank(sketch.sketch, best);
    for (size_t p = 0; p < best.size(); ++p) found.Add({sketch.sketch, best[p]}, predictions[p]);
  }

  SearchContext context_;
};

}  // namespace

std::unique_ptr<Searcher> MakeGradientSearcher(const SearchContext& context) {
  return std::make_unique<GradientSearcher>(context);
}

}  // namespace tcc
