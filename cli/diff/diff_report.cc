#include "cli/diff/diff_report.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/diff/changed_lines.h"
#include "cli/kernel_facts.h"
#include "cli/print_json.h"
#include "cli/readable_units.h"
#include "cli/text_table.h"

namespace tcc {
namespace {

using Json = nlohmann::ordered_json;

// A match with what is printed of it.
struct Row {
  const KernelMatch* match;
  std::optional<MatchTimes> times;
};

// One of the two models, with how often the plan calls each kernel.
struct Side {
  explicit Side(const NamedArtefact& named)
      : artefact(named.artefact), calls(CallsOfKernels(named.artefact)), notes(named.kernels) {}

  const KernelInfo& kernel(size_t k) const { return artefact.metadata.kernels[k]; }

  const Artefact& artefact;
  std::vector<int64_t> calls;
  const std::vector<KernelNotes>& notes;  // empty where the file has none
};

int64_t CodeBytes(const KernelInfo& kernel) {
  return StatisticOf(kernel, "code_bytes").value_or(0);
}

// Returns a sum over kernels.
int64_t Sum(const std::vector<size_t>& kernels, const std::function<int64_t(size_t)>& of) {
  return std::accumulate(kernels.begin(), kernels.end(), int64_t{0},
                         [&](int64_t sum, size_t kernel) { return sum + of(kernel); });
}

int64_t Calls(const Side& side, const std::vector<size_t>& kernels) {
  return Sum(kernels, [&](size_t kernel) { return side.calls[kernel]; });
}

int64_t CodeBytes(const Side& side, const std::vector<size_t>& kernels) {
  return Sum(kernels, [&](size_t k) { return CodeBytes(side.kernel(k)); });
}

// Returns what the file says of a kernel as numbers.
std::map<std::string, double> FactsOf(const Side& side, size_t kernel) {
  const KernelInfo& info = side.kernel(kernel);
  std::map<std::string, double> facts = {{"calls", static_cast<double>(side.calls[kernel])},
                                         {"flops", static_cast<double>(info.flops)}};
  for (const auto& [key, value] : info.statistics) facts[key] = static_cast<double>(value);
  facts.insert(info.ratios.begin(), info.ratios.end());
  return facts;
}

// Returns the names of the facts that differ or that one of the two lacks.
std::vector<std::string> ChangedFacts(const Side& a, size_t a_kernel, const Side& b,
                                      size_t b_kernel) {
  std::map<std::string, double> before = FactsOf(a, a_kernel), after = FactsOf(b, b_kernel);
  std::vector<std::string> changed;
  for (const auto& [key, value] : before) {
    auto found = after.find(key);
    if (found == after.end() || found->second != value) changed.push_back(key);
  }
  for (const auto& [key, value] : after) {
    if (!before.contains(key)) changed.push_back(key);
  }
  if (!a.notes.empty() && !b.notes.empty() &&
      a.notes[a_kernel].schedule != b.notes[b_kernel].schedule) {
    changed.push_back("schedule");
  }
  return changed;
}

// Returns the steps of schedules that only one side of a pair has; none where notes are missing.
std::vector<std::string> ChangedSteps(const KernelMatch& match, const Side& a, const Side& b) {
  if (match.a.size() != 1 || match.b.size() != 1 || a.notes.empty() || b.notes.empty()) return {};
  return ChangedLines(a.notes[match.a[0]].schedule, b.notes[match.b[0]].schedule);
}

bool IsPair(const KernelMatch& match) {
  return match.a.size() == 1 && match.b.size() == 1;
}

// Returns whether more than times tells the sides of a match apart.
bool Differs(const KernelMatch& match, const Side& a, const Side& b) {
  return !IsPair(match) || !ChangedFacts(a, match.a[0], b, match.b[0]).empty();
}

std::string NamesOf(const Side& side, const std::vector<size_t>& kernels) {
  std::vector<std::string> names;
  for (size_t kernel : kernels) names.push_back(side.kernel(kernel).name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

// Returns "conv1_relu: conv1 relu1", or "a, b -> c: ..." where the names differ.
std::string TitleOf(const KernelMatch& match, const Side& a, const Side& b) {
  std::string title = NamesOf(a, match.a), after = NamesOf(b, match.b);
  if (after != title) title += " -> " + after;
  std::vector<std::string> nodes;
  for (size_t kernel : match.a) {
    const std::vector<std::string>& more = a.kernel(kernel).nodes;
    nodes.insert(nodes.end(), more.begin(), more.end());
  }
  if (nodes.empty()) nodes = b.kernel(match.b[0]).nodes;
  return title + ": " + NamesText(nodes);
}

std::string NumericOf(const Artefact& artefact) {
  std::string_view name = PropertyOf(artefact.metadata, "numeric");
  return name.empty() ? "strict" : std::string(name);
}

// Returns how many kernels have a schedule of a database, 0 where the file does not say.
int64_t TunedKernels(const Artefact& artefact) {
  std::string_view text = PropertyOf(artefact.metadata, "tuned_kernels");
  int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

// Prints the facts of both files side by side.
void PrintFacts(const NamedArtefact& a, const NamedArtefact& b) {
  std::vector<std::vector<std::string>> rows = {{"", "A", "B"}};
  auto add = [&](const char* name, const std::function<std::string(const Artefact&)>& of) {
    rows.push_back({name, of(a.artefact), of(b.artefact)});
  };
  rows.push_back({"file", a.file, b.file});
  add("target", [](const Artefact& artefact) { return artefact.target; });
  add("numeric", NumericOf);
  add("inputs", [](const Artefact& x) { return TypesText(x.metadata.inputs, x.metadata); });
  add("kernels", [](const Artefact& x) { return fmt::format("{}", x.metadata.kernels.size()); });
  add("tuned kernels", [](const Artefact& x) { return fmt::format("{}", TunedKernels(x)); });
  add("kernel code", [](const Artefact& x) { return ReadableBytes(x.kernels.bytes.size()); });
  add("weights", [](const Artefact& x) { return ReadableBytes(x.weights.bytes.size()); });
  add("arena", [](const Artefact& x) {
    std::optional<int64_t> bytes = x.plan.arena_bytes.AsConstant();
    return bytes ? ReadableBytes(static_cast<uint64_t>(*bytes)) : "by its sizes";
  });
  fmt::print("{}", TextTable(rows, ""));
}

// Returns the matches, with times in the order of the time that B loses.
std::vector<Row> RowsOf(const DiffReport& report) {
  std::vector<Row> rows;
  for (const KernelMatch& match : report.matches) {
    rows.push_back({&match, {}});
    if (report.times) rows.back().times = TimesOf(match, *report.times);
  }
  if (!report.times) return rows;
  std::ranges::stable_sort(rows, [](const Row& x, const Row& y) {
    return x.times->LostSeconds() > y.times->LostSeconds();
  });
  return rows;
}

std::string SpreadText(const RatioSpread& ratio) {
  if (ratio.median == 0) return "-";
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", ratio.median, ratio.low, ratio.high);
}

void PrintSteps(const Row& row, const Side& a, const Side& b, bool wanted) {
  if (!wanted) return;
  for (const std::string& line : ChangedSteps(*row.match, a, b)) fmt::print("    {}\n", line);
}

void PrintTimedRows(const std::vector<Row>& rows, const Side& a, const Side& b, bool steps) {
  fmt::print("{:>9} {:>9} {:>9} {:>21} {:>9} {:>9}  kernel: nodes\n", "ms A", "ms B", "B - A",
             "B / A", "code A", "code B");
  for (const Row& row : rows) {
    fmt::print("{:>9} {:>9} {:>9} {:>21} {:9} {:9}  {}\n",
               ReadableMilliseconds(row.times->a_seconds, 4),
               ReadableMilliseconds(row.times->b_seconds, 4),
               ReadableMilliseconds(row.times->LostSeconds(), 4), SpreadText(row.times->ratio),
               CodeBytes(a, row.match->a), CodeBytes(b, row.match->b), TitleOf(*row.match, a, b));
    PrintSteps(row, a, b, steps);
  }
}

// Prints the rows that differ in more than time.
void PrintChangedRows(const std::vector<Row>& rows, const Side& a, const Side& b, bool steps) {
  auto differs = [&](const Row& row) { return Differs(*row.match, a, b); };
  if (std::ranges::none_of(rows, differs)) return;
  fmt::print("{:>7} {:>7} {:>9} {:>9}  kernel: nodes\n", "calls A", "calls B", "code A", "code B");
  for (const Row& row : rows) {
    if (!differs(row)) continue;
    fmt::print("{:7} {:7} {:9} {:9}  {}\n", Calls(a, row.match->a), Calls(b, row.match->b),
               CodeBytes(a, row.match->a), CodeBytes(b, row.match->b), TitleOf(*row.match, a, b));
    PrintSteps(row, a, b, steps);
  }
}

Explanation ExplanationOf(const std::vector<Row>& rows, const RatioSpread& ratio) {
  std::vector<double> lost;
  for (const Row& row : rows) lost.push_back(row.times->LostSeconds());
  return Explain(std::move(lost), ratio.median > 1);
}

// Returns whether the middle half of the rounds agrees which of the two is slower.
bool IsClear(const RatioSpread& ratio) {
  return ratio.low > 1 || ratio.high < 1;
}

std::string Verdict(const std::vector<Row>& rows, const RatioSpread& ratio) {
  std::string text =
      fmt::format("B takes {:.2f} times A ({:.2f} to {:.2f})", ratio.median, ratio.low, ratio.high);
  if (!IsClear(ratio)) return text + "; the rounds do not agree which is slower";
  Explanation explanation = ExplanationOf(rows, ratio);
  if (explanation.matches == 0) return text + "; no kernel by itself explains it";
  return text + "; " + ExplanationText(explanation, ratio.median > 1);
}

Json SideJson(const NamedArtefact& named) {
  const Artefact& artefact = named.artefact;
  Json json = {{"file", named.file},
               {"model", artefact.metadata.model},
               {"target", artefact.target},
               {"numeric", NumericOf(artefact)},
               {"kernels", artefact.metadata.kernels.size()},
               {"tuned_kernels", TunedKernels(artefact)},
               {"kernels_bytes", artefact.kernels.bytes.size()},
               {"weights_bytes", artefact.weights.bytes.size()},
               {"arena_bytes", nullptr}};
  if (std::optional<int64_t> arena = artefact.plan.arena_bytes.AsConstant()) {
    json["arena_bytes"] = *arena;
  }
  return json;
}

Json KernelsJson(const Side& side, const std::vector<size_t>& kernels) {
  Json rows = Json::array();
  for (size_t kernel : kernels) {
    const KernelInfo& info = side.kernel(kernel);
    rows.push_back({{"name", info.name},
                    {"nodes", info.nodes},
                    {"flops", info.flops},
                    {"calls", side.calls[kernel]},
                    {"code_bytes", CodeBytes(info)}});
  }
  return rows;
}

Json SpreadJson(const RatioSpread& ratio) {
  if (ratio.median == 0) return nullptr;
  return {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}};
}

Json RowJson(const Row& row, const Side& a, const Side& b) {
  const KernelMatch& match = *row.match;
  Json json = {{"a", KernelsJson(a, match.a)}, {"b", KernelsJson(b, match.b)}};
  json["changed"] = nullptr;
  if (IsPair(match)) json["changed"] = ChangedFacts(a, match.a[0], b, match.b[0]);
  json["steps"] = ChangedSteps(match, a, b);
  if (row.times) {
    json["a_ms"] = row.times->a_seconds * 1e3;
    json["b_ms"] = row.times->b_seconds * 1e3;
    json["lost_ms"] = row.times->LostSeconds() * 1e3;
    json["ratio"] = SpreadJson(row.times->ratio);
  }
  return json;
}

Json TimesJson(const DiffReport& report, const std::vector<Row>& rows) {
  if (!report.times) return nullptr;
  RatioSpread ratio = SpreadOf(report.times->ratios);
  Explanation explanation = ExplanationOf(rows, ratio);
  return {{"rounds", report.rounds},
          {"a_ms", report.times->a_ms},
          {"b_ms", report.times->b_ms},
          {"ratio", SpreadJson(ratio)},
          {"kernel_timer", report.times->timer},
          {"explained_by", explanation.matches},
          {"explained_percent", explanation.percent}};
}

}  // namespace

void PrintDiffText(const DiffReport& report) {
  Side a(report.a), b(report.b);
  PrintFacts(report.a, report.b);
  std::vector<Row> rows = RowsOf(report);
  if (report.times) {
    fmt::print("kernels timed by {}, least of each\n", report.times->timer);
    PrintTimedRows(rows, a, b, report.schedules);
    fmt::print("{}\n", Verdict(rows, SpreadOf(report.times->ratios)));
    return;
  }
  PrintChangedRows(rows, a, b, report.schedules);
  auto differ =
      std::ranges::count_if(rows, [&](const Row& row) { return Differs(*row.match, a, b); });
  fmt::print("{} of {} differ{}\n", differ, Counted(rows.size(), "kernel"),
             differ == 0 ? " in what the files say" : "");
}

void PrintDiffJson(const DiffReport& report) {
  Side a(report.a), b(report.b);
  std::vector<Row> rows = RowsOf(report);
  Json kernels = Json::array();
  for (const Row& row : rows) kernels.push_back(RowJson(row, a, b));
  PrintJson("tcc.diff/1", {{"a", SideJson(report.a)},
                           {"b", SideJson(report.b)},
                           {"time", TimesJson(report, rows)},
                           {"kernels", kernels}});
}

}  // namespace tcc
