#include "ir/analysis/products_in_flight.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "ir/expr/warp_instruction.h"

namespace tcc {
namespace {

class Flight {
 public:
  Status Visit(const Stmt& stmt) {
    if (IsGroupProduct(stmt)) {
      PreOrder(stmt, [&](const Stmt& inner) {
        if (const auto* store = inner.as<Store>()) open_.push_back(store->buffer);
      });
      return OkStatus();
    }
    if (const auto* commit = stmt.as<AsyncCommit>()) {
      if (commit->what == AsyncKind::kProducts) batches_.push_back(std::exchange(open_, {}));
      return OkStatus();
    }
    if (const auto* wait = stmt.as<AsyncWait>()) {
      auto pending = static_cast<size_t>(std::max(wait->pending, 0));
      while (wait->what == AsyncKind::kProducts && batches_.size() > pending) batches_.pop_front();
      return OkStatus();
    }
    if (const auto* loop = stmt.as<For>()) {
      TCC_RETURN_IF_ERROR(Visit(loop->body));
      return IsInOrder(loop->for_kind) ? Visit(loop->body) : OkStatus();
    }
    if (const auto* branch = stmt.as<If>()) return VisitIf(*branch);
    if (stmt.as<Seq>() || stmt.as<Let>() || stmt.as<Allocate>()) {
      Status status;
      ForEachChild(stmt, [&](const Stmt& child) {
        if (status.ok()) status = Visit(child);
      });
      return status;
    }
    return CheckApart(stmt);
  }

 private:
  // The branch that leaves more in flight counts.
  Status VisitIf(const If& branch) {
    Flight otherwise = *this;
    TCC_RETURN_IF_ERROR(Visit(branch.then_body));
    if (branch.else_body) TCC_RETURN_IF_ERROR(otherwise.Visit(branch.else_body));
    if (otherwise.batches_.size() > batches_.size()) *this = std::move(otherwise);
    return OkStatus();
  }

  Status CheckApart(const Stmt& stmt) const {
    for (const std::vector<Var>& batch : batches_) {
      for (const Var& sum : batch) {
        if (!Accesses(stmt, sum)) continue;
        return InvalidInput("'{}' is touched while products of four warps still add to it",
                            sum->name);
      }
    }
    return OkStatus();
  }

  std::deque<std::vector<Var>> batches_;  // what each one in flight adds to
  std::vector<Var> open_;                 // the same of the products without a commit yet
};

}  // namespace

Status CheckProductsInFlight(const Stmt& body) {
  return Contains(body, IsGroupProduct) ? Flight().Visit(body) : OkStatus();
}

}  // namespace tcc
