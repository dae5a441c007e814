#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/expr/expr.h"
#include "support/status.h"

// The values that a free size of a schedule may take.
namespace tcc {

// name in the text, enumerator, what `numbers` holds
#define TCC_DOMAIN_KINDS(X)                                                                   \
  X("any", kAny, "nothing: every integer of the range is allowed")                            \
  X("divisors", kDivisors, "an extent: its divisors are allowed, so that no tile has a tail") \
  X("multiples", kMultiples, "a step: whole vectors, warps or cache lines are allowed")       \
  X("choice", kChoice, "what is allowed, rising: vector widths, unroll depths, stages")

enum class DomainKind : uint8_t {
#define TCC_DOMAIN_KIND(text, kind, meaning) kind,
  TCC_DOMAIN_KINDS(TCC_DOMAIN_KIND)
#undef TCC_DOMAIN_KIND
};

struct Domain {
  DomainKind kind = DomainKind::kAny;
  std::vector<int64_t> numbers = {};
  friend bool operator==(const Domain&, const Domain&) = default;
};

// A size that is left free: a Tile variable, which carries its range, and the values allowed in
// that range. Its name, "mm.i.1", gives block, axis and level, so that points move between
// sketches.
struct FreeSize {
  Var var;
  Domain domain = {};
};

bool Allows(const FreeSize& size, int64_t value);

// Returns every allowed value in rising order. The result is empty if the range holds none.
std::vector<int64_t> ValuesOf(const FreeSize& size);

// Returns "tile mm.i.1 1 224 divisors 224", without the domain if every integer is allowed. Range
// and domain: 1 <= low <= high.
std::string Print(const FreeSize& size);
// Parses what Print prints. The error says what was expected instead of `line`.
StatusOr<FreeSize> ParseFreeSize(const std::string& line);

}  // namespace tcc
