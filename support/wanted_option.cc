#include "support/wanted_option.h"

#include <absl/strings/str_split.h>

#include "support/printable.h"

namespace tcc {
namespace {

// The key of the status payload, which has a line per option: a digit and the option's key.
constexpr char kPayload[] = "tcc/wanted_options";

}  // namespace

Status WithOption(Status status, Option option, const std::string& key) {
  if (status.ok()) return status;
  absl::Cord lines = status.GetPayload(kPayload).value_or(absl::Cord());
  const std::string line = fmt::format("{}{}\n", static_cast<int>(option), Printable(key));
  // Append of a std::string is a template of Abseil's library whose name GCC and Clang, which
  // builds the libFuzzer targets, spell differently.
  lines.Append(absl::string_view(line));
  status.SetPayload(kPayload, lines);
  return status;
}

std::vector<WantedOption> WantedOptions(const Status& status) {
  std::vector<WantedOption> wanted;
  const auto payload = status.GetPayload(kPayload);
  if (!payload) return wanted;
  const std::string lines(*payload);
  for (const auto& line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    wanted.push_back({static_cast<Option>(line[0] - '0'), std::string(line.substr(1))});
  }
  return wanted;
}

}  // namespace tcc
