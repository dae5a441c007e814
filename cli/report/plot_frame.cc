#include "cli/report/plot_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/report/html.h"

namespace tcc {
namespace {

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

}  // namespace

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
    labels += LabelText(X(tick), bottom + 16, "middle", fmt::format("{:.6g}", tick));
  }
  for (double tick : TicksOf(y_, kMaxTicks)) {
    lines += fmt::format("M{:.1f} {:.1f}H{:.1f}", left, Y(tick), right);
    labels += LabelText(left - 6, Y(tick) + 4, "end", fmt::format("{:.6g}", tick));
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

void PlotFrame::AddLine(std::string_view style, const std::vector<PlotPoint>& points) {
  std::string path;
  for (const PlotPoint& point : points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", X(point.x), Y(point.y));
  }
  text_ += fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", style, path);
}

void PlotFrame::AddCircle(std::string_view style, PlotPoint point, double radius,
                          std::string_view title) {
  text_ += fmt::format(
      "<circle class=\"mark {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
      "r=\"{:.1f}\"><title>{}</title></circle>\n",
      style, X(point.x), Y(point.y), radius, Escaped(title));
}

void PlotFrame::AddBox(std::string_view style, PlotPoint low, PlotPoint high,
                       std::string_view title) {
  text_ += fmt::format(
      "<rect class=\"box {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
      "<title>{}</title></rect>\n",
      style, X(low.x), Y(high.y), X(high.x) - X(low.x), Y(low.y) - Y(high.y), Escaped(title));
}

std::string PlotFrame::Take() && {
  return std::move(text_) + "</svg>\n";
}

}  // namespace tcc
