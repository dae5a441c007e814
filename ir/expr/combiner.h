#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ir/expr/expr.h"

namespace tcc {

// The function by which a reduction merges two partial results, over a tuple of elements: sum and
// max have one element, ArgMax (value, index) two, softmax (maximum, sum of exponentials) two.
//
// `combine` is associative and commutative up to rounding, and combine(identity, x) == x without
// NaN, -inf included: exponential combiners use ScalarOp::kExpDiff. A test checks this for each
// standard combiner.
struct CombinerNode : RefCounted {
  std::string name;
  std::vector<Expr> identities;  // constants; their dtypes are the elements'
  std::vector<Var> lhs;          // parameters: the result so far
  std::vector<Var> rhs;          // parameters: the incoming values
  std::vector<Expr> results;     // combine(lhs, rhs), an Expr per element
  // Optional: element e as a plain reduction given the *final* values of the elements before it.
  // Each is an Expr over rhs (the raw inputs) and lhs (those final values), to be merged by
  // `direct_ops[e]`, a one-element combiner.
  std::vector<Expr> direct;
  std::vector<Ref<CombinerNode>> direct_ops;
};

class Combiner : public Ref<CombinerNode> {
 public:
  using Ref::Ref;
  size_t arity() const { return get()->identities.size(); }
};

uint64_t FieldHash(const Combiner& combiner);

// Returns combine(lhs, rhs) with the given values for the parameters.
std::vector<Expr> Combine(const Combiner& combiner, const std::vector<Expr>& lhs,
                          const std::vector<Expr>& rhs);

// Return the same object for the same arguments; combiners may be compared by Equal or by their
// text.
Combiner SumCombiner(DType dtype);
Combiner ProductCombiner(DType dtype);
// Returns the combiner of two sums at once.
Combiner SumPairCombiner(DType dtype);
// Return the maximum (minimum). The identity is the type's least (greatest) value, -inf (+inf) for
// floats; NaN propagates.
Combiner MaxCombiner(DType dtype);
Combiner MinCombiner(DType dtype);
Combiner AndCombiner();
Combiner OrCombiner();
// The index that wins among equal values of (value, index): the lowest or the highest.
enum class TieBreak { kFirst, kLast };
Combiner ArgMaxCombiner(DType dtype, TieBreak tie);
Combiner ArgMinCombiner(DType dtype, TieBreak tie);
// Returns the combiner of (maximum, sum of exponentials of differences to it); an input x comes in
// as (x, 1).
Combiner SoftmaxCombiner(DType dtype);
// Returns the combiner of (maximum, sum of exponentials of differences to it, sum of those times
// values). A score x with a value v comes in as (x, 1, v). The third element over the second is
// attention's weighted mean of values. The third may have an axis that the others lack.
Combiner AttentionCombiner(DType dtype);

// Returns the combiner above of this name, e.g. "sum_f32" or "argmax_first_i64"; a null handle if
// there is none.
Combiner FindStandardCombiner(std::string_view name);

}  // namespace tcc
