#include "ir/text/printer.h"

#include <fmt/format.h>

#include <set>

#include "ir/expr/operators.h"
#include "ir/expr/visitor.h"
#include "ir/text/expr_printer.h"
#include "ir/text/lexer.h"

namespace tcc {
namespace {

// Returns the statements between the braces of a body.
std::vector<Stmt> BodyList(const Stmt& body) {
  if (!body) return {};
  const auto* seq = body.as<Seq>();
  return seq && seq->stmts.size() != 1 ? seq->stmts : std::vector<Stmt>{body};
}

class StmtPrinter {
 public:
  explicit StmtPrinter(Namer& names) : names_(names), exprs_(names) {}

  std::string Take() { return std::move(out_); }

  // Prints a list. A Let or Allocate has the rest of the list as its body, without braces.
  void PrintList(std::vector<Stmt> stmts) {
    for (size_t i = 0; i < stmts.size(); ++i) {
      const Stmt& stmt = stmts[i];
      bool last = i + 1 == stmts.size();
      const auto* let = stmt.as<Let>();
      const auto* allocate = stmt.as<Allocate>();
      if (last && (let || allocate)) {
        Line(let ? LetHeader(*let) : AllocateHeader(*allocate));
        stmts = BodyList(Stmt(let ? let->body : allocate->body));
        i = static_cast<size_t>(-1);
      } else {
        VisitStmt(stmt, [this](const auto& node) { PrintNode(node); });
      }
    }
  }

  std::string Declaration(const Buffer& buffer) {
    std::string text = SpellName(names_.Define(buffer.var)) + ": " + ToString(buffer.dtype()) +
                       exprs_.Brackets(buffer.shape);
    if (buffer.scope != Scope::kGlobal) text += " " + std::string(ToString(buffer.scope));
    if (!buffer.window.origin.empty() || !buffer.window.size.empty()) {
      text += " window " + exprs_.Brackets(buffer.window.origin) + " size " +
              exprs_.Brackets(buffer.window.size);
    }
    if (buffer.versions) text += " versions " + Index(buffer.versions);
    if (buffer.circular != -1) text += fmt::format(" circular {}", buffer.circular);
    return text + LayoutText(buffer.layout);
  }

  void PrintBody(const std::string& header, const Stmt& body) {
    Line(header + " {");
    PrintIndented(BodyList(body));
    Line("}");
  }

 private:
  void Line(const std::string& text) { out_ += std::string(2 * depth_, ' ') + text + "\n"; }

  void PrintIndented(std::vector<Stmt> stmts) {
    ++depth_;
    PrintList(std::move(stmts));
    --depth_;
  }

  std::string Index(const Expr& expr) { return exprs_.Text(expr, kInt64); }

  std::string LayoutText(const Layout& layout) {
    std::string text;
    if (!layout.strides.empty()) text += " strides " + exprs_.Brackets(layout.strides);
    if (layout.offset) text += " offset " + Index(layout.offset);
    if (!layout.blocks.empty()) {
      std::vector<std::string> factors;
      for (const BlockFactor& block : layout.blocks) {
        factors.push_back(fmt::format("{} by {}", block.dim, Index(block.factor)));
      }
      text += fmt::format(" blocks [{}]", fmt::join(factors, ", "));
    }
    const XorSwizzle& swizzle = layout.swizzle;
    if (swizzle.bits != 0 || swizzle.base != 0 || swizzle.shift != 0) {
      text += fmt::format(" swizzle({}, {}, {})", swizzle.bits, swizzle.base, swizzle.shift);
    }
    return text;
  }

  std::string LetHeader(const Let& let) {
    std::string value = exprs_.Text(let.value);
    return "let " + SpellName(names_.Define(let.var)) + " = " + value;
  }
  std::string AllocateHeader(const Allocate& allocate) {
    return "alloc " + Declaration(allocate.buffer);
  }

  void PrintNode(const Store& store) {
    std::string text = exprs_.AccessText(store.buffer, store.indices) + " = " +
                       exprs_.Text(store.value, StoredType(store.buffer, store.indices));
    if (store.mask) text += " mask " + exprs_.Text(store.mask);
    Line(text);
  }

  void PrintNode(const Reduce& reduce) {
    std::vector<std::string> outputs;
    std::vector<std::string> inputs;
    for (const Access& output : reduce.outputs) {
      outputs.push_back(exprs_.AccessText(output.buffer, output.indices));
    }
    for (size_t i = 0; i < reduce.inputs.size(); ++i) {
      inputs.push_back(exprs_.Text(reduce.inputs[i], reduce.combiner->identities[i].dtype()));
    }
    Line(fmt::format("reduce {}{} ({}) with ({})", SpellName(reduce.combiner->name),
                     reduce.init == ReduceInit::kFirstInstance ? " init" : "",
                     fmt::join(outputs, ", "), fmt::join(inputs, ", ")));
  }

  void PrintNode(const Seq& seq) {
    Line("{");
    PrintIndented(seq.stmts);
    Line("}");
  }

  void PrintNode(const For& loop) {
    std::string extent = Index(loop.extent);
    std::string text = "for " + SpellName(names_.Define(loop.var)) + " in 0.." + extent;
    if (loop.for_kind != ForKind::kSerial) text += " " + std::string(ToString(loop.for_kind));
    if (!loop.key.empty()) text += " " + SpellKey(loop.key);
    PrintBody(text, loop.body);
  }

  // Bindings, domains and guards are outside the scope of the iteration variables.
  void PrintNode(const Block& block) {
    std::vector<std::string> tails;
    for (const IterVar& iter : block.iters) {
      tails.push_back(fmt::format(": {} {} = {}",
                                  iter.kind == IterKind::kSpatial ? "spatial" : "reduce",
                                  Index(iter.domain), Index(iter.binding)));
    }
    std::vector<std::string> guards;
    for (const LoopGuard& guard : block.guards) {
      guards.push_back(exprs_.Text(guard.value, kInt64, kSumPrecedence) + " < " +
                       exprs_.Text(guard.extent, kInt64, kSumPrecedence));
    }
    names_.EnterBlock(block);
    for (size_t i = 0; i < tails.size(); ++i) {
      tails[i] = SpellName(names_.NameOf(block.iters[i].var)) + tails[i];
    }
    std::string text = fmt::format("block {}({})", SpellName(block.name), fmt::join(tails, ", "));
    if (!guards.empty()) text += fmt::format(" guard ({})", fmt::join(guards, ", "));
    bool always = block.predicate.as<IntImm>() && IsConstant(block.predicate, 1);
    if (!always) text += " where " + exprs_.Text(block.predicate);
    PrintBody(text, block.body);
    names_.LeaveBlock(block);
  }

  void PrintNode(const If& branch) {
    Line("if " + exprs_.Text(branch.condition) + " {");
    PrintIndented(BodyList(branch.then_body));
    if (branch.else_body) {
      Line("} else {");
      PrintIndented(BodyList(branch.else_body));
    }
    Line("}");
  }

  void PrintNode(const Let& let) { PrintBody(LetHeader(let) + " in", let.body); }
  void PrintNode(const Allocate& allocate) {
    PrintBody(AllocateHeader(allocate) + " in", allocate.body);
  }

  void PrintNode(const Barrier& barrier) {
    Line(fmt::format("barrier({})", ToString(barrier.scope)));
  }

  void PrintNode(const AsyncCopy& copy) {
    Line("async_copy " + exprs_.AccessText(copy.destination.buffer, copy.destination.indices) +
         " from " + exprs_.AccessText(copy.source.buffer, copy.source.indices) +
         fmt::format(" count {}", copy.count) +
         (copy.keep ? " where " + exprs_.Text(copy.keep) : ""));
  }

  void PrintNode(const AsyncCommit& commit) {
    Line(commit.what == AsyncKind::kCopies ? "async_commit" : "product_commit");
  }
  void PrintNode(const AsyncWait& wait) {
    Line(fmt::format("{}_wait({})", wait.what == AsyncKind::kCopies ? "async" : "product",
                     wait.pending));
  }
  void PrintNode(const PrefetchLine& prefetch) {
    Line("prefetch " + exprs_.AccessText(prefetch.cell.buffer, prefetch.cell.indices));
  }
  void PrintNode(const IntrinsicCall& call) {
    PrintBody("intrinsic " + SpellName(call.intrinsic), call.body);
  }

  Namer& names_;
  ExprPrinter exprs_;
  std::string out_;
  size_t depth_ = 0;
};

std::string CombinerText(const CombinerNode& combiner) {
  Namer names;
  ExprPrinter exprs(names);
  std::vector<std::string> lhs;
  std::vector<std::string> rhs;
  std::vector<std::string> results;
  for (size_t i = 0; i < combiner.lhs.size(); ++i) {
    DType dtype = combiner.lhs[i].dtype();
    lhs.push_back(fmt::format("{}: {} = {}", SpellName(names.Define(combiner.lhs[i])),
                              ToString(dtype), exprs.Text(combiner.identities[i], dtype)));
  }
  for (const Var& var : combiner.rhs) {
    rhs.push_back(SpellName(names.Define(var)) + ": " + ToString(var.dtype()));
  }
  for (size_t i = 0; i < combiner.results.size(); ++i) {
    results.push_back(exprs.Text(combiner.results[i], combiner.lhs[i].dtype()));
  }
  std::string text =
      fmt::format("combiner {}({}; {}) = ({})", SpellName(combiner.name), fmt::join(lhs, ", "),
                  fmt::join(rhs, ", "), fmt::join(results, ", "));
  if (!combiner.direct.empty()) {
    std::vector<std::string> direct;
    for (size_t i = 0; i < combiner.direct.size(); ++i) {
      direct.push_back(exprs.Text(combiner.direct[i], combiner.lhs[i].dtype()) + " by " +
                       SpellName(combiner.direct_ops[i]->name));
    }
    text += fmt::format(" direct ({})", fmt::join(direct, ", "));
  }
  return text + "\n";
}

// Appends the definition of `combiner`, after those of the combiners that it names.
void DefineCombiner(const Ref<CombinerNode>& combiner, std::set<std::string>& defined,
                    std::string& out) {
  for (const auto& op : combiner->direct_ops) DefineCombiner(op, defined, out);
  if (defined.insert(combiner->name).second) out += CombinerText(*combiner);
}

std::string VarsText(const std::vector<Var>& vars, Namer& names) {
  if (vars.empty()) return "";
  std::vector<std::string> texts;
  for (const Var& var : vars) {
    bool shape = var->role == VarRole::kShape;
    texts.push_back(fmt::format("{} {} in {}..={}{}", shape ? "shape" : "tile",
                                SpellName(names.Define(var)), var->low, var->high,
                                shape ? fmt::format(" usual {}", var->usual) : ""));
  }
  return fmt::format("<{}>", fmt::join(texts, ", "));
}

std::string AttributesText(const std::map<std::string, std::string>& attributes) {
  if (attributes.empty()) return "";
  std::vector<std::string> texts;
  for (const auto& [key, value] : attributes) texts.push_back(Quote(key) + " = " + Quote(value));
  return fmt::format(" attributes({})", fmt::join(texts, ", "));
}

}  // namespace

std::string Print(const Expr& expr) {
  Namer names;
  return ExprPrinter(names).Text(expr);
}

std::string Print(const Stmt& stmt) {
  Namer names;
  StmtPrinter printer(names);
  printer.PrintList(BodyList(stmt));
  return printer.Take();
}

std::string Print(const Function& fn) {
  std::string out;
  std::set<std::string> defined;
  if (fn.body) {
    PreOrder(fn.body, [&](const Stmt& stmt) {
      if (const auto* reduce = stmt.as<Reduce>()) DefineCombiner(reduce->combiner, defined, out);
    });
  }
  Namer names;
  StmtPrinter printer(names);
  std::string header = "fn " + SpellName(fn.name) + VarsText(fn.vars, names);
  std::vector<std::string> params;
  for (const Buffer& param : fn.params) params.push_back(printer.Declaration(param));
  header += fmt::format("({}) {}", fmt::join(params, ", "), ToString(fn.level)) +
            AttributesText(fn.attributes);
  printer.PrintBody(header, fn.body);
  return out + printer.Take();
}

}  // namespace tcc
