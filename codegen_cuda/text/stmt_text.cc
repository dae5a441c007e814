#include "codegen_cuda/text/stmt_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "codegen_cuda/text/c_types.h"
#include "codegen_cuda/text/scalar_text.h"
#include "ir/expr/behind_blocks.h"
#include "ir/expr/lane_of.h"
#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "support/check.h"
#include "support/integer_division.h"
#include "support/storage_types.h"
#include "support/target.h"

namespace tcc {
namespace {

// Checks whether a loop holds loops or barriers and so stays a loop; the compiler decides whether
// to unroll innermost ones.
bool KeepsItsLoop(const For& loop) {
  return Contains(loop.body, [&](const Stmt& stmt) {
    return stmt.as<For>() || stmt.as<Barrier>() || stmt.as<AsyncWait>();
  });
}

// Checks whether the loop holds the steps of an exchange in a warp: they are few, and unrolling
// turns their distances into constants.
bool IsOfShuffles(const For& loop) {
  bool warp = false, block = false;
  PreOrder(loop.body, [&](const Stmt& stmt) {
    const auto* barrier = stmt.as<Barrier>();
    warp = warp || (barrier && barrier->scope == Scope::kWarp);
    block = block || stmt.as<For>() || (barrier && barrier->scope != Scope::kWarp);
  });
  return warp && !block;
}

// The words of each lane in a tile of 16 x 8 that a group adds to.
constexpr int64_t kGroupTileWords = 4;

bool Reads(const Expr& value, const Var& buffer) {
  return UsesVar(value, buffer);
}

// Returns the number of words per tile of the instruction's operand in `buffer`; 1 if this call
// does not determine it.
int64_t WordsOfTile(const IntrinsicCall& call, const Var& buffer) {
  const WarpInstruction* instruction = FindWarpInstruction(call.intrinsic);
  if (!instruction || !instruction->Multiplies()) return 1;
  if (instruction->kind == WarpInstruction::Kind::kGroupMma) return kGroupTileWords;
  StatusOr<MmaCall> mma = ReadMma(call, *instruction, {});
  if (!mma.ok()) return 1;
  for (const FragmentWords& operand : {mma->a, mma->b, mma->c}) {
    if (operand.buffer == buffer) return operand.words;
  }
  return 1;
}

}  // namespace

// Returns whether the value may differ between the threads of a block.
bool StmtText::Varies(const Expr& value) const {
  bool varies = false;
  PreOrder(value, [&](const Expr& e) {
    bool of_thread = kernel_.thread_axes.contains(e.get()) || varying_.contains(e.get());
    varies = varies || of_thread || e.as<Load>();
  });
  return varies;
}

bool StmtText::HasGuard() const {
  return guards_[0] || guards_[1] || guards_[2];
}

// Returns false for statements that all threads of a block or warp must reach, and for a thread
// loop of a guarded axis, for which the guard does not hold.
bool StmtText::FitsUnderGuard(const Stmt& stmt) const {
  bool fits = true;
  PreOrderExprs(stmt, [&](const Expr& expr) {
    const auto* load = expr.as<Load>();
    fits = fits && !(load && exprs_.IsShuffled(load->buffer));
  });
  PreOrder(stmt, [&](const Stmt& s) {
    const auto* loop = s.as<For>();
    bool other = loop && IsThreadIdx(loop->for_kind) && guards_[AxisOf(loop->for_kind)];
    fits = fits && !other && !IsGroupProduct(s) && !s.as<Barrier>() && !s.as<AsyncCommit>() &&
           !s.as<AsyncWait>();
  });
  return fits;
}

std::string StmtText::GuardText() const {
  std::string text;
  for (const std::optional<ThreadGuard>& guard : guards_) {
    if (!guard) continue;
    text += fmt::format("{}{} < {}", text.empty() ? "" : " && ", guard->index, guard->extent);
  }
  return text;
}

void StmtText::Emit(const Stmt& stmt) {
  bool guarded = HasGuard() && FitsUnderGuard(stmt) && !IsNothing(stmt);
  if (!guarded) return EmitUnguarded(stmt);
  kernel_.Open(fmt::format("if ({})", GuardText()));
  auto guards = std::exchange(guards_, {});
  EmitUnguarded(stmt);
  guards_ = guards;
  kernel_.Close();
}

// Emits a sequence; adjacent statements share an if.
void StmtText::EmitSeq(const Seq& seq) {
  std::vector<Stmt> together;
  auto flush = [&] {
    if (!together.empty()) Emit(SeqOf(std::exchange(together, {})));
  };
  if (!HasGuard()) {
    const size_t behind = FirstBehindBlocks(seq);
    for (size_t i = 0; i < behind;) {
      std::vector<const IntrinsicCall*> products;
      for (; i < behind && IsGroupProduct(seq.stmts[i]); ++i) {
        products.push_back(seq.stmts[i].as<IntrinsicCall>());
      }
      if (products.empty()) {
        Emit(seq.stmts[i++]);
      } else {
        EmitGroup(products);
      }
    }
    if (behind < seq.stmts.size()) EmitBehindBlocks(seq, behind);
    return;
  }
  for (const Stmt& child : seq.stmts) {
    if (FitsUnderGuard(child)) {
      together.push_back(child);
      continue;
    }
    flush();
    Emit(child);
  }
  flush();
}

// Emits the statements of `seq` from `first` on. A fence before the ticket orders the block's own
// stores, one behind it the loads of what others stored.
void StmtText::EmitBehindBlocks(const Seq& seq, size_t first) {
  Expr blocks;
  PreOrder(seq.stmts[first - 1], [&](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    if (loop && IsBlockIdx(loop->for_kind)) blocks = loop->extent;
  });
  exprs_.Start({blocks});
  const std::string count = exprs_.Emit(blocks).text;
  kernel_.Line("tcc_fence();");
  kernel_.Open(fmt::format("if (tcc_is_last({}, tcc_block_x(), {}))", kernel_.tickets, count));
  kernel_.Line(fmt::format("tcc_reset_ticket({}, tcc_block_x());", kernel_.tickets));
  kernel_.Line("tcc_fence();");
  Emit(SeqOf({seq.stmts.begin() + static_cast<std::ptrdiff_t>(first), seq.stmts.end()}));
  kernel_.Close();
}

void StmtText::EmitThreads(const For& loop) {
  int axis = AxisOf(loop.for_kind);
  int64_t extent = *AsConstant(loop.extent);
  std::optional<ThreadGuard> guard;
  if (extent < threads_[axis]) guard = ThreadGuard{kernel_.NameOf(loop.var), extent};
  auto outer = std::exchange(guards_[axis], guard);
  Emit(loop.body);
  guards_[axis] = outer;
}

void StmtText::EmitUnguarded(const Stmt& stmt) {
  VisitStmt(stmt, Overloaded{
                      [this](const Seq& seq) { EmitSeq(seq); },
                      [this](const Store& store) { EmitStore(store); },
                      [this](const For& loop) { EmitFor(loop); },
                      [this](const If& branch) { EmitIf(branch); },
                      [this](const Let& let) { EmitLet(let); },
                      [this](const Allocate& allocate) { EmitAllocate(allocate); },
                      [this](const Barrier& barrier) {
                        // Shuffles synchronize the warp themselves.
                        if (barrier.scope == Scope::kWarp) return;
                        // Tensor cores see what threads wrote by other means.
                        if (kernel_.has_groups) kernel_.Line("tcc_proxy_fence();");
                        bool global = kernel_.meets_in_global && kernel_.dialect.has_global_barrier;
                        kernel_.Line(global ? "tcc_global_barrier();" : "tcc_barrier();");
                      },
                      [this](const AsyncCopy& copy) { EmitCopy(copy); },
                      [this](const AsyncCommit& commit) {
                        if (!kernel_.dialect.has_async_copies) return;
                        bool copies = commit.what == AsyncKind::kCopies;
                        kernel_.Line(copies ? "tcc_async_commit();" : "tcc_group_commit();");
                      },
                      [this](const AsyncWait& wait) { EmitWait(wait); },
                      // A prefetch is a hint for CPUs; a thread block hides latency by its other
                      // warps.
                      [](const PrefetchLine&) {},
                      [this](const IntrinsicCall& call) { EmitCall(call); },
                      [](const auto& node) {
                        TCC_CHECK(false) << "statement of kind " << static_cast<int>(node.kind)
                                         << " at kLowered";
                      },
                  });
}

void StmtText::EmitFor(const For& loop) {
  if (IsBlockIdx(loop.for_kind)) return Emit(loop.body);
  if (IsThreadIdx(loop.for_kind)) return EmitThreads(loop);
  TCC_CHECK(loop.for_kind != ForKind::kVectorized && loop.for_kind != ForKind::kVthread)
      << loop.var->name << " is " << ToString(loop.for_kind) << " at kLowered";
  exprs_.Start({loop.extent});
  Piece extent = exprs_.Emit(loop.extent);
  int64_t most = BoundsOf(loop.extent, kernel_.bounds).high;
  kernel_.bounds[loop.var] = {0, most == INT64_MAX ? most : std::max<int64_t>(most - 1, 0)};
  bool wide = most > INT32_MAX;
  if (Varies(loop.extent)) varying_.insert(loop.var.get());
  if (wide) kernel_.wide.insert(loop.var.get());
  if (loop.for_kind == ForKind::kUnrolled || IsOfShuffles(loop)) {
    kernel_.Line("#pragma unroll");
  } else if (KeepsItsLoop(loop)) {
    kernel_.Line("#pragma unroll 1");
  }
  const std::string& name = kernel_.NameOf(loop.var);
  kernel_.Open(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1})",
                           RegisterTypeText(kernel_.dialect, wide ? kInt64 : kInt32), name,
                           In(extent, Precedence::kShift)));
  Emit(loop.body);
  kernel_.Close();
}

void StmtText::EmitIf(const If& branch) {
  if (kernel_.has_groups && Varies(branch.condition) && Contains(Stmt(branch), IsGroupProduct)) {
    kernel_.Refuse(
        Unsupported("a product of four warps is under a condition that only some of "
                    "their threads may meet"));
  }
  exprs_.Start({branch.condition});
  kernel_.Open(fmt::format("if ({})", exprs_.Emit(branch.condition).text));
  Emit(branch.then_body);
  if (branch.else_body) {
    kernel_.Else();
    Emit(branch.else_body);
  }
  kernel_.Close();
}

void StmtText::EmitLet(const Let& let) {
  DType dtype = let.value.dtype();
  if (Varies(let.value)) varying_.insert(let.var.get());
  if (dtype.lanes() > 1) return EmitVectorLet(let);
  exprs_.Start({let.value});
  Piece value = exprs_.Emit(let.value);
  bool is_index = dtype == kInt64;
  if (is_index) kernel_.bounds[let.var] = BoundsOf(let.value, kernel_.bounds);
  if (is_index && value.wide) kernel_.wide.insert(let.var.get());
  exprs_.Declare(kernel_.Define(let.var), dtype, value);
  Emit(let.body);
}

// Declares one constant per lane.
void StmtText::EmitVectorLet(const Let& let) {
  DType dtype = let.value.dtype().element();
  exprs_.Start({let.value});
  std::vector<Piece> values = exprs_.EmitLanes(let.value);
  std::vector<Var>& lanes = kernel_.lanes[let.var.get()];
  lanes.clear();
  for (const Piece& value : values) {
    Expr lane = Make<VarNode>(let.var->name, let.var->role, dtype, let.var->low, let.var->high,
                              let.var->usual);
    lanes.emplace_back(lane.as<VarNode>());
    if (dtype == kInt64 && value.wide) kernel_.wide.insert(lane.get());
    exprs_.Declare(kernel_.Define(lanes.back()), dtype, value);
  }
  Emit(let.body);
}

// Declares a thread's or warp's buffer. Shared buffers are declared at the start of the kernel.
void StmtText::EmitAllocate(const Allocate& allocate) {
  const Buffer& buffer = allocate.buffer;
  bool fragments = buffer.scope == Scope::kWarp && HoldsFragments(allocate.body, buffer.var);
  if (fragments) {
    DeclareFragments(allocate);
  } else if (buffer.scope == Scope::kLocal || buffer.scope == Scope::kWarp) {
    kernel_.buffers[buffer.var.get()] = buffer;
    std::optional<int64_t> count = AsConstant(buffer.shape[0]);
    TCC_CHECK(count && buffer.rank() == 1) << buffer.var->name << " has no constant size";
    // Each lane has one cell of a warp's buffer.
    if (buffer.scope == Scope::kWarp) {
      if (*count != Target::kWarp) {
        kernel_.Refuse(Unsupported("'{}', which a warp holds, has {} cells that no intrinsic uses",
                                   buffer.var->name, *count));
      }
      count = 1;
    }
    int64_t cells = CeilDivision(*count, PackedPerByte(buffer.dtype()));
    kernel_.Line(fmt::format("TCC_LOCAL({}, {}, {});",
                             MemoryTypeText(kernel_.dialect, buffer.dtype()),
                             kernel_.Define(buffer.var), std::max<int64_t>(cells, 1)));
  }
  Emit(allocate.body);
  if (!sums_.empty() && sums_.back() == buffer.var) sums_.pop_back();
}

// Declares the fragments of a buffer, grouped into the tiles that the instruction takes.
void StmtText::DeclareFragments(const Allocate& allocate) {
  const Buffer& buffer = allocate.buffer;
  kernel_.buffers[buffer.var.get()] = buffer;
  if (Contains(allocate.body, [&](const Stmt& stmt) {
        return IsGroupProduct(stmt) && UsesVar(stmt, buffer.var);
      })) {
    sums_.push_back(buffer.var);
  }
  int64_t words = 1;
  PreOrder(allocate.body, [&](const Stmt& stmt) {
    const auto* call = stmt.as<IntrinsicCall>();
    if (call && words == 1 && UsesVar(stmt, buffer.var)) words = WordsOfTile(*call, buffer.var);
  });
  DType dtype = buffer.dtype();
  int64_t count =
      CeilDivision(*AsConstant(buffer.shape[0]) * dtype.bytes(), 4 * Target::kWarp * words);
  kernel_.tile_words[buffer.var.get()] = words;
  kernel_.Line(fmt::format("TCC_FRAGMENTS({}, {}, {}, {});",
                           dtype.bits() == 32 ? MemoryTypeText(kernel_.dialect, dtype) : "unsigned",
                           words, kernel_.Define(buffer.var), count));
}

void StmtText::EmitCall(const IntrinsicCall& call) {
  const WarpInstruction* instruction =
      InstructionOf(call, [&](const Var& buffer) { return exprs_.BufferOf(buffer).scope; });
  if (!instruction) return Emit(call.body);
  if (!instruction->IsIn(kernel_.sm)) {
    return kernel_.Refuse(Unsupported("intrinsic '{}' needs sm_{}{}", call.intrinsic,
                                      instruction->sm, instruction->later ? "" : "a"));
  }
  switch (instruction->kind) {
    case WarpInstruction::Kind::kMma: {
      StatusOr<MmaCall> mma = ReadMma(call, *instruction, kernel_.bounds);
      return mma.ok() ? EmitMma(*mma) : kernel_.Refuse(mma.status());
    }
    case WarpInstruction::Kind::kGroupMma: {
      const IntrinsicCall* one = &call;
      return EmitGroup({&one, 1});
    }
    case WarpInstruction::Kind::kLoadMatrices: {
      StatusOr<LoadMatricesCall> load = ReadLoadMatrices(call, kernel_.lane, kernel_.bounds);
      if (!load.ok()) return kernel_.Refuse(load.status());
      kernel_.rows_per_bank = std::max(kernel_.rows_per_bank, RowsPerBank(*load, kernel_.lane));
      return EmitLoad(*load);
    }
  }
}

std::string StmtText::TileText(const FragmentWords& operand) const {
  return fmt::format("{}[{}]", kernel_.NameOf(operand.buffer), operand.word / operand.words);
}

void StmtText::EmitMma(const MmaCall& call) {
  std::string sum = TileText(call.c);
  kernel_.Line(fmt::format("{} = {}({}, {}, {});", sum, call.function, TileText(call.a),
                           TileText(call.b), sum));
}

// Emits neighbouring products of groups, joined to instructions.
void StmtText::EmitGroup(std::span<const IntrinsicCall* const> calls) {
  if (!FindWarpInstruction(calls[0]->intrinsic)->IsIn(kernel_.sm)) return EmitCall(*calls[0]);
  if (HasGuard() || threads_[0] != Target::kWarp || threads_[2] != 1) {
    return kernel_.Refuse(Unsupported(
        "intrinsic '{}' is run by some threads of four warps, or by warps along other axes than y",
        calls[0]->intrinsic));
  }
  GroupPlace place{
      .warp = LoopVar("warp"),
      .warps = threads_[1],
      .is_warp =
          [&](const Var& var) {
            auto found = kernel_.thread_axes.find(var.get());
            return found != kernel_.thread_axes.end() && found->second == 1;
          },
      .is_uniform = [&](const Var& var) { return !Varies(var); },
      .alignment = [&](const Var& buffer) { return SharedAlignment(exprs_.BufferOf(buffer)); }};
  StatusOr<std::vector<GroupProduct>> products = ReadGroupProducts(calls, place, kernel_.bounds);
  if (!products.ok()) return kernel_.Refuse(products.status());
  kernel_.Line("tcc_group_fence();");
  for (const GroupProduct& product : *products) {
    const GroupMma& mma = product.mma;
    kernel_.groups.insert(mma);
    std::string a = GroupOperandText(product.a), b = GroupOperandText(product.b);
    kernel_.Line(fmt::format("tcc_group_mma_{}<{}, {}, {}>({}, {}, {}, {});", Name(mma.type),
                             mma.columns, mma.a_transposed, mma.b_transposed,
                             kernel_.NameOf(product.c), product.first, a, b));
  }
}

std::string StmtText::GroupOperandText(const GroupOperand& operand) {
  exprs_.Start({operand.index});
  return fmt::format("tcc_matrix<{}, {}, {}>({}, {})", operand.mode, operand.lead_bytes,
                     operand.stride_bytes, kernel_.NameOf(operand.buffer),
                     exprs_.EmitIndex(operand.index));
}

void StmtText::EmitWait(const AsyncWait& wait) {
  if (!kernel_.dialect.has_async_copies) return;
  if (wait.what == AsyncKind::kCopies) {
    return kernel_.Line(fmt::format("tcc_async_wait<{}>();", wait.pending));
  }
  for (const Var& sum : sums_) {
    kernel_.Line(fmt::format("tcc_group_wait<{}>({});", wait.pending, kernel_.NameOf(sum)));
  }
}

void StmtText::EmitLoad(const LoadMatricesCall& call) {
  exprs_.Start({call.row});
  size_t count = call.words.size();
  std::string loaded =
      fmt::format("tcc_load_matrix{}<{}>({}, {})", call.transposed ? "_transposed" : "", count,
                  kernel_.NameOf(call.from), exprs_.EmitIndex(call.row));
  const std::string& name = kernel_.NameOf(call.to);
  auto words = static_cast<size_t>(kernel_.tile_words.at(call.to.get()));
  bool whole = count == words && static_cast<size_t>(call.words[0]) % words == 0 &&
               call.words.back() - call.words[0] + 1 == static_cast<int64_t>(count);
  if (whole) {
    return kernel_.Line(fmt::format("{}[{}] = {};", name, call.words[0] / words, loaded));
  }
  std::string all = kernel_.Fresh("m");
  kernel_.Line(fmt::format("const auto {} = {};", all, loaded));
  for (size_t i = 0; i < count; ++i) {
    auto word = static_cast<size_t>(call.words[i]);
    kernel_.Line(fmt::format("{}[{}].v[{}] = {}.v[{}];", name, word / words, word % words, all, i));
  }
}

void StmtText::EmitCopy(const AsyncCopy& copy) {
  const Expr& to = copy.destination.indices[0];
  const Expr& from = copy.source.indices[0];
  const Buffer& target = exprs_.BufferOf(copy.destination.buffer);
  const Buffer& source = exprs_.BufferOf(copy.source.buffer);
  int width = std::min(exprs_.AccessWidth(target, to, copy.count),
                       exprs_.AccessWidth(source, from, copy.count));
  DType dtype = target.dtype();
  bool in_memory = source.scope == Scope::kGlobal || source.scope == Scope::kConstant;
  bool possible = kernel_.dialect.has_async_copies && target.scope == Scope::kShared && in_memory &&
                  !IsPacked(dtype) && width * dtype.bytes() >= 4;
  for (int i = 0; i < copy.count; i += possible ? width : 1) {
    Expr to_index = exprs_.Shifted(to, i);
    Expr from_index = exprs_.Shifted(from, i);
    if (!possible) {
      // Nothing copies this element on its own, so it is loaded and stored.
      Expr value = Make<Load>(source.var, std::vector<Expr>{from_index});
      if (copy.keep) value = SelectOf(copy.keep, value, Const(dtype, 0));
      StoreScalar(target.var, to_index, value);
      continue;
    }
    std::vector<Expr> parts = {to_index, from_index};
    if (copy.keep) parts.push_back(copy.keep);
    exprs_.Start(parts);
    std::string to_text = exprs_.EmitIndex(to_index);
    std::string from_text = exprs_.EmitIndex(from_index);
    std::string keep = copy.keep ? ", " + exprs_.Emit(copy.keep).text : "";
    kernel_.Line(fmt::format("tcc_async_copy<{}>({}, {}, {}, {}{});", width,
                             kernel_.NameOf(target.var), to_text, kernel_.NameOf(source.var),
                             from_text, keep));
  }
}

void StmtText::EmitStore(const Store& store) {
  TCC_CHECK(store.indices.size() == 1) << store.buffer->name << " has an index a dimension";
  if (!store.mask) return EmitUnmasked(store);
  const auto* splat = store.mask.as<Broadcast>();
  const Expr& mask = splat ? splat->value : store.mask;
  if (mask.dtype().lanes() == 1) {
    exprs_.Start({mask});
    kernel_.Open(fmt::format("if ({})", exprs_.Emit(mask).text));
    EmitUnmasked(Store(store.buffer, store.indices, store.value));
    return kernel_.Close();
  }
  for (int l = 0; l < mask.dtype().lanes(); ++l) {
    Expr of_lane = Simplify(LaneOf(mask, l, kernel_.lanes), kernel_.bounds);
    if (IsConstant(of_lane, 0)) continue;
    exprs_.Start({of_lane});
    kernel_.Open(fmt::format("if ({})", exprs_.Emit(of_lane).text));
    StoreScalar(store.buffer, Simplify(LaneOf(store.indices[0], l, kernel_.lanes), kernel_.bounds),
                LaneOf(store.value, l, kernel_.lanes));
    kernel_.Close();
  }
}

void StmtText::EmitUnmasked(const Store& store) {
  if (store.indices[0].dtype().lanes() == 1)
    return StoreScalar(store.buffer, store.indices[0], store.value);
  StoreLanes(store);
}

void StmtText::StoreScalar(const Var& buffer, const Expr& index, const Expr& value) {
  exprs_.Start({index, value});
  StoreCell(exprs_.BufferOf(buffer), index, exprs_.Emit(value));
}

void StmtText::StoreCell(const Buffer& buffer, const Expr& index, const Piece& value) {
  DType dtype = buffer.dtype();
  if (IsPacked(dtype)) return StorePacked(buffer, index, value);
  kernel_.Line(fmt::format("{} = {};", exprs_.CellText(buffer, index), MemoryText(value, dtype)));
}

// Stores an element of 2 or 4 bits. Other threads may store the rest of the byte, so it is atomic;
// except in a thread's own buffer, which has no address for an atomic.
void StmtText::StorePacked(const Buffer& buffer, const Expr& index, const Piece& value) {
  const DType dtype = buffer.dtype();
  const std::string& name = kernel_.NameOf(buffer.var);
  std::string at = exprs_.EmitIndex(index);
  if (buffer.scope == Scope::kWarp) {
    kernel_.Refuse(Unsupported("'{}', which a warp holds, is of {}", buffer.var->name,
                               ToString(buffer.dtype())));
  } else if (buffer.scope == Scope::kLocal) {
    kernel_.Line(
        fmt::format("{0}[({1}) >> {2}] = tcc_with_packed({0}[({1}) >> {2}], {1}, {3}, {4});", name,
                    at, PackedPerByte(dtype) / 2, dtype.bits(), value.text));
  } else {
    const std::string function = kernel_.dialect.Overload(
        "tcc_store_packed", buffer.scope == Scope::kShared ? "local" : "global");
    kernel_.Line(fmt::format("{}({}, {}, {}, {});", function, name, at, dtype.bits(), value.text));
  }
}

// Returns whether the lanes of a store are the two halves of a word in a warp's fragments.
bool StmtText::IsWordOfHalves(const Buffer& buffer, const LaneIndex& index, int lanes) const {
  bool fragments = buffer.scope == Scope::kWarp && kernel_.tile_words.contains(buffer.var.get());
  if (!fragments || buffer.dtype().bits() != 16 || lanes != 2 || index.stride != Target::kWarp) {
    return false;
  }
  std::optional<int64_t> first = exprs_.OwnRegister(index.base);
  return first && *first % 2 == 0;
}

void StmtText::StoreLanes(const Store& store) {
  const Buffer& buffer = exprs_.BufferOf(store.buffer);
  const Expr& index = store.indices[0];
  int lanes = index.dtype().lanes();
  DType dtype = buffer.dtype();
  exprs_.Start({store.value, index});
  std::vector<Piece> values = exprs_.EmitLanes(store.value);
  if (values.size() == 1) values.resize(static_cast<size_t>(lanes), values[0]);
  std::optional<LaneIndex> match = MatchLaneIndex(index);
  if (match && IsWordOfHalves(buffer, *match, lanes)) {
    std::string low = MemoryText(values[0], dtype), high = MemoryText(values[1], dtype);
    std::string word = exprs_.WordText(buffer.var, *exprs_.OwnRegister(match->base) / 2);
    return kernel_.Line(fmt::format("{} = tcc_pair({}, {});", word, low, high));
  }
  bool contiguous = match && match->stride == 1;
  int width = contiguous ? exprs_.AccessWidth(buffer, match->base, lanes) : 1;
  if (width > 1) {
    std::vector<std::string> vectors;
    for (int l = 0; l < lanes; ++l) {
      if (l % width == 0) {
        vectors.push_back(kernel_.Fresh("v"));
        kernel_.Line(
            fmt::format("{} {};", kernel_.dialect.VectorType(dtype, width), vectors.back()));
      }
      kernel_.Line(fmt::format("{} = {};", kernel_.dialect.lane(vectors.back(), l % width),
                               MemoryText(values[static_cast<size_t>(l)], dtype)));
    }
    for (size_t i = 0; i < vectors.size(); ++i) {
      Expr at = exprs_.Shifted(match->base, static_cast<int64_t>(i) * width);
      kernel_.Line(kernel_.dialect.store_vector(kernel_.NameOf(buffer.var), exprs_.EmitIndex(at),
                                                width, vectors[i]) +
                   ";");
    }
    return;
  }
  // All lanes are read before any is written.
  if (Reads(store.value, store.buffer)) values = exprs_.Name(store.value, std::move(values));
  for (int l = 0; l < lanes; ++l) {
    Expr at = match ? exprs_.Shifted(match->base, l * match->stride)
                    : Simplify(LaneOf(index, l, kernel_.lanes), kernel_.bounds);
    StoreCell(buffer, at, values[static_cast<size_t>(l)]);
  }
}

}  // namespace tcc
