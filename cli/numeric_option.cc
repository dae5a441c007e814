#include "cli/numeric_option.h"
#include "cli/standard_error.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <ranges>

#include <cstdio>

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

void TellStrictKernels(const Metadata& metadata) {
  std::string_view mode = PropertyOf(metadata, "numeric");
  std::string_view strict = PropertyOf(metadata, "strict_kernels");
  if (!strict.empty()) {
    TellError("tcc: --numeric {}: these kernels stay strict: {}\n", mode, strict);
  } else if (PropertyOf(metadata, "rounded_kernels") == "0") {
    TellError("tcc: --numeric {}: there is no contraction of f32 to round\n", mode);
  }
}

}  // namespace tcc
