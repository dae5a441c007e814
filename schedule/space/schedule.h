#pragma once

#include <map>
#include <string>

#include "schedule/space/trace.h"

namespace tcc {

// A trace for one of a task's variants and what is decided about its sizes. The text is the
// trace's, with a line "set NAME VALUE" for each decision, and "variant N" where it is not the
// direct one, number 0.
struct Schedule {
  Trace trace;
  Decisions decisions;
  size_t variant = 0;
};

std::string Print(const Schedule& schedule);
// Errors name the line.
StatusOr<Schedule> ParseSchedule(const std::string& text);

// By the name of the kernel that they are for.
using Schedules = std::map<std::string, Schedule>;

}  // namespace tcc
