#include "ir/interpret/interpret_expr_code.h"

#include <algorithm>
#include <bit>

#include "ir/expr/operators.h"
#include "ir/expr/visitor.h"

namespace tcc::interpret {
namespace {

bool IsDivision(const Node& node) {
  if (node.op == Op::kCall) {
    return node.call == ScalarOp::kTruncDiv || node.call == ScalarOp::kTruncMod;
  }
  return node.op == Op::kBinary &&
         (node.kind == ExprKind::kFloorDiv || node.kind == ExprKind::kFloorMod ||
          node.kind == ExprKind::kCeilDiv);
}

std::vector<int64_t> KeyOf(const Node& node) {
  return {static_cast<int64_t>(node.op),
          static_cast<int64_t>(node.kind),
          static_cast<int64_t>(node.call),
          static_cast<int64_t>(node.dtype.code()),
          node.a,
          node.b,
          node.c,
          node.index,
          node.integer,
          std::bit_cast<int64_t>(node.real)};
}

}  // namespace

int ExprCompiler::Append(Node node) {
  for (int operand : {node.a, node.b, node.c}) {
    if (operand < 0) continue;
    const Node& child = code_.nodes[operand];
    node.depth = std::max(node.depth, child.depth);
    node.loops |= child.loops;
    node.varying |= child.varying;
    node.total &= child.total;
  }
  if (node.op == Op::kSlot || node.op == Op::kLaneVar || node.op == Op::kLaneNumber) {
    node.loops = uint64_t{1} << std::min(node.depth, 63);
  }
  if (IsDivision(node)) {
    const Node& divisor = code_.nodes[node.b];
    node.total &= divisor.op == Op::kInt && divisor.integer != 0;
  }
  auto [found, fresh] = numbers_.try_emplace(KeyOf(node), static_cast<int>(code_.nodes.size()));
  if (fresh) code_.nodes.push_back(node);
  return found->second;
}

int ExprCompiler::Integer(int64_t value) {
  return Append({.op = Op::kInt, .dtype = kInt64, .integer = value});
}

int ExprCompiler::Binary(ExprKind kind, int a, int b, DType dtype) {
  const Node& x = code_.nodes[a];
  const Node& y = code_.nodes[b];
  if (dtype == kInt64 && x.op == Op::kInt && y.op == Op::kInt) {
    uint64_t m = static_cast<uint64_t>(x.integer);
    uint64_t n = static_cast<uint64_t>(y.integer);
    if (kind == ExprKind::kAdd) return Integer(static_cast<int64_t>(m + n));
    if (kind == ExprKind::kSub) return Integer(static_cast<int64_t>(m - n));
    if (kind == ExprKind::kMul) return Integer(static_cast<int64_t>(m * n));
  }
  return Append({.op = Op::kBinary, .kind = kind, .dtype = dtype, .a = a, .b = b});
}

int ExprCompiler::Compile(const Expr& expr) {
  auto found = memo_.find(expr.get());
  if (found != memo_.end()) return found->second;
  int node = CompileNode(expr);
  memo_.emplace(expr.get(), node);
  kept_.push_back(expr);
  return node;
}

int ExprCompiler::CompileVar(const VarNode& var) {
  auto found = meanings_.find(Var(var));
  TCC_CHECK(found != meanings_.end()) << "variable " << var.name << " is not defined here";
  const Meaning& meaning = found->second;
  switch (meaning.kind) {
    case Meaning::kNode:
      return meaning.index;
    case Meaning::kSlot:
      return Append({.op = Op::kSlot,
                     .dtype = var.dtype.element(),
                     .index = meaning.index,
                     .depth = std::max(meaning.depth, var.dtype.lanes() > 1 ? code_.lane_depth : 0),
                     .varying = var.dtype.lanes() > 1});
    case Meaning::kLane:
      return Append({.op = Op::kLaneVar,
                     .dtype = kInt64,
                     .index = meaning.index,
                     .depth = code_.lane_depth,
                     .varying = true});
  }
  TCC_UNREACHABLE();
}

int ExprCompiler::CompileBinary(const Expr& expr, const Expr& a, const Expr& b) {
  int x = Compile(a);
  int y = Compile(b);
  // The node has its operands' type. A comparison's own type is bool, which Append's key and the
  // kernels know from the kind.
  DType operands = a.dtype().element();
  bool index = operands == kInt64 && IsComparison(expr.kind());
  if (index && (code_.nodes[x].varying || code_.nodes[y].varying) && code_.nodes[x].total &&
      code_.nodes[y].total) {
    IndexCode parts = Difference(x, y);
    if (parts.mixed < 0 && parts.chunk >= 0) {
      return Append({.op = Op::kAffineTest,
                     .kind = expr.kind(),
                     .dtype = kBool,
                     .a = parts.uniform,
                     .b = parts.chunk});
    }
  }
  return Binary(expr.kind(), x, y, operands);
}

int ExprCompiler::CompileNode(const Expr& expr) {
  DType dtype = expr.dtype().element();
  return VisitExpr(
      expr,
      Overloaded{
          [&](const IntImm& imm) {
            return Append({.op = Op::kInt, .dtype = dtype, .integer = imm.value});
          },
          [&](const FloatImm& imm) {
            return Append({.op = Op::kReal, .dtype = dtype, .real = imm.value});
          },
          [&](const VarNode& var) { return CompileVar(var); },
          [&](const Cast& cast) {
            int value = Compile(cast.value);
            return Append({.op = Op::kCast, .dtype = dtype, .a = value});
          },
          [&](const And& e) {
            int a = Compile(e.a);
            int b = Compile(e.b);
            return Append({.op = Op::kLogic, .kind = e.kind, .dtype = dtype, .a = a, .b = b});
          },
          [&](const Or& e) {
            int a = Compile(e.a);
            int b = Compile(e.b);
            return Append({.op = Op::kLogic, .kind = e.kind, .dtype = dtype, .a = a, .b = b});
          },
          [&](const Not& e) {
            int a = Compile(e.a);
            return Append({.op = Op::kNot, .dtype = dtype, .a = a});
          },
          [&](const Select& e) {
            int a = Compile(e.condition);
            int b = Compile(e.then_value);
            int c = Compile(e.else_value);
            return Append({.op = Op::kSelect, .dtype = dtype, .a = a, .b = b, .c = c});
          },
          [&](const Load& load) { return LoadOf(CompileAccess(load.buffer, load.indices), dtype); },
          [&](const Call& call) {
            int a = Compile(call.args[0]);
            int b = call.args.size() > 1 ? Compile(call.args[1]) : -1;
            return Append({.op = Op::kCall, .call = call.op, .dtype = dtype, .a = a, .b = b});
          },
          [&](const Ramp& ramp) {
            int base = Compile(ramp.base);
            int lane = Append({.op = Op::kLaneNumber,
                               .dtype = kInt64,
                               .depth = code_.lane_depth,
                               .varying = true});
            int step = Binary(ExprKind::kMul, lane, Compile(ramp.stride), kInt64);
            return Binary(ExprKind::kAdd, base, step, kInt64);
          },
          [&](const Broadcast& e) { return Compile(e.value); },
          [&](const auto& e) { return CompileBinary(expr, e.a, e.b); },
      });
}

int ExprCompiler::CompileAccess(const Var& buffer, const std::vector<Expr>& indices) {
  AccessCode access;
  auto found = buffers_.find(buffer);
  TCC_CHECK(found != buffers_.end()) << "buffer " << buffer->name << " is not declared";
  access.buffer = found->second;
  for (const Expr& index : indices) {
    access.indices.push_back(Decompose(Compile(index)));
    access.mixed |= access.indices.back().mixed >= 0;
    access.varying |= access.mixed || access.indices.back().chunk >= 0;
  }
  auto same = std::ranges::find(code_.accesses, access);
  if (same == code_.accesses.end()) {
    code_.accesses.push_back(std::move(access));
    same = code_.accesses.end() - 1;
  }
  return static_cast<int>(same - code_.accesses.begin());
}

int ExprCompiler::LoadOf(int access, DType dtype) {
  const AccessCode& code = code_.accesses[access];
  Node node{.op = Op::kLoad, .dtype = dtype, .index = access, .total = false};
  node.varying = code.varying;
  for (const IndexCode& index : code.indices) {
    for (int part : {index.uniform, index.chunk, index.mixed}) {
      if (part >= 0) node.depth = std::max(node.depth, code_.nodes[part].depth);
    }
  }
  for (const Var& written : written_) {
    if (buffers_.at(written) == code.buffer) node.depth = code_.max_depth;
  }
  return Append(node);
}

int ExprCompiler::AddParts(int a, int b, ExprKind kind) {
  if (b < 0) return a;
  if (a < 0) return kind == ExprKind::kAdd ? b : Binary(kind, Integer(0), b, kInt64);
  return Binary(kind, a, b, kInt64);
}

// Splits an index into its parts. A uniform factor distributes over them, so that a split axis
// (outer * tile + inner) keeps its outer part uniform.
IndexCode ExprCompiler::Decompose(int id) {
  const Node node = code_.nodes[id];
  if (!node.varying) return {.uniform = id};
  if (node.depth <= code_.lane_depth && node.total) return {.chunk = id};
  if (node.op != Op::kBinary || node.dtype != kInt64) return {.mixed = id};
  if (node.kind == ExprKind::kAdd || node.kind == ExprKind::kSub) {
    IndexCode a = Decompose(node.a);
    IndexCode b = Decompose(node.b);
    return {.uniform = AddParts(a.uniform, b.uniform, node.kind),
            .chunk = AddParts(a.chunk, b.chunk, node.kind),
            .mixed = AddParts(a.mixed, b.mixed, node.kind)};
  }
  if (node.kind != ExprKind::kMul) return {.mixed = id};
  bool right = !code_.nodes[node.b].varying;
  int factor = right ? node.b : node.a;
  if (code_.nodes[factor].varying || code_.nodes[factor].depth > code_.lane_depth) {
    return {.mixed = id};
  }
  IndexCode parts = Decompose(right ? node.a : node.b);
  for (int* part : {&parts.uniform, &parts.chunk, &parts.mixed}) {
    if (*part >= 0) *part = Binary(ExprKind::kMul, *part, factor, kInt64);
  }
  return parts;
}

IndexCode ExprCompiler::Difference(int a, int b) {
  IndexCode x = Decompose(a);
  IndexCode y = Decompose(b);
  return {.uniform = AddParts(x.uniform, y.uniform, ExprKind::kSub),
          .chunk = AddParts(x.chunk, y.chunk, ExprKind::kSub),
          .mixed = AddParts(x.mixed, y.mixed, ExprKind::kSub)};
}

}  // namespace tcc::interpret
