#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>

#include "support/status.h"

namespace tcc {

// The action of a subcommand, which runs once its options are parsed.
using BenchAction = std::function<Status()>;

struct BenchSubcommand {
  std::string_view name;
  std::string_view summary;
  // Adds the subcommand's options to `app`. The action keeps them alive.
  BenchAction (*declare)(CLI::App& app);
};

// Refuses nan, which CLI::Range lets through: it is neither below nor above a bound.
inline std::string RefuseNan(const std::string& text) {
  double value = 0;
  bool is_nan = CLI::detail::lexical_cast(text, value) && std::isnan(value);
  return is_nan ? "expected a number, got '" + text + "'" : "";
}

BenchAction DeclareCalibrate(CLI::App& app);
BenchAction DeclareConstruct(CLI::App& app);
BenchAction DeclareCosts(CLI::App& app);
BenchAction DeclareEstimate(CLI::App& app);
BenchAction DeclareFeatures(CLI::App& app);
BenchAction DeclareKernels(CLI::App& app);
BenchAction DeclareLattice(CLI::App& app);
BenchAction DeclareSearch(CLI::App& app);
BenchAction DeclareTuning(CLI::App& app);
BenchAction DeclareVdla(CLI::App& app);

}  // namespace tcc
