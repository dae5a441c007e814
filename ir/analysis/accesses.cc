#include "ir/analysis/accesses.h"

#include <algorithm>
#include <functional>

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

void ForEachWrite(const Stmt& stmt, const std::function<void(const Access&)>& visit) {
  PreOrder(stmt, [&](const Stmt& inner) {
    if (const auto* store = inner.as<Store>()) visit({store->buffer, store->indices});
    if (const auto* copy = inner.as<AsyncCopy>()) visit(copy->destination);
    if (const auto* reduce = inner.as<Reduce>()) {
      for (const Access& output : reduce->outputs) visit(output);
    }
  });
}

void ForEachRead(const Stmt& stmt, const std::function<void(const Access&)>& visit) {
  PreOrderExprs(stmt, [&](const Expr& expr) {
    if (const auto* load = expr.as<Load>()) visit({load->buffer, load->indices});
  });
  PreOrder(stmt, [&](const Stmt& inner) {
    if (const auto* copy = inner.as<AsyncCopy>()) visit(copy->source);
  });
}

}  // namespace

bool Reads(const Stmt& stmt, const Var& buffer) {
  bool found = false;
  ForEachRead(stmt, [&](const Access& read) { found = found || read.buffer == buffer; });
  return found;
}

bool Reads(const Expr& expr, const Var& buffer) {
  return Contains(expr, [&](const Expr& inner) {
    const auto* load = inner.as<Load>();
    return load && load->buffer == buffer;
  });
}

bool AlwaysReads(const Expr& expr, const Var& buffer) {
  if (const auto* load = expr.as<Load>(); load && load->buffer == buffer) return true;
  if (const auto* select = expr.as<Select>()) return AlwaysReads(select->condition, buffer);
  if (const auto* both = expr.as<And>()) return AlwaysReads(both->a, buffer);
  if (const auto* either = expr.as<Or>()) return AlwaysReads(either->a, buffer);
  bool found = false;
  ForEachChild(expr, [&](const Expr& child) { found = found || AlwaysReads(child, buffer); });
  return found;
}

bool AlwaysReads(const Stmt& stmt, const Var& buffer) {
  bool found = false;
  ForEachExpr(stmt, [&](const Expr& expr) { found = found || AlwaysReads(expr, buffer); });
  return found;
}

bool Writes(const Stmt& stmt, const Var& buffer) {
  bool found = false;
  ForEachWrite(stmt, [&](const Access& write) { found = found || write.buffer == buffer; });
  return found;
}

bool Accesses(const Stmt& stmt, const Var& buffer) {
  return Reads(stmt, buffer) || Writes(stmt, buffer);
}

std::vector<Access> WritesOf(const Block& block) {
  std::vector<Access> writes;
  ForEachWrite(block.body, [&](const Access& write) { writes.push_back(write); });
  return writes;
}

std::vector<Access> ReadsOf(const Block& block) {
  std::vector<Access> reads;
  PreOrder(block.predicate, [&](const Expr& expr) {
    if (const auto* load = expr.as<Load>()) reads.push_back({load->buffer, load->indices});
  });
  ForEachRead(block.body, [&](const Access& read) { reads.push_back(read); });
  return reads;
}

bool IsAllocatedIn(const Stmt& stmt, const Var& buffer) {
  return Contains(stmt, [&](const Stmt& inner) {
    const auto* allocate = inner.as<Allocate>();
    return allocate && allocate->buffer.var == buffer;
  });
}

bool Uses(const Access& access, const Var& var) {
  return std::ranges::any_of(access.indices,
                             [&](const Expr& index) { return UsesVar(index, var); });
}

}  // namespace tcc
