#include "tests/programs/satisfies.h"

#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"

namespace tcc {

const Constraint* FirstBroken(const SymbolicProgram& program, const Decisions& decisions) {
  Substitution values = ToSubstitution(program.fn, decisions);
  for (const Constraint& constraint : program.constraints) {
    std::optional<int64_t> excess = AsConstant(Simplify(Substitute(constraint.expr, values)));
    if (!excess || *excess > 0) return &constraint;
  }
  return nullptr;
}

bool Satisfies(const SymbolicProgram& program, const Decisions& decisions) {
  return FirstBroken(program, decisions) == nullptr;
}

}  // namespace tcc
