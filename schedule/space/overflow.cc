#include "schedule/space/overflow.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/steps/all_steps.h"

namespace tcc {
namespace {

// Products are in floating point, which ends at infinity where integers wrap.
double Least(const Expr& expr) {
  return std::max(0.0, static_cast<double>(BoundsOf(expr, {}).low));
}

class Numbers {
 public:
  void Visit(int64_t number) { Refuse(std::abs(static_cast<double>(number)), number); }
  void Visit(const Expr& size) {
    if (status_.ok() && VarsOf(size).empty() && !AsConstant(Simplify(size))) {
      status_ = InvalidInput("size {} is no number", Print(size));
    }
    // The range of a free size is checked at both ends.
    Interval bounds = BoundsOf(size, {});
    Refuse(Least(size), bounds.low);
    Refuse(-static_cast<double>(bounds.high), bounds.high);
  }
  void Visit(const BlockFactor& block) { Visit(block.factor); }
  template <typename T>
  void Visit(const std::vector<T>& list) {
    double product = 1;
    for (const T& item : list) {
      Visit(item);
      product *= std::max(1.0, FactorOf(item));
    }
    if (status_.ok() && product > static_cast<double>(kMaxOfStep)) {
      status_ = InvalidInput("the product of its factors is {:.0f}; expected at most {}", product,
                             kMaxOfStep);
    }
  }
  template <typename T>
  void Visit(const T&) {}  // names, kinds, scopes

  Status Take() && { return std::move(status_); }

 private:
  static double FactorOf(const Expr& size) { return Least(size); }
  static double FactorOf(const BlockFactor& block) { return Least(block.factor); }
  template <typename T>
  static double FactorOf(const T&) {
    return 1;
  }

  void Refuse(double amount, int64_t number) {
    if (!status_.ok() || amount <= static_cast<double>(kMaxOfStep)) return;
    status_ = InvalidInput("number {}; expected at most {}", number, kMaxOfStep);
  }

  Status status_;
};

// Least bytes of all versions, with what a layout leaves free.
double LeastBytes(const Buffer& buffer) {
  double cells = buffer.layout.strides.empty() ? 1 : 0;
  const std::vector<Expr> extents = StoredExtents(buffer);
  for (size_t d = 0; d < extents.size(); ++d) {
    if (buffer.layout.strides.empty()) {
      cells *= Least(extents[d]);
    } else {
      cells += std::max(0.0, Least(extents[d]) - 1) * Least(buffer.layout.strides[d]);
    }
  }
  if (buffer.versions) cells *= Least(buffer.versions);
  return cells * static_cast<double>(buffer.dtype().bits()) / 8;
}

Status ExpectNoOverflowBelow(const Stmt& stmt, double runs) {
  if (const auto* loop = stmt.as<For>()) {
    runs *= std::max(1.0, Least(loop->extent));
    if (runs >= static_cast<double>(kMaxCount)) {
      return InvalidInput("the body of loop '{}' runs {:.3g} times; expected fewer than 2^53",
                          loop->key, runs);
    }
  }
  if (const auto* allocate = stmt.as<Allocate>()) {
    double bytes = LeastBytes(allocate->buffer);
    if (bytes >= static_cast<double>(kMaxCount)) {
      return InvalidInput("buffer '{}' takes {:.3g} bytes; expected fewer than 2^53",
                          allocate->buffer.var->name, bytes);
    }
  }
  Status status;
  ForEachChild(stmt, [&](const Stmt& child) {
    if (status.ok()) status = ExpectNoOverflowBelow(child, runs);
  });
  return status;
}

}  // namespace

Status ExpectModestNumbers(const Step& step) {
  Numbers numbers;
  VisitStep(step, [&](auto copy) {
    std::apply([&](const auto&... field) { (numbers.Visit(field), ...); }, copy.Fields());
  });
  return std::move(numbers).Take();
}

Status ExpectNoOverflow(const Function& fn, const Stmt& before) {
  const auto* now = fn.body.as<Seq>();
  const auto* then = before.as<Seq>();
  if (!now || !then) return ExpectNoOverflowBelow(fn.body, 1);
  // A step changes few of the nests.
  std::span<const Stmt> changed = now->stmts, old = then->stmts;
  while (!changed.empty() && !old.empty() && changed.front().same_as(old.front())) {
    changed = changed.subspan(1);
    old = old.subspan(1);
  }
  while (!changed.empty() && !old.empty() && changed.back().same_as(old.back())) {
    changed = changed.first(changed.size() - 1);
    old = old.first(old.size() - 1);
  }
  for (const Stmt& stmt : changed) TCC_RETURN_IF_ERROR(ExpectNoOverflowBelow(stmt, 1));
  return OkStatus();
}

Status ExpectKnownToHold(const Constraint& constraint) {
  if (!VarsOf(constraint.expr).empty()) return OkStatus();
  std::optional<int64_t> excess = AsConstant(Simplify(constraint.expr));
  if (excess && *excess <= 0) return OkStatus();
  return InvalidInput("{} is {}; expected at most 0, since {}", Print(constraint.expr),
                      excess ? fmt::format("{}", *excess) : "no number", constraint.why);
}

}  // namespace tcc
