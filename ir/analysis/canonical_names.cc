#include "ir/analysis/canonical_names.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ir/analysis/cross_thread.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "support/check.h"

namespace tcc {
namespace {

constexpr std::string_view kInit = ".init";

// The new names by old name: of a block, or the key of a loop.
using NewNames = std::map<std::string, std::string>;

std::string Numbered(std::string_view prefix, size_t number) {
  return std::string(prefix) + std::to_string(number);
}

Var Renamed(const Var& var, const std::string& name) {
  Expr copy = Make<VarNode>(name, var->role, var->dtype, var->low, var->high, var->usual);
  return Var(copy.as<VarNode>());
}

// Returns the block of `names` that the block `name` initialises.
std::optional<std::string> InitialisedBy(const std::string& name, const NewNames& names) {
  if (!name.ends_with(kInit)) return std::nullopt;
  std::string base = name.substr(0, name.size() - kInit.size());
  return names.contains(base) ? std::optional(base) : std::nullopt;
}

NewNames NamesOfBlocks(const Stmt& body) {
  std::vector<Ref<Block>> blocks = BlocksOf(body);
  NewNames names;
  for (const Ref<Block>& block : blocks) names.emplace(block->name, "");
  size_t count = 0;
  for (const Ref<Block>& block : blocks) {
    if (!InitialisedBy(block->name, names)) names[block->name] = Numbered("b", count++);
  }
  // In map order a name comes after its prefixes.
  for (auto& [old, name] : names) {
    if (auto base = InitialisedBy(old, names)) name = names.at(*base) + std::string(kInit);
  }
  return names;
}

// Returns the iteration variable whose whole binding is `loop`.
std::optional<size_t> IterBoundTo(const Var& loop, const Block& block) {
  for (size_t i = 0; i < block.iters.size(); ++i) {
    if (block.iters[i].binding.same_as(loop)) return i;
  }
  return std::nullopt;
}

class Renamer {
 public:
  explicit Renamer(const Function& fn) : fn_(fn), blocks_(NamesOfBlocks(fn.body)) {
    Rename(fn.vars, "s");
    for (const Buffer& param : fn.params) Rename(param.var, "p");
    PreOrder(fn.body, [&](const Stmt& stmt) {
      if (const auto* allocate = stmt.as<Allocate>()) Rename(allocate->buffer.var, "t");
      if (const auto* let = stmt.as<Let>()) Rename(let->var, "l");
      if (const auto* loop = stmt.as<For>()) RenameLoop(*loop);
      if (const auto* block = stmt.as<Block>()) RenameIters(*block);
    });
  }

  Function Result() const {
    Function result = Substitute(fn_, vars_);
    result.name = "kernel";
    std::erase_if(result.attributes, [](const auto& note) { return note.first != kWithoutWarps; });
    for (const Var& var : fn_.vars) result.vars.emplace_back(vars_.at(var).as<VarNode>());
    result.body = RewriteBottomUp(
        result.body, [&](const Stmt& stmt) { return WithNewName(stmt); },
        [](const Expr& expr) { return expr; });
    return result;
  }

 private:
  // Numbers variables with the same prefix in the order of the calls.
  void Rename(const Var& var, const std::string& prefix) {
    vars_.emplace(var, Renamed(var, Numbered(prefix, counts_[prefix]++)));
  }
  void Rename(const std::vector<Var>& vars, const std::string& prefix) {
    for (const Var& var : vars) Rename(var, prefix);
  }

  void RenameIters(const Block& block) {
    for (size_t i = 0; i < block.iters.size(); ++i) {
      vars_.emplace(block.iters[i].var, Renamed(block.iters[i].var, Numbered("i", i)));
    }
  }

  // Names a loop after the first block inside it. A loop that is no variable's whole binding is
  // numbered after the variables.
  void RenameLoop(const For& loop) {
    std::vector<Ref<Block>> inside = BlocksOf(loop.body);
    std::string owner = inside.empty() ? "f" : blocks_.at(inside[0]->name);
    std::optional<size_t> iter;
    if (!inside.empty()) iter = IterBoundTo(loop.var, *inside[0]);
    size_t iters = inside.empty() ? 0 : inside[0]->iters.size();
    std::string name = Numbered("i", iter ? *iter : iters + counts_[owner + "/"]++);
    vars_.emplace(loop.var, Renamed(loop.var, name));
    loops_[loop.key] = owner + "/" + name;
  }

  Stmt WithNewName(const Stmt& stmt) const {
    if (const auto* loop = stmt.as<For>()) {
      return MakeStmt<For>(loop->var, loop->extent, loop->for_kind, loops_.at(loop->key),
                           loop->body);
    }
    if (const auto* block = stmt.as<Block>()) {
      return MakeStmt<Block>(blocks_.at(block->name), block->iters, block->guards, block->predicate,
                             block->body);
    }
    return stmt;
  }

  const Function& fn_;
  const NewNames blocks_;
  NewNames loops_;
  Substitution vars_;
  std::map<std::string, size_t> counts_;  // by prefix
};

}  // namespace

Function WithCanonicalNames(const Function& fn) {
  TCC_CHECK(fn.level == Level::kTensor) << fn.name << " is " << ToString(fn.level);
  return Renamer(fn).Result();
}

}  // namespace tcc
