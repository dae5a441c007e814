#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedule/space.h"
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

// "at most 1024 threads a block".
std::string KindOf(const Constraint& constraint);

// The first constraint of legality, or of speed (registers and caches: what breaks these runs all
// the same), that does not hold.
const Constraint* FirstBroken(const LegalityProgram& program, const Decisions& decisions,
                              bool of_speed);

// What breaks constraints is refused when it is replayed, or too large for the machine, or becomes
// more copies than is allowed.
bool IsTrulyIllegal(const LegalityProgram& program, const Decisions& decisions);

// A point that breaks a constraint of legality, and one that breaks constraints of speed alone, as
// far as they are met with.
struct BrokenPoints {
  std::optional<Decisions> illegal, slow;
};
BrokenPoints FindBroken(const LegalityProgram& program, const SearchSpace& space, Random& random);

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
