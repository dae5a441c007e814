#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/kernel_bound.h"
#include "cli/readable_units.h"
#include "cli/report/artefact_page.h"
#include "cli/report/html.h"
#include "cli/report/page.h"
#include "cli/report/plot_frame.h"

namespace tcc {
namespace {

constexpr PlotFrame::Size kWide = {.width = 860, .height = 380};
constexpr double kMebibyte = 1024.0 * 1024.0;  // bytes
// Radii of the circles of a kernel that takes all and none of the time; areas are by shares.
constexpr double kLargest = 20, kSmallest = 2;

std::string LegendItem(std::string_view style, std::string_view text) {
  return fmt::format("<li><span class=\"swatch {}\"></span>{}</li>\n", style, Escaped(text));
}

// Returns the colours of the families; `more` are other items.
std::string Legend(const ArtefactView& view, const std::string& more = "") {
  std::string items;
  for (size_t i = 0; i < view.families.size(); ++i) {
    items += LegendItem(ColourStyle(i), view.families[i].empty() ? "given" : view.families[i]);
  }
  return "<ul class=\"legend\">\n" + items + more + "</ul>\n";
}

// A kernel in the roofline.
struct Dot {
  size_t kernel = 0;
  PlotPoint place;  // FLOP per byte, GFLOP/s
  double share = 0;
};

std::vector<Dot> DotsOf(const ArtefactView& view) {
  std::vector<double> moved = BytesOfCalls(view.artefact);
  std::vector<Dot> dots;
  double sum = 0;
  for (size_t k = 0; k < moved.size(); ++k) {
    const KernelTime& time = view.times->kernels[k];
    sum += time.seconds;
    auto flops = static_cast<double>(view.artefact.metadata.kernels[k].flops);
    if (flops <= 0 || moved[k] <= 0 || time.seconds <= 0) continue;
    double a_call = time.seconds / static_cast<double>(time.calls);
    dots.push_back({k, {flops / moved[k], flops / a_call * 1e-9}, time.seconds});
  }
  for (Dot& dot : dots) dot.share /= sum;
  std::ranges::stable_sort(dots, std::ranges::greater(), &Dot::share);
  return dots;
}

// Returns the call that writes each value of the graph itself or of a body, by name.
std::map<std::string, size_t> WritersOf(const Notes& notes) {
  std::map<std::string, size_t> writers;
  for (size_t i = 0; i < notes.calls.size(); ++i) {
    for (const OperandNotes& operand : notes.calls[i].writes) writers.emplace(operand.value, i);
  }
  return writers;
}

// Returns the step at which the most bytes are live.
std::pair<int64_t, double> Peak(const std::vector<ArenaValue>& arena) {
  std::map<int64_t, double> change;
  for (const ArenaValue& value : arena) {
    change[value.first] += static_cast<double>(value.bytes);
    change[value.last + 1] -= static_cast<double>(value.bytes);
  }
  double live = 0, most = 0;
  int64_t at = 0;
  for (const auto& [step, bytes] : change) {
    live += bytes;
    if (live > most) {
      most = live;
      at = step;
    }
  }
  return {at, most};
}

}  // namespace

std::string RooflineSection(const ArtefactView& view) {
  if (view.times == nullptr) return "";
  std::vector<Dot> dots = DotsOf(view);
  const DevicePeaks& peaks = view.times->peaks;
  if (dots.empty() || peaks.fma_gflops <= 0 || peaks.memory_gbytes <= 0) return "";
  const double ridge = peaks.fma_gflops / peaks.memory_gbytes;
  double left = ridge / 10, right = ridge * 10, low = peaks.fma_gflops / 1000;
  double high = peaks.fma_gflops * 2;
  for (const Dot& dot : dots) {
    left = std::min(left, dot.place.x / 2);
    right = std::max(right, dot.place.x * 2);
    low = std::min(low, dot.place.y / 2);
    high = std::max(high, dot.place.y * 2);
  }
  PlotFrame frame("Roofline of the kernels", kWide,
                  {.label = "FLOP per byte", .first = left, .last = right, .logarithmic = true},
                  {.label = "GFLOP/s", .first = low, .last = high, .logarithmic = true});
  const double begin = std::max(left, low / peaks.memory_gbytes);
  frame.AddLine(
      "whole",
      {{begin, begin * peaks.memory_gbytes}, {ridge, peaks.fma_gflops}, {right, peaks.fma_gflops}});
  for (const Dot& dot : dots) {
    const KernelInfo& kernel = view.artefact.metadata.kernels[dot.kernel];
    std::string title =
        fmt::format("{}: {:.1f} % of the time, {} GFLOP/s, {} FLOP per byte", kernel.name,
                    100 * dot.share, ReadableNumber(dot.place.y), ReadableNumber(dot.place.x));
    frame.AddCircle(view.notes ? FamilyStyle(view, dot.kernel) : "whole", dot.place,
                    std::max(kSmallest, kLargest * std::sqrt(dot.share)), title);
  }
  std::string note =
      "The line is what the machine can do: its memory on the left, its multiply-adds on the "
      "right. A kernel above the line finds its bytes in a cache. The area of a circle is its "
      "share "
      "of the time.";
  return HtmlSection("Roofline", HtmlParagraph("note", note) + (view.notes ? Legend(view) : "") +
                                     "<figure class=\"wide\">\n" + std::move(frame).Take() +
                                     "</figure>\n");
}

std::string ArenaSection(const ArtefactView& view) {
  if (view.notes == nullptr || view.notes->arena.empty()) return "";
  const std::vector<ArenaValue>& arena = view.notes->arena;
  int64_t steps = 1;
  double sum = 0;  // 64 bits may not hold that of forged notes
  for (const ArenaValue& value : arena) {
    steps = std::max(steps, value.last + 1);
    sum += static_cast<double>(value.bytes);
  }
  auto top = static_cast<double>(view.artefact.plan.arena_bytes.AsConstant().value_or(0));
  if (top <= 0) return "";
  const double unit = top >= kMebibyte ? kMebibyte : 1024.0;
  PlotFrame frame("Values in the arena over the steps of a run", kWide,
                  {.label = "step", .last = static_cast<double>(steps)},
                  {.label = unit == kMebibyte ? "MiB" : "KiB", .last = top / unit});
  std::map<std::string, size_t> writers = WritersOf(*view.notes);
  std::string others;  // in the legend
  for (const ArenaValue& value : arena) {
    auto writer = writers.find(value.name);
    std::string style = "whole", by;
    if (writer == writers.end()) {
      others =
          LegendItem(style, "written by no kernel: copied, or carried from step to step by a loop");
    } else {
      size_t kernel = view.notes->calls[writer->second].kernel;
      style = FamilyStyle(view, kernel);
      by =
          fmt::format(", written by call {}, {}", writer->second, view.notes->kernels[kernel].name);
    }
    std::string title = fmt::format("{}: {} at {}, steps {} to {}{}", value.name,
                                    ReadableBytes(static_cast<uint64_t>(value.bytes)), value.offset,
                                    value.first, value.last, by);
    frame.AddBox(style,
                 {static_cast<double>(value.first), static_cast<double>(value.offset) / unit},
                 {static_cast<double>(value.last + 1),
                  static_cast<double>(value.offset + value.bytes) / unit},
                 title);
  }
  auto [at, most] = Peak(arena);
  frame.AddLine("whole", {{static_cast<double>(at), 0}, {static_cast<double>(at), top / unit}});
  std::string note = fmt::format(
      "Each box is a value, from its first step to its last, at its place; steps of a loop's body "
      "are counted once. At the line, step {}, the most is live: {} of an arena of {}. Without "
      "reuse the values would take {}.",
      at, ReadableBytes(static_cast<uint64_t>(most)), ReadableBytes(static_cast<uint64_t>(top)),
      ReadableBytes(static_cast<uint64_t>(sum)));
  return HtmlSection("Arena", HtmlParagraph("note", note) + Legend(view, others) +
                                  "<figure class=\"wide\">\n" + std::move(frame).Take() +
                                  "</figure>\n");
}

}  // namespace tcc
