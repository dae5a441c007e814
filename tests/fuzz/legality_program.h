#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedule/space/space.h"
#include "tests/programs/formula_check.h"

// What tcc-fuzz legality looks at: symbolic programs with the limits of a target, and points of
// them that satisfy the limits or break them.
namespace tcc {

struct LegalityProgram {
  std::string name;
  Function fn;
  Target target;
  SymbolicProgram symbolic;    // with the target's limits
  Constraints asked_by_steps;  // without them
};

// A sketch of a random function or, on a CPU, a random trace. Error: a trace that is not legal.
StatusOr<LegalityProgram> RandomLegalityProgram(Random& random);
// A sketch of a random function for the GPU.
StatusOr<LegalityProgram> RandomGpuProgram(const Target& target, Random& random);
// Every sketch with free sizes of every operator of the built-in networks.
std::vector<LegalityProgram> ZooLegalityPrograms(const Target& target);

// The program's name, the point and the trace.
std::string Describe(const LegalityProgram& program, const Decisions& decisions);

// Whether a point of which the marked loops are known fits its machine, and else what is too large.
bool Runs(const LoweredPoint& point, const Target& target);
std::string WhyNot(const LoweredPoint& point, const Target& target);

// Without what it is of: "at most 1024 threads a block".
std::string KindOf(const Constraint& constraint);

// Which points a program turned out to have.
struct FoundPoints {
  bool legal = false;
  bool broken = false;
};

// Looks at programs until there was a legal point and a broken one: even seeds start with the next
// of the built-in networks' (`zoo`), then come random ones. Error: none of fifty had such points,
// or what `look` says.
Status LookForBoth(
    uint64_t seed, const std::vector<LegalityProgram>& zoo,
    const std::function<StatusOr<LegalityProgram>(Random&)>& draw,
    const std::function<StatusOr<FoundPoints>(const LegalityProgram&, Random&)>& look);

}  // namespace tcc
