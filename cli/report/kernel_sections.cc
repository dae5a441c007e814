#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/readable_units.h"
#include "cli/report/html.h"
#include "cli/report/page_sections.h"
#include "cli/report/progress_plots.h"

namespace tcc {
namespace {

// Returns the numbers of tasks, those that save most time first.
std::vector<size_t> BySavedTime(const RunData& run) {
  std::vector<size_t> order;
  for (size_t t = 0; t < run.tasks.size(); ++t) order.push_back(t);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](size_t t) { return run.tasks[t].SavedSeconds(); });
  return order;
}

std::string OrDash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string RateText(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? fmt::format("{:.4g}", amount / seconds * 1e-9) : "-";
}

std::string PeakShareText(const RunTask& task, double fma_gflops) {
  if (task.flops <= 0 || task.best_seconds <= 0 || fma_gflops <= 0) return "-";
  return fmt::format("{:.1f} %", 100 * task.flops / task.best_seconds * 1e-9 / fma_gflops);
}

// Returns microseconds of what is below 0, too.
std::string SavedText(double seconds) {
  return (seconds < 0 ? "-" : "") + ReadableMicroseconds(std::abs(seconds));
}

std::vector<HtmlCell> RowOf(const RunTask& task, double fma_gflops) {
  double ratio = task.in_place_ratio;
  return {{.text = task.problem.empty() ? task.name : task.name + " (" + task.problem + ")"},
          NumericCell(fmt::format("{:g}", task.runs)),
          NumericCell(ReadableMicroseconds(task.constructed_seconds)),
          NumericCell(ReadableMicroseconds(task.best_seconds)),
          NumericCell(task.IsMeasured() ? fmt::format("{:.2f}x", task.Gain()) : "-"),
          NumericCell(ratio > 0 ? fmt::format("{:.2f}x", 1 / ratio) : "-"),
          NumericCell(task.IsMeasured() ? SavedText(task.SavedSeconds()) : "-"),
          NumericCell(std::to_string(task.trials)),
          {.text = OrDash(task.best_searcher)},
          {.text = OrDash(task.winner)},
          NumericCell(RateText(task.flops, task.best_seconds)),
          NumericCell(PeakShareText(task, fma_gflops)),
          NumericCell(RateText(task.moved_bytes, task.best_seconds))};
}

constexpr size_t kMaxPairs = 4'000'000;  // of lines that are compared

// A line of a text that is shown beside another text.
struct MarkedLine {
  std::string text;
  bool differs = false;  // the other text does not have it at this place
};

using Lines = std::vector<MarkedLine>;

Lines LinesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back().text = std::string(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void MarkAbsent(Lines& lines, const Lines& others) {
  std::set<std::string_view> known;
  for (const MarkedLine& line : others) known.insert(line.text);
  for (MarkedLine& line : lines) line.differs = !known.contains(line.text);
}

// lengths[i][j]: common lines of what follows line i of `a` and line j of `b`.
void MarkOutsideOfCommon(Lines& a, Lines& b) {
  std::vector<std::vector<uint32_t>> lengths(a.size() + 1, std::vector<uint32_t>(b.size() + 1));
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      lengths[i][j] = a[i].text == b[j].text ? lengths[i + 1][j + 1] + 1
                                             : std::max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i].text == b[j].text) {
      ++i;
      ++j;
    } else if (j == b.size() || (i < a.size() && lengths[i + 1][j] >= lengths[i][j + 1])) {
      a[i++].differs = true;
    } else {
      b[j++].differs = true;
    }
  }
}

// Marks the lines of both texts outside of a longest common subsequence. In texts of very many
// lines it marks the lines that the other one does not have anywhere.
std::pair<std::vector<MarkedLine>, std::vector<MarkedLine>> MarkDifferences(std::string_view a,
                                                                            std::string_view b) {
  std::pair<Lines, Lines> lines = {LinesOf(a), LinesOf(b)};
  if (lines.first.size() * lines.second.size() <= kMaxPairs) {
    MarkOutsideOfCommon(lines.first, lines.second);
  } else {
    MarkAbsent(lines.first, lines.second);
    MarkAbsent(lines.second, lines.first);
  }
  return lines;
}

std::string ScheduleText(const char* title, const std::vector<MarkedLine>& lines) {
  std::string text;
  for (const MarkedLine& line : lines) {
    text += line.differs ? fmt::format("<span class=\"differs\">{}</span>\n", Escaped(line.text))
                         : Escaped(line.text) + "\n";
  }
  return fmt::format("<div>\n<h3>{}</h3>\n<pre tabindex=\"0\">{}</pre>\n</div>\n", title, text);
}

std::string ScheduleDetails(const RunTask& task) {
  auto [constructed, best] = MarkDifferences(task.constructed_schedule, task.best_schedule);
  std::string summary = fmt::format("{}: {:.2f}x by {}", Escaped(task.name), task.Gain(),
                                    Escaped(OrDash(task.best_searcher)));
  if (task.in_place_ratio > 0 && task.winner != task.best_searcher) {
    summary += fmt::format("; in place {} won", Escaped(OrDash(task.winner)));
  }
  return fmt::format(
      "<details>\n<summary>{}</summary>\n<div class=\"pair\">\n{}{}</div>\n</details>\n", summary,
      ScheduleText("constructed", constructed), ScheduleText("fastest measured", best));
}

}  // namespace

std::string KernelTableSection(const RunData& run, const RunProgress& /*progress*/) {
  if (run.tasks.empty())
    return HtmlSection("Kernels", HtmlParagraph("note", "No kernel is known."));
  std::vector<std::vector<HtmlCell>> rows;
  for (size_t t : BySavedTime(run)) rows.push_back(RowOf(run.tasks[t], run.fma_gflops));
  std::string table = HtmlTable("Kernels",
                                {{.text = "kernel"},
                                 NumericCell("runs"),
                                 NumericCell("constructed us"),
                                 NumericCell("best us"),
                                 NumericCell("gain"),
                                 NumericCell("in place"),
                                 NumericCell("saved us"),
                                 NumericCell("trials"),
                                 {.text = "by"},
                                 {.text = "winner in place"},
                                 NumericCell("GFLOP/s"),
                                 NumericCell("of FMA peak"),
                                 NumericCell("GB/s")},
                                rows);
  return HtmlSection(
      "Kernels",
      table +
          HtmlParagraph(
              "note",
              "saved: per run of the network. in place: how many times as fast the winner of "
              "the comparison inside the network is. of FMA peak: the share of the most GFLOP/s "
              "that a loop of multiply-adds had beside a trial. The bandwidth of the memory is "
              "not measured, so that there is no roofline; GB/s counts what a kernel has to "
              "read and write."));
}

std::string KernelPlotSection(const RunData& run, const RunProgress& progress) {
  std::string plots;
  for (size_t t : BySavedTime(run)) {
    const RunTask& task = run.tasks[t];
    const TaskProgress& trials = progress.tasks[t];
    if (task.constructed_seconds <= 0 || trials.best.empty()) continue;
    std::string caption =
        fmt::format("{} <span class=\"note\">{:.2f}x</span>", Escaped(task.name), task.Gain());
    plots += fmt::format("<figure>\n<figcaption>{}</figcaption>\n{}</figure>\n", caption,
                         TaskPlot(task, trials, progress.searchers.size()));
  }
  if (plots.empty()) {
    return HtmlSection("Trials of kernels",
                       HtmlParagraph("note", "No kernel became faster in this run."));
  }
  std::string note = fmt::format(
      "Kernels that became faster. A circle is a trial, a large one improved the best; a cross at "
      "the top is a trial without a time. Times beyond 4 are drawn at 4; of more than {} trials "
      "about as many are drawn.",
      kMaxMarks);
  return HtmlSection("Trials of kernels", HtmlParagraph("note", note) + SearcherLegend(progress) +
                                              "<div class=\"small\">\n" + plots + "</div>\n");
}

std::string ScheduleSection(const RunData& run, const RunProgress& /*progress*/) {
  std::string details;
  size_t kept = 0;
  for (size_t t : BySavedTime(run)) {
    const RunTask& task = run.tasks[t];
    if (task.best_schedule.empty()) continue;
    if (task.best_schedule == task.constructed_schedule) {
      ++kept;
    } else {
      details += ScheduleDetails(task);
    }
  }
  std::string note = "run.json holds no schedules.";
  if (!details.empty() || kept > 0) {
    note = fmt::format(
        "Lines that differ are marked. Kernels whose fastest schedule is the constructed one: {}.",
        kept);
  }
  return HtmlSection("Schedules", HtmlParagraph("note", note) + details);
}

}  // namespace tcc
