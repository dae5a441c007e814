#include "codegen_vdla/gemv_call.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "codegen_vdla/refusal.h"
#include "ir/analysis/affine.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"
#include "runtime/vdla/vdla_isa.h"

namespace tcc {
namespace {

// The inside of a call: two loops, in their order, around a store.
struct CallBody {
  std::vector<Var> loops;
  std::vector<Expr> conditions;
  Stmt store;
};

CallBody BodyOf(const IntrinsicCall& call) {
  CallBody body;
  body.store = call.body;
  while (true) {
    if (const auto* loop = body.store.as<For>(); loop && IsConstant(loop->extent, kVdlaBlock)) {
      body.loops.push_back(loop->var);
      body.store = loop->body;
    } else if (const auto* guard = body.store.as<If>(); guard && !guard->else_body) {
      body.conditions.push_back(guard->condition);
      body.store = guard->then_body;
    } else if (const auto* let = body.store.as<Let>()) {
      body.store = Substitute(let->body, let->var, let->value);
    } else {
      return body;
    }
  }
}

// The index first + strides[0] * loops[0] + strides[1] * loops[1].
struct StridedIndex {
  Expr first;
  std::array<int64_t, 2> strides = {0, 0};
};

std::optional<StridedIndex> ReadIndex(const std::vector<Expr>& indices,
                                      const std::vector<Var>& loops) {
  if (indices.size() != 1) return std::nullopt;
  const std::optional<AffineForm> form = ToAffine(indices[0], loops);
  if (!form) return std::nullopt;
  StridedIndex index{.first = Simplify(form->rest)};
  for (size_t i = 0; i < form->vars.size(); ++i) {
    const std::optional<int64_t> stride = AsConstant(Simplify(form->coefficients[i]));
    if (!stride) return std::nullopt;
    index.strides.at(std::ranges::find(loops, form->vars[i]) - loops.begin()) = *stride;
  }
  return index;
}

// The three accesses of c[..] = c[..] + i32(a[..]) * i32(b[..]).
struct Product {
  const Store* sum;
  const Load* a;
  const Load* b;
};

const Load* CastLoad(const Expr& expr) {
  const auto* cast = expr.as<Cast>();
  const auto* load = cast != nullptr ? cast->value.as<Load>() : nullptr;
  return load != nullptr && load->dtype == DType{DTypeCode::kInt8} && cast->dtype == kInt32
             ? load
             : nullptr;
}

std::optional<Product> ReadProduct(const Stmt& stmt) {
  const auto* store = stmt.as<Store>();
  const auto* add = store != nullptr && !store->mask ? store->value.as<Add>() : nullptr;
  if (add == nullptr || store->indices.size() != 1) return std::nullopt;
  for (const auto& [old, term] : {std::pair(add->a, add->b), std::pair(add->b, add->a)}) {
    const auto* load = old.as<Load>();
    const auto* product = term.as<Mul>();
    if (load == nullptr || product == nullptr || load->buffer != store->buffer) continue;
    if (!EqualUpToAlgebra(load->indices[0], store->indices[0])) continue;
    const Load *a = CastLoad(product->a), *b = CastLoad(product->b);
    if (a != nullptr && b != nullptr) return Product{store, a, b};
  }
  return std::nullopt;
}

// Returns the conjunction of conditions at 0 of both loops: a guard holds for all instances of a
// call or for none (Tensorize).
Expr ConditionAtZero(const CallBody& body) {
  Expr condition;
  for (const Expr& next : body.conditions) condition = condition ? BothOf(condition, next) : next;
  if (!condition) return condition;
  Substitution zero;
  for (const Var& loop : body.loops) zero.emplace(loop, Expr(0));
  return Simplify(Substitute(condition, zero));
}

}  // namespace

StatusOr<GemvCall> ReadGemv(const IntrinsicCall& call) {
  const auto refuse = [&](const char* reason) { return Refuse(Stmt(call), "{}", reason); };
  const CallBody body = BodyOf(call);
  const std::optional<Product> product = ReadProduct(body.store);
  if (body.loops.size() != 2 || !product) return refuse("expected two loops round c += a * b");
  const auto sum = ReadIndex(product->sum->indices, body.loops);
  if (!sum || std::ranges::count(sum->strides, 1) != 1 ||
      std::ranges::count(sum->strides, 0) != 1) {
    return refuse("expected 16 neighbours as sums");
  }
  const size_t outputs = sum->strides[0] == 1 ? 0 : 1, inputs = 1 - outputs;
  for (const auto& [x, w] : {std::pair(product->a, product->b), {product->b, product->a}}) {
    const auto activation = ReadIndex(x->indices, body.loops);
    const auto weight = ReadIndex(w->indices, body.loops);
    if (!activation || !weight) break;
    if (activation->strides[outputs] != 0 || activation->strides[inputs] != 1) continue;
    if (weight->strides[outputs] != kVdlaBlock || weight->strides[inputs] != 1) continue;
    return GemvCall{product->sum->buffer, x->buffer,         w->buffer,
                    sum->first,           activation->first, weight->first,
                    ConditionAtZero(body)};
  }
  return refuse("expected 16 neighbours as activations and 16 x 16 as weights");
}

}  // namespace tcc
