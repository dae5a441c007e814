#include "ir/expr/standard_combiners.h"

#include "ir/expr/attention_combiner.h"

namespace tcc {
namespace {

bool IsFloat(DType dtype) {
  return dtype.is_float();
}
bool IsNumeric(DType dtype) {
  return dtype.is_float() || dtype.is_integer();
}
bool IsOrdered(DType dtype) {
  return !dtype.is_storage_only();
}
bool IsBool(DType dtype) {
  return dtype.is_bool();
}

struct Row {
  std::string_view prefix;  // the start of the name; the element's type follows
  bool (*accepts)(DType);
  Combiner (*make)(DType);
};

constexpr Row kRows[] = {
    {"sum_", IsNumeric, SumCombiner},
    {"sum_pair_", IsNumeric, SumPairCombiner},
    {"product_", IsNumeric, ProductCombiner},
    {"max_", IsOrdered, MaxCombiner},
    {"min_", IsOrdered, MinCombiner},
    {"and_", IsBool, [](DType) { return AndCombiner(); }},
    {"or_", IsBool, [](DType) { return OrCombiner(); }},
    {"argmax_first_", IsOrdered, [](DType t) { return ArgMaxCombiner(t, TieBreak::kFirst); }},
    {"argmax_last_", IsOrdered, [](DType t) { return ArgMaxCombiner(t, TieBreak::kLast); }},
    {"argmin_first_", IsOrdered, [](DType t) { return ArgMinCombiner(t, TieBreak::kFirst); }},
    {"argmin_last_", IsOrdered, [](DType t) { return ArgMinCombiner(t, TieBreak::kLast); }},
    {"softmax_", IsFloat, SoftmaxCombiner},
    {"attention_", IsFloat, AttentionCombiner},
    {"welford_", IsFloat, WelfordCombiner},
};

}  // namespace

Combiner FindStandardCombiner(std::string_view name) {
  for (const Row& row : kRows) {
    if (!name.starts_with(row.prefix)) continue;
    std::optional<DType> dtype = ParseDType(name.substr(row.prefix.size()));
    if (dtype && dtype->lanes() == 1 && row.accepts(*dtype)) return row.make(*dtype);
  }
  return {};
}

}  // namespace tcc
