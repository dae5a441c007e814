#include "schedule/sketches/parts/block_pattern.h"

#include <algorithm>
#include <cstdlib>

#include "ir/analysis/accesses.h"
#include "ir/analysis/affine.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/loop_tree.h"
#include "schedule/analysis/placement.h"

namespace tcc {
namespace {

// Every load of `buffer` is at the reader's own spatial variables, in their order.
bool ReadsPlainly(const Block& reader, const Var& buffer) {
  for (const Access& read : ReadsOf(reader)) {
    if (!(read.buffer == buffer)) continue;
    if (read.indices.size() != reader.iters.size()) return false;
    for (size_t d = 0; d < read.indices.size(); ++d) {
      if (!read.indices[d].same_as(reader.iters[d].var)) return false;
    }
  }
  return true;
}

}  // namespace

bool IsReduction(const Block& block) {
  return block.body.as<Reduce>() != nullptr;
}

bool IsOrdered(const Block& block) {
  return !IsReduction(block) && !ItersOf(block, IterKind::kReduce).empty();
}

std::vector<size_t> ItersOf(const Block& block, IterKind kind) {
  std::vector<size_t> iters;
  for (size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].kind == kind) iters.push_back(i);
  }
  return iters;
}

bool HasKnownExtents(const Block& block) {
  return std::ranges::all_of(
      block.iters, [](const IterVar& iter) { return AsConstant(iter.domain).has_value(); });
}

bool HasReuse(const Block& block) {
  const auto* reduce = block.body.as<Reduce>();
  if (!reduce) return false;
  for (const Access& read : ReadsOf(block)) {
    for (size_t i : ItersOf(block, IterKind::kSpatial)) {
      bool real = AsConstant(block.iters[i].domain) != std::optional<int64_t>(1);
      if (real && !Uses(read, block.iters[i].var)) return true;
    }
  }
  return false;
}

namespace {

// 1 where it is not known.
int64_t CoefficientOf(const Var& var, const std::optional<AffineForm>& form) {
  if (!form) return 1;
  auto found = std::ranges::find(form->vars, var);
  if (found == form->vars.end()) return 1;
  const Expr& coefficient = form->coefficients[found - form->vars.begin()];
  return std::abs(AsConstant(Simplify(coefficient)).value_or(1));
}

}  // namespace

bool Slides(const Expr& index, const Block& block) {
  std::vector<Var> vars;
  for (const IterVar& iter : block.iters) {
    if (!IsConstant(iter.domain, 1)) vars.push_back(iter.var);
  }
  std::optional<AffineForm> form = ToAffine(index, vars);
  int64_t reach = 0, step = 0;  // of the reduction; the shortest of a spatial variable
  for (const IterVar& iter : block.iters) {
    if (IsConstant(iter.domain, 1) || !UsesVar(index, iter.var)) continue;
    int64_t coefficient = CoefficientOf(iter.var, form);
    if (iter.kind == IterKind::kReduce) {
      reach += coefficient * (AsConstant(iter.domain).value_or(INT32_MAX) - 1);
    } else {
      step = step == 0 ? coefficient : std::min(step, coefficient);
    }
  }
  return reach > 0 && step > 0 && step <= reach;
}

bool HasWindow(const Block& block) {
  for (const Access& read : ReadsOf(block)) {
    for (const Expr& index : read.indices) {
      if (Slides(index, block)) return true;
    }
  }
  return false;
}

std::optional<int64_t> StrideAlong(const Function& fn, const Access& access, const Var& var) {
  const std::vector<Expr>& shape = FindBuffer(fn, access.buffer)->shape;
  int64_t stride = 0, step = 1;  // step: of the dimension
  for (size_t d = shape.size(); d-- > 0;) {
    std::optional<AffineForm> form = ToAffine(access.indices[d], {var});
    if (!form) return std::nullopt;
    for (const Expr& coefficient : form->coefficients) {
      std::optional<int64_t> number = AsConstant(Simplify(coefficient));
      if (!number) return std::nullopt;
      stride += *number * step;
    }
    std::optional<int64_t> extent = AsConstant(shape[d]);
    if (!extent && d > 0) return std::nullopt;
    step *= extent.value_or(1);
  }
  return stride;
}

bool IsContiguousAlong(const Function& fn, const Access& access, const Var& var) {
  std::optional<int64_t> stride = StrideAlong(fn, access, var);
  return stride == 0 || stride == 1;
}

bool WritesPlainly(const Block& block) {
  const auto* reduce = block.body.as<Reduce>();
  return reduce && reduce->outputs.size() == 1 && WritesTuplePlainly(block);
}

bool WritesTuplePlainly(const Block& block) {
  const auto* reduce = block.body.as<Reduce>();
  if (!reduce || reduce->init != ReduceInit::kFirstInstance) return false;
  std::vector<size_t> spatial = ItersOf(block, IterKind::kSpatial);
  for (const Access& output : reduce->outputs) {
    if (output.indices.size() != spatial.size()) return false;
    for (size_t d = 0; d < spatial.size(); ++d) {
      if (!output.indices[d].same_as(block.iters[spatial[d]].var)) return false;
    }
  }
  return true;
}

const Block* OnlyReaderOf(const Function& fn, const Var& buffer) {
  if (IsParameter(fn, buffer)) return nullptr;
  const Block* reader = nullptr;
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (!Reads(*block, buffer)) continue;
    if (reader) return nullptr;
    reader = block.get();
  }
  return reader;
}

const Block* OnlyMapInto(const Function& fn, const Var& buffer) {
  if (IsParameter(fn, buffer)) return nullptr;
  const Block* writer = nullptr;
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    if (!Writes(*block, buffer)) continue;
    if (writer) return nullptr;
    writer = block.get();
  }
  bool maps = writer && !writer->iters.empty() && WritesOf(*writer).size() == 1 &&
              ItersOf(*writer, IterKind::kReduce).empty() &&
              PlainIndices(*writer, WritesOf(*writer)[0]).ok();
  return maps ? writer : nullptr;
}

namespace {

bool Contains(const std::vector<Var>& vars, const Var& var) {
  return std::ranges::find(vars, var) != vars.end();
}

// Nothing that `reader` reads is written by `block` or after it, but for `results`.
bool ReadsOnlyFromBefore(const Function& fn, const Block& reader, const Block& block,
                         const std::vector<Var>& results) {
  bool reached = false;
  for (const Ref<Block>& writer : BlocksOf(fn.body)) {
    reached = reached || writer->name == block.name;
    if (!reached) continue;
    for (const Access& read : ReadsOf(reader)) {
      if (!Contains(results, read.buffer) && Writes(*writer, read.buffer)) return false;
    }
  }
  return true;
}

// The one block beside `block` that has to do with the results: a map that reads them.
const Block* OnlyMapFrom(const Function& fn, const Block& block, const std::vector<Var>& results) {
  const Block* reader = nullptr;
  for (const Ref<Block>& other : BlocksOf(fn.body)) {
    auto accesses = [&](const Var& result) { return Accesses(*other, result); };
    auto writes = [&](const Var& result) { return Writes(*other, result); };
    if (other->name == block.name || std::ranges::none_of(results, accesses)) {
      continue;
    }
    if (reader || !ItersOf(*other, IterKind::kReduce).empty() ||
        std::ranges::any_of(results, writes)) {
      return nullptr;
    }
    reader = other.get();
  }
  return reader;
}

}  // namespace

const Block* EpilogueOf(const Function& fn, const Block& block) {
  return WritesOf(block).size() == 1 ? TupleEpilogueOf(fn, block) : nullptr;
}

const Block* TupleEpilogueOf(const Function& fn, const Block& block) {
  std::vector<Var> results;
  for (const Access& write : WritesOf(block)) {
    bool is_linked = FindBuffer(fn, write.buffer)->scope == Scope::kConstant;
    if (is_linked || IsParameter(fn, write.buffer)) return nullptr;
    results.push_back(write.buffer);
  }
  const Block* reader = OnlyMapFrom(fn, block, results);
  bool fits = reader && ReadsOnlyFromBefore(fn, *reader, block, results) &&
              std::ranges::all_of(results,
                                  [&](const Var& result) { return ReadsPlainly(*reader, result); });
  return fits ? reader : nullptr;
}

}  // namespace tcc
