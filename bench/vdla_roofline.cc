#include "bench/vdla_roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tcc {
namespace {

// Lengths in pixels; y grows downwards.
constexpr double kLeft = 70, kTop = 20, kWide = 600, kHigh = 340;
// The ends of the axes: operations a byte, and billions of operations a second.
constexpr double kFewest = 8, kMost = 512, kSlowest = 8, kFastest = 128;
constexpr double kRadius = 5;
// Colours that stay apart for the colour-blind (Okabe and Ito 2008).
constexpr const char* kColour = "#0072b2";

double Share(double value, double first, double last) {
  return std::clamp(std::log(value / first) / std::log(last / first), 0.0, 1.0);
}
double X(double intensity) {
  return kLeft + kWide * Share(intensity, kFewest, kMost);
}
double Y(double speed) {
  return kTop + kHigh * (1 - Share(speed, kSlowest, kFastest));
}

// Multiply-adds count as two operations.
constexpr double kOperations = 2.0 * static_cast<double>(kVdlaBlock * kVdlaBlock);

double PeakOf(const VdlaConfig& config) {
  return kOperations * config.hertz * 1e-9;
}

std::string Axes() {
  std::string text = "<g stroke=\"#dddddd\">\n", labels;
  for (double x = kFewest; x <= kMost; x *= 2) {
    text += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>\n", X(x), kTop,
                        kTop + kHigh);
    labels += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", X(x),
                          kTop + kHigh + 18, x);
  }
  for (double y = kSlowest; y <= kFastest; y *= 2) {
    text += fmt::format("<line x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" y2=\"{0:.1f}\"/>\n", Y(y),
                        kLeft, kLeft + kWide);
    labels += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                          Y(y) + 4, y);
  }
  labels += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">operations a byte of memory</text>\n",
      kLeft + kWide / 2, kTop + kHigh + 42);
  labels += fmt::format(
      "<text x=\"20\" y=\"{0}\" text-anchor=\"middle\" transform=\"rotate(-90 20 {0})\">"
      "billions of operations a second</text>\n",
      kTop + kHigh / 2);
  return text + "</g>\n" + labels;
}

std::string Roof(const VdlaConfig& config) {
  const double peak = PeakOf(config);
  const double rate = static_cast<double>(config.bytes_per_cycle) * config.hertz * 1e-9;
  return fmt::format(
      "<polyline fill=\"none\" stroke=\"#444444\" points=\"{:.1f},{:.1f} {:.1f},{:.1f} "
      "{:.1f},{:.1f}\"/>\n",
      X(kFewest), Y(kFewest * rate), X(peak / rate), Y(peak), X(kMost), Y(peak));
}

std::string Circle(const RooflinePoint& point, const VdlaConfig& config) {
  const double operations = kOperations * static_cast<double>(point.multiply_cycles);
  const double x = X(operations / static_cast<double>(point.bytes));
  const double speed = operations / static_cast<double>(point.cycles) * config.hertz * 1e-9;
  const bool is_full = point.contexts > 1;
  return fmt::format(
      "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"{2}\" stroke=\"{3}\" fill=\"{4}\"><title>{5}, {6} "
      "context{7}: {8:.0f} % of the peak</title></circle>\n"
      "<text x=\"{9:.1f}\" y=\"{10:.1f}\" font-size=\"10\">{5}</text>\n",
      x, Y(speed), kRadius, kColour, is_full ? kColour : "none", point.name, point.contexts,
      is_full ? "s" : "", 100 * speed / PeakOf(config), x + kRadius + 2,
      Y(speed) + (is_full ? -4 : 12));
}

}  // namespace

std::string RooflineSvg(const std::vector<RooflinePoint>& points, const VdlaConfig& config) {
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kLeft + kWide + 30, kTop + kHigh + 60);
  text += Axes() + Roof(config);
  for (const RooflinePoint& point : points) text += Circle(point, config);
  text += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">open: one context, full: two</text>\n",
      kLeft + kWide - 8, kTop + kHigh - 10);
  return text + "</svg>\n";
}

}  // namespace tcc
