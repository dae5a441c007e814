#include "cli/report/progress_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/report/html.h"
#include "cli/report/run_progress.h"

namespace tcc {
namespace {

// The values along an axis of a plot.
struct PlotAxis {
  std::string label;
  double first = 0;
  double last = 1;           // > first
  bool logarithmic = false;  // then first > 0
};

// An SVG picture, whose colours come from the page's style: axes with a grid, and whatever is
// added.
class PlotFrame {
 public:
  // The size in units of the picture, which scales to the width that it is given.
  struct Size {
    double width = 440;
    double height = 260;
  };

  // `title` is for screen readers.
  PlotFrame(std::string_view title, Size size, PlotAxis x, PlotAxis y);

  // Adds a line that keeps its value from each point to the next one and to the end of the axis.
  void AddSteps(std::string_view style, const std::vector<PlotPoint>& points);
  // Adds a dashed line across the plot.
  void AddLevel(double y);
  // Add circles or crosses; values beyond an axis are drawn at its end.
  void AddCircles(std::string_view style, const std::vector<PlotPoint>& points, double radius);
  void AddCrosses(std::string_view style, const std::vector<PlotPoint>& points);

  std::string Take() &&;

 private:
  double X(double x) const;
  double Y(double y) const;
  std::string Grid() const;

  Size size_;
  PlotAxis x_, y_;
  std::string text_;
};

// Lengths in units of the picture; y grows downwards.
constexpr double kLeft = 58, kRight = 14, kTop = 12, kBottom = 42;
constexpr double kCross = 3;
constexpr int kMaxTicks = 5;
// Below that many powers of ten a logarithmic axis is labelled at 2 and 5 times them as well.
constexpr int kMaxLabelledDecades = 3;

// Returns where the value lies on the axis, 0 to 1.
double ShareOf(double value, const PlotAxis& axis) {
  value = std::clamp(value, axis.first, axis.last);
  if (!axis.logarithmic) return (value - axis.first) / (axis.last - axis.first);
  return std::log(value / axis.first) / std::log(axis.last / axis.first);
}

std::vector<double> LinearTicks(const PlotAxis& axis, int most) {
  double least = (axis.last - axis.first) / most;
  double step = std::pow(10.0, std::floor(std::log10(least)));
  for (double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (step * factor < least) continue;
    step *= factor;
    break;
  }
  std::vector<double> ticks;
  double first = std::ceil(axis.first / step - 1e-9);
  for (int i = 0; i <= most && (first + i) * step <= axis.last + step * 1e-9; ++i) {
    ticks.push_back((first + i) * step);
  }
  return ticks;
}

std::vector<double> LogarithmicTicks(const PlotAxis& axis, int most) {
  int first = static_cast<int>(std::floor(std::log10(axis.first)));
  int last = static_cast<int>(std::ceil(std::log10(axis.last)));
  int step = std::max(1, (last - first) / most);
  std::vector<double> ticks;
  for (int decade = first; decade <= last; decade += step) {
    for (double factor : {1.0, 2.0, 5.0}) {
      if (factor > 1 && last - first > kMaxLabelledDecades) continue;
      double tick = factor * std::pow(10.0, decade);
      if (tick >= axis.first && tick <= axis.last) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::string LabelText(double x, double y, const char* anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     Escaped(text));
}

// Returns the values to label on an axis: up to about `most`, at multiples of 1, 2 or 5 times a
// power of ten.
std::vector<double> TicksOf(const PlotAxis& axis, int most) {
  return axis.logarithmic ? LogarithmicTicks(axis, most) : LinearTicks(axis, most);
}

PlotFrame::PlotFrame(std::string_view title, Size size, PlotAxis x, PlotAxis y)
    : size_(size), x_(std::move(x)), y_(std::move(y)) {
  text_ = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", size_.width,
                      size_.height, Escaped(title));
  text_ += Grid();
}

double PlotFrame::X(double x) const {
  return kLeft + ShareOf(x, x_) * (size_.width - kLeft - kRight);
}

double PlotFrame::Y(double y) const {
  return size_.height - kBottom - ShareOf(y, y_) * (size_.height - kTop - kBottom);
}

std::string PlotFrame::Grid() const {
  double left = kLeft, right = size_.width - kRight, top = kTop, bottom = size_.height - kBottom;
  std::string lines = "<path class=\"grid\" d=\"", labels;
  for (double tick : TicksOf(x_, kMaxTicks)) {
    lines += fmt::format("M{:.1f} {:.1f}V{:.1f}", X(tick), top, bottom);
    labels += LabelText(X(tick), bottom + 16, "middle", fmt::format("{:.4g}", tick));
  }
  for (double tick : TicksOf(y_, kMaxTicks)) {
    lines += fmt::format("M{:.1f} {:.1f}H{:.1f}", left, Y(tick), right);
    labels += LabelText(left - 6, Y(tick) + 4, "end", fmt::format("{:.3g}", tick));
  }
  double middle = (top + bottom) / 2;
  labels += LabelText((left + right) / 2, size_.height - 6, "middle", x_.label);
  labels += fmt::format(
      "<text x=\"13\" y=\"{0:.1f}\" text-anchor=\"middle\" transform=\"rotate(-90 13 {0:.1f})\">"
      "{1}</text>\n",
      middle, Escaped(y_.label));
  return lines + "\"/>\n" + labels;
}

void PlotFrame::AddSteps(std::string_view style, const std::vector<PlotPoint>& points) {
  if (points.empty()) return;
  std::string path = fmt::format("M{:.1f} {:.1f}", X(points[0].x), Y(points[0].y));
  for (const PlotPoint& point : points)
    path += fmt::format("H{:.1f}V{:.1f}", X(point.x), Y(point.y));
  path += fmt::format("H{:.1f}", X(x_.last));
  text_ += fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", style, path);
}

void PlotFrame::AddLevel(double y) {
  text_ += fmt::format("<path class=\"level\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", X(x_.first), Y(y),
                       X(x_.last));
}

void PlotFrame::AddCircles(std::string_view style, const std::vector<PlotPoint>& points,
                           double radius) {
  if (points.empty()) return;
  text_ += fmt::format("<g class=\"mark {}\">\n", style);
  for (const PlotPoint& point : points) {
    text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n", X(point.x), Y(point.y),
                         radius);
  }
  text_ += "</g>\n";
}

void PlotFrame::AddCrosses(std::string_view style, const std::vector<PlotPoint>& points) {
  if (points.empty()) return;
  text_ += fmt::format("<path class=\"cross {}\" d=\"", style);
  for (const PlotPoint& point : points) {
    double x = X(point.x), y = Y(point.y);
    text_ += fmt::format("M{:.1f} {:.1f}l{:.1f} {:.1f}m0 -{:.1f}l-{:.1f} {:.1f}", x - kCross,
                         y - kCross, 2 * kCross, 2 * kCross, 2 * kCross, 2 * kCross, 2 * kCross);
  }
  text_ += "\"/>\n";
}

std::string PlotFrame::Take() && {
  return std::move(text_) + "</svg>\n";
}

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

std::string SearcherStyle(size_t searcher) {
  return fmt::format("s{}", searcher);
}

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
    frame.AddSteps(SearcherStyle(s), points);
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
    frame.AddCrosses(SearcherStyle(s), marks[s].failed);
    frame.AddCircles(SearcherStyle(s), marks[s].timed, kRadius);
  }
  frame.AddSteps("whole", best);
  for (size_t s = 0; s < marks.size(); ++s) {
    frame.AddCircles(SearcherStyle(s), marks[s].improved, kImprovedRadius);
  }
  return std::move(frame).Take();
}

}  // namespace tcc
