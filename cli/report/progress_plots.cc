#include "cli/report/progress_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/report/plot_frame.h"
#include "cli/report/run_progress.h"

namespace tcc {
namespace {

constexpr PlotFrame::Size kSmall = {.width = 320, .height = 200};
// Trials that take longer, relative to the constructed schedule, are drawn at the top.
constexpr double kMaxRelative = 4;
constexpr double kMargin = 0.9;  // below the best
constexpr double kMinSpan = 0.05;
constexpr double kRadius = 2.2, kImprovedRadius = 4;

// Returns an axis that begins at 0 and is never empty.
PlotAxis FromZero(const char* label, double last) {
  return {.label = label, .last = last > 0 ? last : 1};
}

// Marks of one searcher in a plot of a task.
struct SearcherMarks {
  std::vector<PlotPoint> timed, improved, failed;
};

std::vector<SearcherMarks> MarksOf(const TaskProgress& progress, double constructed,
                                   size_t searchers) {
  std::vector<SearcherMarks> marks(searchers);
  size_t every = progress.marks.size() / kMaxMarks + 1;
  for (size_t i = 0; i < progress.marks.size(); ++i) {
    const TaskMark& mark = progress.marks[i];
    if (i % every != 0 && !mark.improved) continue;
    SearcherMarks& place = marks[mark.searcher];
    PlotPoint point = {mark.trial, mark.seconds / constructed};
    if (mark.improved) {
      place.improved.push_back(point);
    } else if (mark.seconds > 0) {
      place.timed.push_back(point);
    } else {
      place.failed.push_back({mark.trial, kMaxRelative});
    }
  }
  return marks;
}

}  // namespace

std::string NetworkPlot(const RunProgress& progress) {
  double least = 1, most = 1;
  for (const PlotPoint& point : progress.network) {
    least = std::min(least, point.y);
    most = std::max(most, point.y);
  }
  double span = std::max(most - least, kMinSpan);
  PlotAxis y = {.label = "time / constructed",
                .first = std::max(0.0, least - span / 10),
                .last = most + span / 10};
  PlotFrame frame("Best time of the network over the run", {},
                  FromZero("seconds since the begin", progress.network.back().x), std::move(y));
  frame.AddLevel(1);
  frame.AddSteps("whole", progress.network);
  return std::move(frame).Take();
}

std::string GainPlot(const RunProgress& progress, size_t trials) {
  double most = 0;
  for (const SearcherTally& tally : progress.searchers) most = std::max(most, tally.ln_gain);
  PlotFrame frame("Gain of each searcher over trials", {},
                  FromZero("trials", static_cast<double>(trials)),
                  FromZero("sum of ln gains", most * 1.05));
  for (size_t s = 0; s < progress.searchers.size(); ++s) {
    std::vector<PlotPoint> points = {{0, 0}};
    const std::vector<PlotPoint>& gain = progress.searchers[s].gain;
    points.insert(points.end(), gain.begin(), gain.end());
    frame.AddSteps(ColourStyle(s), points);
  }
  return std::move(frame).Take();
}

std::string TaskPlot(const RunTask& task, const TaskProgress& progress, size_t searchers) {
  double constructed = task.constructed_seconds;
  std::vector<PlotPoint> best;
  if (progress.start_seconds > 0) best.push_back({0, progress.start_seconds / constructed});
  for (const PlotPoint& point : progress.best) best.push_back({point.x, point.y / constructed});
  double least = 1;
  for (const PlotPoint& point : best) least = std::min(least, point.y);
  PlotAxis y = {.label = "time / constructed",
                .first = kMargin * least,
                .last = kMaxRelative,
                .logarithmic = true};
  PlotFrame frame("Trials of kernel " + task.name, kSmall,
                  FromZero("trials of the kernel", progress.trials), std::move(y));
  frame.AddLevel(1);
  std::vector<SearcherMarks> marks = MarksOf(progress, constructed, searchers);
  for (size_t s = 0; s < marks.size(); ++s) {
    frame.AddCrosses(ColourStyle(s), marks[s].failed);
    frame.AddCircles(ColourStyle(s), marks[s].timed, kRadius);
  }
  frame.AddSteps("whole", best);
  for (size_t s = 0; s < marks.size(); ++s) {
    frame.AddCircles(ColourStyle(s), marks[s].improved, kImprovedRadius);
  }
  return std::move(frame).Take();
}

}  // namespace tcc
