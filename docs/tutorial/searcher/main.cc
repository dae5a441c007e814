// A searcher of one's own beside the random one: each tunes the kernels of a network in as many
// trials, with a database of its own in FOLDER, and the best of both are printed.
//
//   searcher MODEL.onnx FOLDER TRIALS
#include <fmt/core.h>

#include <cstdlib>

#include "compiler/tune_graph.h"
#include "models/onnx/import_onnx.h"
#include "runtime/executor/usable_cpus.h"
#include "search/searchers/ranked_points.h"

namespace {

using namespace tcc;

// Climbs from the fastest points: of all that are one step away from one of them, those with the
// least expected time are measured next.
class ClimbSearcher final : public Searcher {
 public:
  explicit ClimbSearcher(const SearchContext& context) : context_(context) {}

  std::vector<SearchPoint> Propose(size_t count, Random& random) override {
    std::vector<SearchPoint> steps;
    for (const SearchPoint& best : BestMeasured(context_, kClimbed)) {
      const SearchSpace& space = *context_.space.Points(best.sketch);
      for (Point& point : space.Neighbours(best.point)) {
        steps.push_back({best.sketch, std::move(point)});
      }
    }
    std::vector<Prediction> expected = RankAll(context_.ranker, steps);
    RankedPoints ranked(context_);
    for (size_t i = 0; i < steps.size(); ++i) ranked.Add(steps[i], expected[i]);
    return ranked.Pick(count, kHope, random);
  }

 private:
  static constexpr size_t kClimbed = 4;  // points at once
  static constexpr double kHope = 0.5;   // deviations that a prediction is taken to be too high

  SearchContext context_;
};

std::unique_ptr<Searcher> MakeClimbSearcher(const SearchContext& context) {
  return std::make_unique<ClimbSearcher>(context);
}

constexpr SearcherRow kClimb = {"climb", MakeClimbSearcher, false, "docs/tutorial/searcher.md"};

StatusOr<TuneResult> TuneBy(const std::string& searcher, const Graph& graph,
                            const std::string& folder, int64_t trials) {
  TuneGraphOptions options;
  TCC_ASSIGN_OR_RETURN(options.compile.target, FindTarget("native"));
  options.compile.threads = options.threads = UsableCpus();
  options.compile.warn = [](const std::string& message) { fmt::print(stderr, "{}\n", message); };
  options.tune.trials = trials;
  options.tune.searcher = searcher;
  options.tune.more_searchers = {kClimb};
  return TuneIntoDatabase(graph, options, folder + "/" + searcher + ".db");
}

Status Run(const std::string& model, const std::string& folder, int64_t trials) {
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(model));
  TCC_ASSIGN_OR_RETURN(TuneResult random, TuneBy("random", graph, folder, trials));
  TCC_ASSIGN_OR_RETURN(TuneResult climb, TuneBy("climb", graph, folder, trials));
  fmt::print("constructed us  random us  climb us  kernel\n");
  for (size_t i = 0; i < random.tasks.size(); ++i) {
    fmt::print("{:14.2f} {:10.2f} {:9.2f}  {}\n", random.tasks[i].constructed_seconds * 1e6,
               random.tasks[i].best_seconds * 1e6, climb.tasks[i].best_seconds * 1e6,
               random.tasks[i].name);
  }
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  int64_t trials = argc == 4 ? std::atoll(argv[3]) : 0;
  if (trials <= 0) {
    fmt::print(stderr, "usage: searcher MODEL.onnx FOLDER TRIALS\n");
    return 2;
  }
  Status status = Run(argv[1], argv[2], trials);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", Message(status));
  return 1;
}
