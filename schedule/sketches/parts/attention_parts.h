#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Whether `block` is a reduction to a tuple of which one output has an axis that the others lack,
// its last spatial one, with a direct form, at known extents.
bool IsAttentionCore(const Block& block);

// The blocks round the core of an attention and their axes i (queries), t (keys), d (values) and e
// (what queries and keys are multiplied over).
struct AttentionParts {
  std::string core, logits, scores, out;
  std::string i, t, d;  // names of the core's variables
  std::string logits_i, logits_t;
  std::string scores_i, scores_t, scores_e;
  std::string out_i, out_d;
  std::vector<LoopRef> out_others;
  int64_t queries = 0, keys = 0, width = 0;
};

// nullopt where the core's logits are not one map of a contraction's scores, each with no other
// reader, or its results are not one map's operands.
std::optional<AttentionParts> FindAttentionParts(const Function& fn, const Block& core);

}  // namespace tcc
