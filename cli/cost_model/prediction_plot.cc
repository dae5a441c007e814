#include "cli/cost_model/prediction_plot.h"

#include <fmt/format.h>
#include "cli/readable_units.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tcc {
namespace {

// Lengths in pixels; y grows downwards.
constexpr double kLeft = 90, kTop = 50, kSide = 600;
constexpr double kRight = kLeft + kSide, kBottom = kTop + kSide;
constexpr double kWidth = kRight + 30, kHeight = kBottom + 70;
constexpr double kRadius = 2;
constexpr int kMaxLabels = 10;

// Colours that stay apart for the colour-blind (Okabe and Ito 2008).
constexpr char kPriorColour[] = "#e69f00";
constexpr char kModelColour[] = "#0072b2";

// log10 of seconds.
struct PlottedPoint {
  double measured = 0;
  double prior = 0;
  double model = 0;
};

struct PlottedPoints {
  std::vector<PlottedPoint> points;
  size_t tasks = 0;  // that have some
};

PlottedPoints PointsOf(const MeasuredFeatures& judged, const LearnedModel& model) {
  TaskPredictions by_prior = judged.ByPrior(), by_model = judged.ByModel(model);
  PlottedPoints result;
  for (size_t t = 0; t < judged.tasks.size(); ++t) {
    size_t before = result.points.size();
    for (size_t p = 0; p < judged.tasks[t].points.size(); ++p) {
      PlottedPoint point = {.measured = std::log10(judged.tasks[t].points[p].seconds),
                            .prior = by_prior[t][p] / std::log(10.0),
                            .model = by_model[t][p] / std::log(10.0)};
      if (std::isfinite(point.prior) && std::isfinite(point.model)) result.points.push_back(point);
    }
    if (result.points.size() > before) ++result.tasks;
  }
  return result;
}

// Returns `most` of the points at even distances, in order; all if there are no more.
std::vector<PlottedPoint> SpreadEvenly(const std::vector<PlottedPoint>& points, size_t most) {
  if (points.size() <= most) return points;
  std::vector<PlottedPoint> kept;
  for (size_t i = 0; i < most; ++i) kept.push_back(points[i * points.size() / most]);
  return kept;
}

// Both axes: whole decades of seconds, `first` to `last`.
struct LogScale {
  int first = -6;
  int last = -3;

  double X(double log_seconds) const { return kLeft + kSide * Share(log_seconds); }
  double Y(double log_seconds) const { return kBottom - kSide * Share(log_seconds); }

 private:
  double Share(double log_seconds) const { return (log_seconds - first) / (last - first); }
};

LogScale ScaleOf(const std::vector<PlottedPoint>& points) {
  if (points.empty()) return {};
  double least = points[0].measured, most = least;
  for (const PlottedPoint& point : points) {
    least = std::min({least, point.measured, point.prior, point.model});
    most = std::max({most, point.measured, point.prior, point.model});
  }
  LogScale scale = {.first = static_cast<int>(std::floor(least)),
                    .last = static_cast<int>(std::ceil(most))};
  scale.last = std::max(scale.last, scale.first + 1);
  return scale;
}

// "100 us"; `decade` is log10 of seconds.
std::string DecadeText(int decade) {
  if (decade < -3) return fmt::format("{:g} us", std::pow(10.0, decade + 6));
  if (decade < 0) return fmt::format("{:g} ms", std::pow(10.0, decade + 3));
  return fmt::format("{:g} s", std::pow(10.0, decade));
}

std::string LineText(double x1, double y1, double x2, double y2) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x1, y1,
                     x2, y2);
}

std::string AxesText(const LogScale& scale) {
  std::string grid = "<g stroke=\"#dddddd\">\n", labels;
  int step = (scale.last - scale.first) / kMaxLabels + 1;
  for (int decade = scale.first; decade <= scale.last; decade += step) {
    double x = scale.X(decade), y = scale.Y(decade);
    grid += LineText(x, kTop, x, kBottom) + LineText(kLeft, y, kRight, y);
    std::string text = DecadeText(decade);
    labels += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x,
                          kBottom + 20, text);
    labels += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                          y + 4, text);
  }
  double middle = kTop + kSide / 2;
  labels += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">measured time</text>\n",
                        kLeft + kSide / 2, kBottom + 50);
  labels += fmt::format(
      "<text x=\"20\" y=\"{0}\" text-anchor=\"middle\" transform=\"rotate(-90 20 {0})\">"
      "predicted time</text>\n",
      middle);
  return grid + "</g>\n" + labels;
}

// The diagonal and, dashed, predictions of twice and half the measured time.
std::string GuidesText(const LogScale& scale) {
  double first = scale.first, last = scale.last, twice = std::log10(2.0);
  std::string text = "<g stroke=\"#444444\">\n";
  text += LineText(scale.X(first), scale.Y(first), scale.X(last), scale.Y(last));
  text += "</g>\n<g stroke=\"#444444\" stroke-dasharray=\"6 4\">\n";
  text += LineText(scale.X(first), scale.Y(first + twice), scale.X(last - twice), scale.Y(last));
  text += LineText(scale.X(first + twice), scale.Y(first), scale.X(last), scale.Y(last - twice));
  return text + "</g>\n";
}

std::string CirclesText(const std::vector<PlottedPoint>& points, const LogScale& scale,
                        double PlottedPoint::* predicted, const char* colour) {
  std::string text = fmt::format("<g fill=\"{}\" fill-opacity=\"0.4\">\n", colour);
  for (const PlottedPoint& point : points) {
    text += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n", scale.X(point.measured),
                        scale.Y(point.*predicted), kRadius);
  }
  return text + "</g>\n";
}

std::string LegendText() {
  double x = kLeft + 15, y = kTop + 15;
  std::string text = fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"185\" height=\"88\" fill=\"white\" stroke=\"#888888\"/>\n",
      x, y);
  auto add_label = [&](const char* label) {
    text += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", x + 38, y, label);
  };
  auto add_colour = [&](const char* colour, const char* label) {
    y += 20;
    text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n",
                        x + 14, y - 9, colour);
    add_label(label);
  };
  auto add_line = [&](const char* dashes, const char* label) {
    y += 20;
    text += fmt::format("<g stroke=\"#444444\"{}>\n", dashes);
    text += LineText(x + 8, y - 4, x + 30, y - 4) + "</g>\n";
    add_label(label);
  };
  add_colour(kPriorColour, "prior");
  add_colour(kModelColour, "model");
  add_line("", "as measured");
  add_line(" stroke-dasharray=\"6 4\"", "off by a factor of 2");
  return text;
}

std::string TitleText(const PlottedPoints& all, size_t drawn) {
  std::string title = "Predicted and measured time: " + Counted(all.points.size(), "point") +
                      " of " + Counted(all.tasks, "task");
  if (drawn < all.points.size()) title += fmt::format(", {} drawn", drawn);
  return fmt::format("<text x=\"{}\" y=\"30\" font-size=\"16\" text-anchor=\"middle\">{}</text>\n",
                     kLeft + kSide / 2, title);
}

}  // namespace

std::string PredictionPlot(const MeasuredFeatures& judged, const LearnedModel& model) {
  PlottedPoints all = PointsOf(judged, model);
  std::vector<PlottedPoint> points = SpreadEvenly(all.points, kMaxPlottedPoints);
  LogScale scale = ScaleOf(points);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"13\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight);
  text += TitleText(all, points.size());
  text += AxesText(scale);
  text += CirclesText(points, scale, &PlottedPoint::prior, kPriorColour);
  text += CirclesText(points, scale, &PlottedPoint::model, kModelColour);
  text += GuidesText(scale);
  text += LegendText();
  return text + "</svg>\n";
}

}  // namespace tcc
