#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "cli/kernel_bound.h"
#include "cli/kernel_facts.h"
#include "cli/readable_units.h"
#include "cli/report/artefact_page.h"
#include "cli/report/html.h"

namespace tcc {
namespace {

using Cells = std::vector<HtmlCell>;

// The nodes that a list of a graph has at most, and the bytes of a schedule: pages stay small.
constexpr size_t kMostNodes = 3000;
constexpr size_t kMostScheduleBytes = size_t{16} << 10;

std::string Details(std::string_view summary, const std::string& content) {
  return fmt::format("<details>\n<summary>{}</summary>\n{}</details>\n", Escaped(summary), content);
}

std::string Facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string text = "<dl>\n";
  for (const auto& [name, value] : facts) {
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", Escaped(name), Escaped(value));
  }
  return text + "</dl>\n";
}

std::string StatisticText(const KernelInfo& kernel, std::string_view key) {
  std::optional<int64_t> bytes = StatisticOf(kernel, key);
  return bytes ? ReadableBytes(static_cast<uint64_t>(*bytes)) : "";
}

// Returns "conv1 and 7 more".
std::string FirstName(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  return names.size() == 1 ? names[0] : fmt::format("{} and {} more", names[0], names.size() - 1);
}

double SumOf(const KernelTimes& times) {
  return std::accumulate(times.kernels.begin(), times.kernels.end(), 0.0,
                         [](double sum, const KernelTime& time) { return sum + time.seconds; });
}

// Returns the calls of each kernel in the run that was timed, else in the plan.
std::vector<int64_t> CallsOf(const ArtefactView& view) {
  if (view.times == nullptr) return CallsOfKernels(view.artefact);
  std::vector<int64_t> calls;
  for (const KernelTime& time : view.times->kernels) calls.push_back(time.calls);
  return calls;
}

// Adds what a kernel took in the columns of KernelSection.
void AddTimes(const KernelTimes& times, size_t k, const KernelInfo& kernel, double moved,
              const KernelBound& bound, Cells& row) {
  const KernelTime& time = times.kernels[k];
  const double sum = SumOf(times);
  const double a_call = time.calls > 0 ? time.seconds / static_cast<double>(time.calls) : 0;
  auto add = [&](double value, const std::string& text) {
    row.push_back(NumericCell(a_call > 0 && value > 0 ? text : ""));
  };
  row.push_back(NumericCell(ReadableMicroseconds(time.seconds)));
  const double share = sum > 0 ? 100 * time.seconds / sum : 0;
  const double gflops = static_cast<double>(kernel.flops) / a_call * 1e-9;
  const double gbytes = moved / a_call * 1e-9, of_bound = 100 * bound.seconds / a_call;
  add(share, fmt::format("{:.1f} %", share));
  add(gflops, ReadableNumber(gflops));
  add(gbytes, ReadableNumber(gbytes));
  add(of_bound, fmt::format("{:.0f} %", of_bound));
  row.push_back({bound.of});
}

// A body by the nodes and numbers of the bodies around it.
using Within = std::vector<std::pair<size_t, size_t>>;

// Rows of the nodes of a graph and of its bodies, with the call that computes each.
class NodeRows {
 public:
  explicit NodeRows(const ArtefactView& view) : view_(view) {}

  // Finds the calls of the nodes. For the graph after the passes: an imported node may have the
  // name of one of its nodes.
  void FindCalls() {
    for (size_t i = 0; i < view_.notes->calls.size(); ++i) {
      const CallNotes& call = view_.notes->calls[i];
      Within within;
      for (const BodyPlace& place : call.within) within.emplace_back(place.node, place.body);
      for (const std::string& node : call.nodes) call_of_.emplace(std::pair(within, node), i);
    }
  }

  void Add(const GraphNotes& graph, const Within& within = {}) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const NodeNotes& node = graph.nodes[n];
      if (++count_ > kMostNodes) continue;
      Cells row = {{std::string(2 * within.size(), ' ') + node.name},
                   {node.op},
                   {fmt::format("{}", fmt::join(node.inputs, ", "))},
                   {OutputsText(graph, node)}};
      if (!call_of_.empty()) row.push_back({CallText(within, node.name)});
      rows_.push_back(std::move(row));
      for (size_t b = 0; b < node.bodies.size(); ++b) {
        Within inside = within;
        inside.emplace_back(n, b);
        Add(node.bodies[b], inside);
      }
    }
  }

  std::string Table(std::string_view label) const {
    Cells head = {{"node"}, {"operator"}, {"operands"}, {"results"}};
    if (!call_of_.empty()) head.push_back({"call: kernel"});
    std::string text = HtmlTable(label, head, rows_);
    if (count_ <= kMostNodes) return text;
    return text +
           HtmlParagraph("note", fmt::format("{} more nodes are not shown.", count_ - kMostNodes));
  }
  size_t count() const { return count_; }

 private:
  static std::string OutputsText(const GraphNotes& graph, const NodeNotes& node) {
    std::vector<std::string> texts;
    for (const std::string& value : node.outputs) {
      auto type = graph.types.find(value);
      texts.push_back(type == graph.types.end() ? value : value + " " + type->second);
    }
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  std::string CallText(const Within& within, const std::string& node) const {
    auto call = call_of_.find(std::pair(within, node));
    if (call == call_of_.end()) return "";
    const CallNotes& notes = view_.notes->calls[call->second];
    return fmt::format("{}: {}", call->second, view_.notes->kernels[notes.kernel].name);
  }

  const ArtefactView& view_;
  std::map<std::pair<Within, std::string>, size_t> call_of_;
  std::vector<Cells> rows_;
  size_t count_ = 0;
};

std::string PassTable(const Notes& notes) {
  std::vector<Cells> rows;
  for (const PassNotes& pass : notes.passes) {
    rows.push_back({{pass.name},
                    NumericCell(fmt::format("{}", pass.nodes_before)),
                    NumericCell(fmt::format("{}", pass.nodes_after))});
  }
  return HtmlTable("Graph passes", {{"pass"}, NumericCell("nodes before"), NumericCell("after")},
                   rows);
}

std::string ScheduleText(const std::string& schedule) {
  if (schedule.size() <= kMostScheduleBytes) return schedule;
  return fmt::format("{}\n... {} bytes more; tcc inspect --kernel shows all",
                     schedule.substr(0, schedule.rfind('\n', kMostScheduleBytes)),
                     schedule.size() - kMostScheduleBytes);
}

}  // namespace

std::string SummarySection(const ArtefactView& view) {
  const Artefact& artefact = view.artefact;
  const Metadata& metadata = artefact.metadata;
  std::vector<int64_t> calls = CallsOf(view);
  const char* counted = view.times != nullptr ? " in a run" : ", calls in loops counted once";
  double flops = 0;
  for (size_t k = 0; k < calls.size(); ++k) {
    flops += static_cast<double>(metadata.kernels[k].flops) * static_cast<double>(calls[k]);
  }
  std::vector<std::pair<std::string, std::string>> facts = {
      {"target", artefact.target},
      {"CPU features", fmt::format("{}", fmt::join(metadata.cpu_features, ", "))},
      {"inputs", TypesText(metadata.inputs, metadata)},
      {"outputs", TypesText(metadata.outputs, metadata)},
      {"work", ReadableFlops(flops) + counted},
      {"kernels", fmt::format("{} of {}, called {} times{}", calls.size(),
                              ReadableBytes(artefact.kernels.bytes.size()),
                              std::accumulate(calls.begin(), calls.end(), int64_t{0}), counted)},
      {"weights", ReadableBytes(artefact.weights.bytes.size())}};
  if (std::optional<int64_t> arena = artefact.plan.arena_bytes.AsConstant()) {
    facts.emplace_back("arena", ReadableBytes(static_cast<uint64_t>(*arena)));
  }
  for (const auto& [key, value] : metadata.properties) facts.emplace_back(key, value);
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  if (view.times != nullptr) {
    const DevicePeaks& peaks = view.times->peaks;
    const std::string known =
        fmt::format("{:.0f} GFLOP/s, {:.1f} GB/s", peaks.fma_gflops, peaks.memory_gbytes);
    facts.emplace_back(
        "time", fmt::format("{:.3g} ms in kernels, on {}; peaks {}", 1e3 * SumOf(*view.times),
                            view.times->machine, peaks.fma_gflops > 0 ? known : "unknown"));
  }
  std::string note;
  if (view.times != nullptr && !view.times->warning.empty()) {
    note += HtmlParagraph("bad", "Warning: " + view.times->warning);
  }
  if (view.notes == nullptr) {
    note += HtmlParagraph("note",
                          "The model was compiled without notes: its graph, arena and "
                          "schedules are not known.");
  }
  return HtmlSection("Summary", Facts(facts) + note);
}

std::string KernelSection(const ArtefactView& view) {
  const std::vector<KernelInfo>& kernels = view.artefact.metadata.kernels;
  std::vector<size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Cells head = {{"kernel"}};
  std::vector<KernelBound> bounds;
  if (view.times != nullptr) {
    bounds = BoundsOf(view.artefact, view.times->peaks);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](size_t k) { return view.times->kernels[k].seconds; });
    for (const char* name : {"us in a run", "share", "GFLOP/s", "GB/s", "of its bound"}) {
      head.push_back(NumericCell(name));
    }
    head.push_back({"bound by"});
  }
  head.push_back(NumericCell(view.times != nullptr ? "calls in a run" : "calls of the plan"));
  for (const char* name : {"work of a call", "moved by a call", "code"}) {
    head.push_back(NumericCell(name));
  }
  head.push_back({view.notes != nullptr ? "sketch" : "nodes"});

  std::vector<int64_t> calls = CallsOf(view);
  std::vector<double> moved = BytesOfCalls(view.artefact);
  std::vector<Cells> rows;
  for (size_t k : order) {
    const KernelInfo& kernel = kernels[k];
    Cells& row = rows.emplace_back(Cells{{kernel.name}});
    if (view.times != nullptr) AddTimes(*view.times, k, kernel, moved[k], bounds[k], row);
    row.push_back(NumericCell(fmt::format("{}", calls[k])));
    row.push_back(NumericCell(ReadableFlops(static_cast<double>(kernel.flops))));
    row.push_back(NumericCell(ReadableBytes(static_cast<uint64_t>(moved[k]))));
    row.push_back(NumericCell(StatisticText(kernel, "code_bytes")));
    if (view.notes != nullptr) {
      const KernelNotes& notes = view.notes->kernels[k];
      row.push_back({notes.sketch + (notes.tuned ? ", tuned" : "")});
    } else {
      row.push_back({FirstName(kernel.nodes)});
    }
  }
  std::string note = view.times == nullptr
                         ? "--time measures them on the machine that makes the page."
                         : "Work is that of the direct way to compute a kernel: where Winograd's "
                           "takes fewer products, a kernel may be faster than its bound.";
  return HtmlSection("Kernels", HtmlParagraph("note", note) + HtmlTable("Kernels", head, rows));
}

std::string GraphSection(const ArtefactView& view) {
  if (view.notes == nullptr) return "";
  NodeRows before(view), after(view);
  before.Add(view.notes->before);
  after.FindCalls();
  after.Add(view.notes->after);
  return HtmlSection(
      "Graph",
      Details("What each graph pass leaves", PassTable(*view.notes)) +
          Details(fmt::format("As it was imported: {}", Counted(before.count(), "node")),
                  before.Table("Nodes as they were imported")) +
          Details(fmt::format("As it is computed: {} in {}", Counted(after.count(), "node"),
                              Counted(view.notes->calls.size(), "call")),
                  after.Table("Nodes after the graph passes")));
}

std::string KernelScheduleSection(const ArtefactView& view) {
  if (view.notes == nullptr) return "";
  std::string details;
  for (size_t k = 0; k < view.notes->kernels.size(); ++k) {
    const KernelNotes& kernel = view.notes->kernels[k];
    const std::vector<std::string>& nodes = view.artefact.metadata.kernels[k].nodes;
    std::string content = Facts({{"nodes", fmt::format("{}", fmt::join(nodes, ", "))},
                                 {"sketch", kernel.sketch},
                                 {"choice", fmt::format("{}", kernel.choice)},
                                 {"variant", fmt::format("{}", kernel.variant)},
                                 {"tuned", kernel.tuned ? kernel.record : "no"}});
    content +=
        fmt::format("<pre tabindex=\"0\">{}</pre>\n", Escaped(ScheduleText(kernel.schedule)));
    details += Details(kernel.name, content);
  }
  return HtmlSection("Schedules", details);
}

}  // namespace tcc
