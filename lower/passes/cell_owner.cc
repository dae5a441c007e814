#include "lower/passes/cell_owner.h"

#include <algorithm>

#include "ir/analysis/affine.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

struct Term {
  int64_t coefficient;  // 1 or more
  const For* loop;
};

// `place` as a sum of loops; nullopt where it is none or has another term.
std::optional<std::vector<Term>> TermsOf(const Expr& place, const std::vector<const For*>& loops) {
  std::vector<Var> vars;
  for (const For* loop : loops) vars.push_back(loop->var);
  std::optional<AffineForm> form = ToAffine(place, vars);
  if (!form || !IsConstant(Simplify(form->rest), 0)) return std::nullopt;
  std::vector<Term> terms;
  for (size_t i = 0; i < form->vars.size(); ++i) {
    std::optional<int64_t> coefficient = AsConstant(Simplify(form->coefficients[i]));
    if (!coefficient || *coefficient < 1) return std::nullopt;
    auto loop = std::find_if(loops.begin(), loops.end(),
                             [&](const For* l) { return l->var == form->vars[i]; });
    terms.push_back({*coefficient, *loop});
  }
  return terms;
}

}  // namespace

std::optional<CellOwner> OwnerOf(const Expr& place, size_t dim,
                                 const std::vector<const For*>& loops) {
  std::optional<std::vector<Term>> terms = TermsOf(place, loops);
  if (!terms) return std::nullopt;
  auto is_thread = [](const Term& term) { return IsThreadIdx(term.loop->for_kind); };
  auto thread = std::find_if(terms->begin(), terms->end(), is_thread);
  if (std::count_if(terms->begin(), terms->end(), is_thread) != 1) return std::nullopt;
  CellOwner owner{dim, thread->loop->for_kind, thread->coefficient, 0};
  // Alone it says so whatever its extent is.
  if (terms->size() == 1) return owner;
  std::optional<int64_t> threads = AsConstant(thread->loop->extent);
  int64_t within = 0;
  for (const Term& term : *terms) {
    if (is_thread(term)) continue;
    std::optional<int64_t> extent = AsConstant(term.loop->extent);
    if (!threads || *threads < 1 || !extent) return std::nullopt;
    if (term.coefficient % (owner.step * *threads) != 0) {
      within += term.coefficient * (*extent - 1);
    } else if (*extent > 1) {
      owner.count = *threads;
    }
  }
  return within < owner.step ? std::optional(owner) : std::nullopt;
}

}  // namespace tcc
