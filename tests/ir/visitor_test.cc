#include "ir/expr/visitor.h"

#include <catch2/catch.hpp>
#include <map>

using namespace tcc;

namespace {

// ((v0 + v1) * (v0 + v1) + v2) * (...) and so on: each level holds the one below twice.
Expr Tower(const std::vector<Var>& vars) {
  Expr tower = vars[0];
  for (size_t i = 1; i < vars.size(); ++i) tower = (tower + vars[i]) * (tower + vars[i]);
  return tower;
}

std::vector<Var> Vars(int count) {
  std::vector<Var> vars;
  for (int i = 0; i < count; ++i) vars.push_back(LoopVar("v" + std::to_string(i)));
  return vars;
}

}  // namespace

TEST_CASE("a shared expression is visited once, in small and in large expressions",
          "[ir][visitor]") {
  for (int count : {1, 2, 10, 30, 48, 49, 50, 64, 65, 200}) {
    std::vector<Var> vars = Vars(count);
    Expr tower = Tower(vars);
    std::map<const ExprNode*, int> visits;
    PreOrder(tower, [&](const Expr& expr) { ++visits[expr.get()]; });
    for (const auto& [node, times] : visits) CHECK(times == 1);
    CHECK(VarsOf(tower) == vars);
    for (const Var& var : {vars.front(), vars.back(), vars[vars.size() / 2]}) {
      CHECK(UsesVar(tower, var));
    }
    CHECK_FALSE(UsesVar(tower, LoopVar("v0")));
  }
}

TEST_CASE("a mutator is asked once for each variable: new ones were as many as its uses",
          "[ir][visitor]") {
  class Renamer final : public Mutator {
   public:
    int asked = 0;

   private:
    using Mutator::Rewrite;
    Expr Rewrite(const VarNode& var) override {
      ++asked;
      return LoopVar(var.name);
    }
  };
  std::vector<Var> vars = Vars(3);
  Renamer renamer;
  CHECK(VarsOf(renamer.Mutate(Tower(vars) + vars[1])).size() == 3);
  CHECK(renamer.asked == 3);
}
