#pragma once

#include <optional>
#include <string>

#include "tests/fuzz/legality_program.h"

// Which points that break constraints cannot run, by what shows it apart from the constraints
// themselves, and which are only beyond bounds that are ours.
namespace tcc {

// What a constraint stands for.
enum class Ground : uint8_t {
  kStep,      // a step's condition on its sizes
  kMachine,   // what a device can launch: threads, blocks, shared memory
  kCap,       // ours, for the sake of speed or compile time: what breaks it lowers, compiles, runs
  kEstimate,  // ours, of registers and caches: what breaks it is thought to be slow
};
const char* ToString(Ground ground);

Ground GroundOf(const LegalityProgram& program, const Constraint& constraint);

// The first constraint on that ground that does not hold at the point.
const Constraint* FirstBroken(const LegalityProgram& program, const Decisions& decisions,
                              Ground ground);
// The first on the gravest ground.
const Constraint* GravestBroken(const LegalityProgram& program, const Decisions& decisions);

enum class Verdict : uint8_t {
  kImpossible,  // the point cannot run
  kRefused,     // it lowers within the machine, but a step refuses its known sizes
  kRuns,        // nothing shows that it cannot
  kNotKnown,    // its launches were not to be had
};
const char* ToString(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::kRuns;
  std::string why;
};

// Whether the point can run, whatever the formulas say. It cannot where it does not lower, or a
// launch of the lowered function is beyond what the CUDA programming guide gives the device. That a
// step refuses its known sizes is no proof of it: the step asks the very conditions that are
// judged.
Judgement Judge(const LegalityProgram& program, const Decisions& decisions);

// Which bound of ours the lowered function is beyond: copies of statements, virtual threads, lanes,
// whole warps, or the width or alignment of vectors. Empty: none.
std::string CapExceeded(const LegalityProgram& program, const Decisions& decisions);

// Points that break constraints, by the gravest ground that they break, as far as they are met
// with.
struct BrokenPoints {
  std::optional<Decisions> hard;  // a step's condition or a limit of the device
  std::optional<Decisions> capped;
  std::optional<Decisions> slow;
};
BrokenPoints FindBroken(const LegalityProgram& program, const SearchSpace& space, Random& random);

}  // namespace tcc
