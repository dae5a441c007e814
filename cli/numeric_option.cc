#include "cli/numeric_option.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <ranges>

namespace tcc {

void AddNumericOption(CommandLine& line, std::string& name) {
  auto names = std::views::transform(NumericModes(), &NumericModeRow::name);
  name = RowOf(NumericMode::kStrict).name;
  line.AddOption("--numeric", name, "What f32 operands of contractions are rounded to")
      .TypeName(fmt::format("{}", fmt::join(names, "|")))
      .ShowDefault();
}

void AddWinogradOption(CommandLine& line, bool& no_winograd) {
  line.AddFlag("--no-winograd", no_winograd,
               "Compute every convolution directly, whatever its variants take");
}

StatusOr<NumericMode> NumericModeOf(const Metadata& metadata) {
  std::string_view name = PropertyOf(metadata, "numeric");
  return name.empty() ? NumericMode::kStrict : FindNumericMode(name);
}

void WarnOfStrictKernels(const Metadata& metadata, Progress& progress) {
  std::string_view mode = PropertyOf(metadata, "numeric");
  std::string_view strict = PropertyOf(metadata, "strict_kernels");
  if (!strict.empty()) {
    progress.Warn(fmt::format("--numeric {}: these kernels stay strict: {}", mode, strict));
  } else if (PropertyOf(metadata, "rounded_kernels") == "0") {
    progress.Warn(fmt::format("--numeric {}: there is no contraction of f32 to round", mode));
  }
}

}  // namespace tcc
