#include <fmt/format.h>

#include <map>
#include <utility>

#include "cli/readable_units.h"
#include "cli/report/html.h"
#include "cli/report/page_sections.h"
#include "cli/report/progress_plots.h"
#include "support/check.h"

namespace tcc {
namespace {

struct StateRow {
  const char* state;
  const char* meaning;
};
constexpr StateRow kStates[] = {
    {"running", "The run goes on, or its process was killed."},
    {"ended", "The run spent its budget, or expected no more of any kernel."},
    {"interrupted", "The run was interrupted; nothing was compared in the network."},
    {"failed", "The run failed."},
};

// Returns the row of a state; ReadRun refuses states that have none.
const StateRow& RowOf(const std::string& state) {
  for (const StateRow& row : kStates) {
    if (state == row.state) return row;
  }
  TCC_UNREACHABLE();
}

std::string TrialsText(const RunData& run) {
  std::map<std::string, size_t> statuses;
  for (const RunTrial& trial : run.trials) ++statuses[trial.status];
  std::string text;
  for (const auto& [status, count] : statuses) {
    text += fmt::format("{}{} {}", text.empty() ? ": " : ", ", count, status);
  }
  return Counted(run.trials.size(), "trial") + text;
}

std::string TimesText(const char* what, double constructed, double best) {
  return fmt::format("{}: constructed {} us, best {} us, {:.2f}x", what,
                     ReadableMicroseconds(constructed), ReadableMicroseconds(best),
                     best > 0 ? constructed / best : 1);
}

std::string SumText(const RunData& run) {
  double constructed = 0, best = 0;
  for (const RunTask& task : run.tasks) {
    if (!task.IsMeasured()) continue;
    constructed += task.runs * task.constructed_seconds;
    best += task.runs * task.best_seconds;
  }
  return TimesText("Sum of runs", constructed, best);
}

std::string Figure(const char* caption, const std::string& plot) {
  return fmt::format("<figure>\n<figcaption>{}</figcaption>\n{}</figure>\n", Escaped(caption),
                     plot);
}

std::string SearcherTable(const RunProgress& progress) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const SearcherTally& tally : progress.searchers) {
    double right = static_cast<double>(tally.right) / static_cast<double>(tally.trials);
    rows.push_back({{.text = tally.name},
                    NumericCell(std::to_string(tally.trials)),
                    NumericCell(fmt::format("{:.0f} %", 100 * right)),
                    NumericCell(std::to_string(tally.improvements)),
                    NumericCell(fmt::format("{:.3f}", tally.ln_gain))});
  }
  return HtmlTable("Searchers",
                   {{.text = "searcher"},
                    NumericCell("trials"),
                    NumericCell("right"),
                    NumericCell("improved a best"),
                    NumericCell("sum of ln gains")},
                   rows);
}

std::string WarningsText(const RunData& run) {
  if (run.warnings.empty()) return "";
  std::string items;
  std::map<std::string, size_t> counts;
  for (const std::string& warning : run.warnings) ++counts[warning];
  for (const auto& [warning, count] : counts) {
    items += fmt::format("<li>{}{}</li>\n", Escaped(warning),
                         count > 1 ? fmt::format(" ({} times)", count) : "");
  }
  return fmt::format("<h3>{}</h3>\n<ul>\n{}</ul>\n", Counted(run.warnings.size(), "warning"),
                     items);
}

}  // namespace

std::string SearcherLegend(const RunProgress& progress) {
  std::string items;
  for (size_t s = 0; s < progress.searchers.size(); ++s) {
    items += fmt::format("<li><span class=\"swatch {}\"></span>{}</li>\n", ColourStyle(s),
                         Escaped(progress.searchers[s].name));
  }
  return "<ul class=\"legend\">\n" + items + "</ul>\n";
}

std::string StateSection(const RunData& run, const RunProgress& /*progress*/) {
  const StateRow& row = RowOf(run.state);
  std::string text = fmt::format("<p><span class=\"state {}\">{}</span> {}</p>\n", row.state,
                                 row.state, row.meaning);
  if (!run.message.empty()) text += HtmlParagraph("bad", run.message);
  text += HtmlParagraph("figures", TrialsText(run));
  text += HtmlParagraph("figures", SumText(run));
  if (run.network_best_seconds > 0) {
    text += HtmlParagraph("figures", TimesText("In the network", run.network_constructed_seconds,
                                               run.network_best_seconds));
  }
  if (run.has_result) return text;
  return text +
         HtmlParagraph("note",
                       "run.json does not hold the run's result. How often the network calls "
                       "a kernel is not known; each counts once.");
}

std::string EnvironmentSection(const RunData& run, const RunProgress& /*progress*/) {
  std::string rows;
  auto add = [&](const std::string& label, const std::string& text) {
    rows += fmt::format("<dt>{}</dt><dd>{}</dd>\n", Escaped(label), Escaped(text));
  };
  for (const auto& [label, text] : run.facts) add(label, text);
  if (run.fma_gflops > 0) {
    add("multiply-adds", fmt::format("{:.4g} GFLOP/s in registers, the most that was measured "
                                     "beside a trial",
                                     run.fma_gflops));
  }
  return HtmlSection("Environment", "<dl>\n" + rows + "</dl>\n");
}

std::string NetworkSection(const RunData& run, const RunProgress& progress) {
  std::string text = HtmlParagraph(
      "note",
      "Left: the sum over kernels of calls times best seconds, relative to the constructed "
      "schedules. Right: how much each searcher lowered best times of kernels.");
  std::string plots;
  if (progress.network.empty()) {
    text += HtmlParagraph("note", "No kernel has a time of its constructed schedule.");
  } else {
    plots += Figure("Best over time", NetworkPlot(progress));
  }
  if (run.trials.empty()) {
    text += HtmlParagraph("note", "There was no trial.");
  } else {
    plots += Figure("Gain over trials", GainPlot(progress, run.trials.size()));
    text += SearcherLegend(progress);
  }
  return HtmlSection("Progress", text + "<div class=\"plots\">\n" + plots + "</div>\n");
}

std::string SearcherSection(const RunData& run, const RunProgress& progress) {
  if (run.trials.empty()) return "";
  return HtmlSection(
      "Searchers",
      SearcherTable(progress) +
          HtmlParagraph("note",
                        "right: trials that computed what the constructed schedule does. ln gain: "
                        "ln(best before / best after), for each best that a trial improved."));
}

std::string FailureSection(const RunData& run, const RunProgress& progress) {
  std::string text;
  if (progress.failures.empty()) {
    text = HtmlParagraph("note", "No trial failed.");
  } else {
    std::vector<std::vector<HtmlCell>> rows;
    for (const FailureTally& failure : progress.failures) {
      rows.push_back({{.text = failure.status},
                      NumericCell(std::to_string(failure.count)),
                      {.text = failure.task},
                      {.text = failure.message.empty() ? "-" : failure.message}});
    }
    text = HtmlTable(
        "Failures",
        {{.text = "status"}, NumericCell("trials"), {.text = "kernel"}, {.text = "first message"}},
        rows);
  }
  return HtmlSection("Failures", text + WarningsText(run));
}

}  // namespace tcc
