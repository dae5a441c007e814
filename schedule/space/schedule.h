#pragma once

#include <map>
#include <string>

#include "schedule/space/trace.h"

namespace tcc {

// A trace for one of a task's variants, and the decisions about its sizes. The text is the trace's,
// with a line "set NAME VALUE" per decision, and "variant N" unless it is the direct variant,
// number 0.
struct Schedule {
  Trace trace;
  Decisions decisions;
  size_t variant = 0;
};

std::string Print(const Schedule& schedule);
// Errors name the line.
StatusOr<Schedule> ParseSchedule(const std::string& text);

// The schedules by the name of the kernel that each is for.
using Schedules = std::map<std::string, Schedule>;

}  // namespace tcc
