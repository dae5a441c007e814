#include "cli/layer_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/print_json.h"
#include "cli/text_table.h"

namespace tcc {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kRows = 10;  // of the table

Json ErrorJson(const Comparison& error, const std::vector<int64_t>& shape) {
  Json at;
  if (error.largest >= 0) at = fmt::format("[{}]", PositionText(error.largest, shape));
  return {{"elements", error.elements},
          {"differ", error.different},
          {"largest", error.max_abs_error},
          {"at", at},
          {"tolerances", error.max_error_in_tolerances}};
}

Json CallJson(const CheckedCall& checked, const Notes& notes) {
  Json own;
  if (checked.own) own = ErrorJson(*checked.own, checked.shape);
  return {{"call", checked.call},
          {"kernel", notes.kernels[checked.kernel].name},
          {"nodes", notes.calls[checked.call].nodes},
          {"value", checked.value},
          {"shape", checked.shape},
          {"total", ErrorJson(checked.total, checked.shape)},
          {"own", own}};
}

std::string FirstToDiffer(const CheckedCall& checked, const Notes& notes) {
  const Comparison& own = *checked.own;
  return fmt::format("{} ({}): {} of {} elements, largest {:.2g} at [{}]",
                     notes.kernels[checked.kernel].name,
                     fmt::join(notes.calls[checked.call].nodes, ", "), own.different, own.elements,
                     own.max_abs_error, PositionText(own.largest, checked.shape));
}

// Wrong kernels come first, then by error.
bool IsWorse(const CheckedCall& a, const CheckedCall& b) {
  auto rank = [](const CheckedCall& c) {
    double own = c.own ? c.own->max_error_in_tolerances : 0;
    return std::tuple(c.differs(), own, c.total.max_error_in_tolerances);
  };
  return rank(a) > rank(b);
}

// Returns two digits, or all before the point.
std::string ShareText(double tolerances) {
  constexpr double kMostWhole = 1e6;
  bool whole = tolerances >= 100 && tolerances < kMostWhole;
  return whole ? fmt::format("{:.0f}", tolerances) : fmt::format("{:.2g}", tolerances);
}

void PrintTable(std::span<const CheckedCall> calls, const Notes& notes) {
  std::vector<CheckedCall> worst(calls.begin(), calls.end());
  std::ranges::stable_sort(worst, IsWorse);
  worst.resize(std::min(worst.size(), kRows));
  std::vector<std::vector<std::string>> rows = {{"call", "elements", "differ", "largest error",
                                                 "in tolerances", "own differ", "own in tolerances",
                                                 "kernel: nodes"}};
  for (const CheckedCall& c : worst) {
    rows.push_back({fmt::format("{}", c.call), fmt::format("{}", c.total.elements),
                    fmt::format("{}", c.total.different),
                    fmt::format("{:.2g}", c.total.max_abs_error),
                    ShareText(c.total.max_error_in_tolerances),
                    c.own ? fmt::format("{}", c.own->different) : "",
                    c.own ? ShareText(c.own->max_error_in_tolerances) : "",
                    notes.kernels[c.kernel].name + ": " + NamesText(notes.calls[c.call].nodes)});
  }
  fmt::print("{}", TextTable(rows, ""));
}

}  // namespace

Status ReportLayers(std::span<const CheckedCall> calls, const Notes& notes, LayerFormat format) {
  auto first = std::ranges::find_if(calls, &CheckedCall::differs);
  std::string what = first == calls.end() ? "" : FirstToDiffer(*first, notes);
  if (format == LayerFormat::kJson) {
    Json list = Json::array();
    for (const CheckedCall& checked : calls) list.push_back(CallJson(checked, notes));
    Json first_call;
    if (first != calls.end()) first_call = first->call;
    PrintJson("tcc.layers/1", {{"calls", list}, {"first_to_differ", first_call}});
  } else {
    PrintTable(calls, notes);
    auto excused = std::ranges::count_if(
        calls, [](const CheckedCall& checked) { return checked.own && !checked.differs(); });
    if (excused > 0) {
      fmt::print("{} of {} calls differ by what they inherit or by rounding\n", excused,
                 calls.size());
    }
    fmt::print("{}\n", what.empty() ? "no kernel differs" : "first to differ: " + what);
  }
  return what.empty() ? OkStatus() : WrongResult("kernel {}", what);
}

}  // namespace tcc
