#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/report/run_progress.h"

namespace tcc {

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

// Returns the values to label on an axis: up to about `most`, at multiples of 1, 2 or 5 times a
// power of ten.
std::vector<double> TicksOf(const PlotAxis& axis, int most);

}  // namespace tcc
