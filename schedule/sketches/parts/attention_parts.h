#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Returns whether `block` is a reduction to a tuple with a direct form and known extents, one
// output of which has an axis that the others lack, its last spatial one.
bool IsAttentionCore(const Block& block);

// The blocks around the core of an attention and their axes i (queries), t (keys), d (values) and e
// (the axis that the product of queries and keys contracts).
struct AttentionParts {
  std::string core, logits, scores, out;
  std::string i, t, d;  // names of the core's variables
  std::string logits_i, logits_t;
  std::string scores_i, scores_t, scores_e;
  std::string out_i, out_d;
  std::vector<LoopRef> out_others;
  int64_t queries = 0, keys = 0, width = 0;
};

// Returns nullopt unless one map computes the core's logits from a contraction's scores, neither
// has another reader, and one map reads the core's results.
std::optional<AttentionParts> FindAttentionParts(const Function& fn, const Block& core);

}  // namespace tcc
