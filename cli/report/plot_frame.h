#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tcc {

// A corner of a line in a plot.
struct PlotPoint {
  double x = 0;
  double y = 0;
};

// The values along an axis of a plot.
struct PlotAxis {
  std::string label;
  double first = 0;
  double last = 1;           // > first
  bool logarithmic = false;  // then first > 0
};

// An SVG picture, whose colours come from the page's style (page.h): axes with a grid, and whatever
// is added.
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
  // Adds a straight line from point to point.
  void AddLine(std::string_view style, const std::vector<PlotPoint>& points);
  // Add one circle or box, whose `title` shows where the pointer rests and is read out.
  void AddCircle(std::string_view style, PlotPoint point, double radius, std::string_view title);
  void AddBox(std::string_view style, PlotPoint low, PlotPoint high, std::string_view title);

  std::string Take() &&;

 private:
  double X(double x) const;
  double Y(double y) const;
  std::string Grid() const;

  Size size_;
  PlotAxis x_, y_;
  std::string text_;
};

}  // namespace tcc
