#include "schedule/space/schedule.h"

#include <absl/strings/ascii.h>

#include <sstream>

namespace tcc {
namespace {

Status ParseDecision(const std::string& line, Decisions& decisions) {
  std::istringstream words(line);
  std::string keyword, name, rest;
  int64_t value = 0;
  if (!(words >> keyword >> name >> value) || (words >> rest)) {
    return InvalidInput("'{}'; expected 'set NAME VALUE'", line);
  }
  if (!decisions.emplace(name, value).second) {
    return InvalidInput("'{}' is set twice", name);
  }
  return OkStatus();
}

Status ParseVariant(const std::string& line, size_t& variant) {
  std::istringstream words(line);
  std::string keyword, rest;
  int64_t number = -1;
  if (!(words >> keyword >> number) || (words >> rest) || number < 0) {
    return InvalidInput("'{}'; expected 'variant NUMBER'", line);
  }
  variant = static_cast<size_t>(number);
  return OkStatus();
}

}  // namespace

std::string Print(const Schedule& schedule) {
  std::string text = schedule.variant ? fmt::format("variant {}\n", schedule.variant) : "";
  text += Print(schedule.trace);
  for (const auto& [name, value] : schedule.decisions)
    text += fmt::format("set {} {}\n", name, value);
  return text;
}

StatusOr<Schedule> ParseSchedule(const std::string& text) {
  Schedule schedule;
  std::string trace;  // with the decisions' lines left empty, so that line numbers hold
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    absl::StripAsciiWhitespace(&line);
    bool decides = line.starts_with("set "), chooses = line.starts_with("variant ");
    if (decides || chooses) {
      Status status =
          decides ? ParseDecision(line, schedule.decisions) : ParseVariant(line, schedule.variant);
      if (!status.ok()) return Annotate(status, fmt::format("line {}", number));
      line.clear();
    }
    trace += line + "\n";
  }
  TCC_ASSIGN_OR_RETURN(schedule.trace, ParseTrace(trace));
  return schedule;
}

}  // namespace tcc
