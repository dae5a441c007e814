#include "tests/fuzz/step_table.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tests/programs/random_step.h"

namespace tcc {
namespace {

std::string KeyOf(std::string_view op, std::string_view step) {
  return fmt::format("pair {} x {}", op, step);
}

struct Never {
  std::vector<std::string_view> steps;
  std::vector<std::string_view> ops;  // empty: all
  std::vector<std::string_view> but;  // of them
  std::string_view why;
};

const Never kNever[] = {
    {{}, {}, {}, ""},
};

bool Has(const std::vector<std::string_view>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

void CountSteps(const std::string& op, const Trace& trace, Histogram& histogram) {
  for (const Step& step : trace.steps) ++histogram[KeyOf(op, StepNames()[step.index()])];
}

std::string_view WhyNever(std::string_view op, std::string_view step) {
  for (const Never& row : kNever) {
    if (!Has(row.steps, step) || Has(row.but, op)) continue;
    if (row.ops.empty() || Has(row.ops, op)) return row.why;
  }
  return "";
}

void ReportStepTable(std::span<const std::string> ops, int64_t points, FuzzResult& result) {
  fmt::print("{:20}", "");
  for (const std::string& op : ops) fmt::print(" {:>10}", op);
  fmt::print("\n");
  std::vector<std::string> missed, impossible;
  for (std::string_view step : StepNames()) {
    fmt::print("{:20}", step);
    for (const std::string& op : ops) {
      std::string pair = KeyOf(op, step).substr(5);
      auto count = result.histogram.extract(KeyOf(op, step));
      bool never = !WhyNever(op, step).empty();
      if (!count && !never) missed.push_back(pair);
      if (count && never) impossible.push_back(pair);
      fmt::print(" {:>10}", count ? std::to_string(count.mapped()) : never ? "-" : "0");
    }
    fmt::print("\n");
  }
  if (!missed.empty()) fmt::print("legal pairs that were not drawn: {}\n", fmt::join(missed, ", "));
  if (!impossible.empty()) {
    fmt::print("drawn though they are said never to be legal: {}\n", fmt::join(impossible, ", "));
  }
  result.failed += std::ssize(impossible);
  if (points >= kPointsForAllPairs) result.failed += std::ssize(missed);
}

}  // namespace tcc
