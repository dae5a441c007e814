#include "ir/text/namer.h"

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

std::string WithSuffix(const std::string& hint, int suffix) {
  return suffix == 0 ? hint : hint + "_" + std::to_string(suffix);
}

}  // namespace

const std::string& Namer::Define(const Var& var) {
  int& suffix = next_suffix_[var->name];
  std::string name = WithSuffix(var->name, suffix);
  while (taken_.contains(name) || visible_iters_.contains(name)) {
    name = WithSuffix(var->name, ++suffix);
  }
  taken_.insert(name);
  return names_[var.get()] = name;
}

void Namer::EnterBlock(const Block& block) {
  std::unordered_set<std::string> used;
  auto note = [&](const Expr& expr) {
    auto found = names_.find(expr.get());
    if (found != names_.end()) used.insert(found->second);
  };
  PreOrder(block.predicate, note);
  PreOrderExprs(block.body, note);
  for (const IterVar& iter : block.iters) {
    int suffix = 0;
    std::string name = iter.var->name;
    while (used.contains(name)) name = WithSuffix(iter.var->name, ++suffix);
    used.insert(name);
    ++visible_iters_[name];
    names_[iter.var.get()] = name;
  }
}

void Namer::LeaveBlock(const Block& block) {
  for (const IterVar& iter : block.iters) {
    auto found = visible_iters_.find(NameOf(iter.var));
    if (--found->second == 0) visible_iters_.erase(found);
  }
}

const std::string& Namer::NameOf(const Var& var) {
  auto found = names_.find(var.get());
  return found != names_.end() ? found->second : Define(var);
}

}  // namespace tcc
