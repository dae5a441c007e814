#include "codegen_llvm/amx_region.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "ir/expr/compare.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "support/word_tile.h"

namespace tcc {
namespace {

constexpr int64_t kWordBytes = 4;

bool IsTile(const Tile& x, const Tile& y) {
  return x.buffer == y.buffer && x.stride == y.stride && Equal(x.first, y.first);
}

// Collects the sums of a region, and what stands against it.
class RegionFinder {
 public:
  std::optional<AmxRegion> Find(const Stmt& stmt) && {
    Visit(stmt);
    if (failed_ || region_.sums.empty() || !AreApart()) return std::nullopt;
    return std::move(region_);
  }

 private:
  void Visit(const Stmt& stmt) {
    if (failed_) return;
    if (const auto* seq = stmt.as<Seq>()) {
      for (const Stmt& child : seq->stmts) Visit(child);
    } else if (const auto* loop = stmt.as<For>()) {
      failed_ = loop->for_kind != ForKind::kSerial && loop->for_kind != ForKind::kUnrolled;
      inside_.push_back(loop->var);
      Visit(loop->body);
    } else if (const auto* branch = stmt.as<If>()) {
      failed_ = static_cast<bool>(branch->else_body);
      Visit(branch->then_body);
    } else if (const auto* let = stmt.as<Let>()) {
      inside_.push_back(let->var);
      Visit(let->body);
    } else if (const auto* call = stmt.as<IntrinsicCall>()) {
      Add(*call);
    } else {
      failed_ = !stmt.as<PrefetchLine>();
    }
  }

  void Add(const IntrinsicCall& call) {
    std::optional<TileDot> dot = ReadTileDot(call, kAmxTile);
    failed_ = !dot || std::ranges::any_of(
                          inside_, [&](const Var& var) { return UsesVar(dot->c.first, var); });
    if (failed_) return;
    read_.insert({dot->a.buffer.operator->(), dot->b.buffer.operator->()});
    auto known =
        std::ranges::find_if(region_.sums, [&](const Tile& sum) { return IsTile(sum, dot->c); });
    if (known == region_.sums.end()) region_.sums.push_back(dot->c);
    failed_ = region_.sums.size() > AmxRegion::kMaxSums;
  }

  // Whether no two sums share an element, and no operand is a sum.
  bool AreApart() const {
    std::set<std::pair<const VarNode*, int64_t>> cells;
    for (const Tile& sum : region_.sums) {
      const VarNode* buffer = sum.buffer.operator->();
      std::optional<int64_t> place;
      for (const Tile& other : region_.sums) {
        if (place || other.buffer != sum.buffer) continue;
        place = AsConstant(Simplify(sum.first - other.first));
        if (!place) return false;
      }
      for (int64_t i = 0; i < kAmxTile * kAmxTile; ++i) {
        int64_t cell = *place + i / kAmxTile * sum.stride + i % kAmxTile;
        if (!cells.insert({buffer, cell}).second) return false;
      }
      if (read_.contains(buffer)) return false;
    }
    return true;
  }

  AmxRegion region_;
  std::vector<Var> inside_;  // the variables of the region
  std::set<const VarNode*> read_;
  bool failed_ = false;
};

// The constant that ldtilecfg reads: palette 1, then the bytes of a row and the rows of each
// register.
llvm::GlobalVariable* Configuration(llvm::Module& module) {
  constexpr const char* kName = "tcc_amx_configuration";
  if (llvm::GlobalVariable* known = module.getNamedGlobal(kName)) return known;
  std::array<uint8_t, 64> bytes = {1};
  for (size_t tile = 0; tile < 8; ++tile) {
    bytes[16 + 2 * tile] = kAmxTile * kWordBytes;
    bytes[48 + tile] = kAmxTile;
  }
  llvm::Constant* value = llvm::ConstantDataArray::get(module.getContext(), bytes);
  auto* made = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                        llvm::GlobalValue::PrivateLinkage, value, kName);
  made->setAlignment(llvm::Align(64));
  return made;
}

}  // namespace

std::optional<AmxRegion> FindAmxRegion(const Stmt& stmt) {
  return RegionFinder().Find(stmt);
}

void AmxRegisters::LoadSum(size_t sum, llvm::Value* address) {
  llvm::IRBuilderBase& b = state_.builder;
  llvm::Value* stride = b.getInt64(static_cast<uint64_t>(region_.sums[sum].stride * kWordBytes));
  b.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {},
                    {b.getInt8(static_cast<uint8_t>(sum)), address, stride});
}

void AmxRegisters::StoreSum(size_t sum, llvm::Value* address) {
  llvm::IRBuilderBase& b = state_.builder;
  llvm::Value* stride = b.getInt64(static_cast<uint64_t>(region_.sums[sum].stride * kWordBytes));
  b.CreateIntrinsic(llvm::Intrinsic::x86_tilestored64, {},
                    {b.getInt8(static_cast<uint8_t>(sum)), address, stride});
}

std::optional<unsigned> AmxRegisters::Holding(const Tile& tile) const {
  for (unsigned r = 0; r < operands_.size(); ++r) {
    if (operands_[r] && IsTile(*operands_[r], tile)) return AmxRegion::kMaxSums + r;
  }
  return std::nullopt;
}

unsigned AmxRegisters::LoadOperand(const Tile& tile, llvm::Value* address) {
  llvm::IRBuilderBase& b = state_.builder;
  unsigned r = AmxRegion::kMaxSums + next_;
  operands_[next_] = tile;
  next_ = (next_ + 1) % operands_.size();
  llvm::Value* stride = b.getInt64(static_cast<uint64_t>(tile.stride * kWordBytes));
  b.CreateIntrinsic(llvm::Intrinsic::x86_tileloadd64, {},
                    {b.getInt8(static_cast<uint8_t>(r)), address, stride});
  return r;
}

void AmxRegisters::EmitDot(const TileDot& dot, unsigned a, unsigned b) {
  auto sum = std::ranges::find_if(region_.sums, [&](const Tile& c) { return IsTile(c, dot.c); });
  auto number = [&](size_t r) { return state_.builder.getInt8(static_cast<uint8_t>(r)); };
  llvm::Intrinsic::ID instruction = dot.dot == ScalarOp::kDotU8I8x4
                                        ? llvm::Intrinsic::x86_tdpbusd
                                        : llvm::Intrinsic::x86_tdpbf16ps;
  state_.builder.CreateIntrinsic(
      instruction, {},
      {number(static_cast<size_t>(sum - region_.sums.begin())), number(a), number(b)});
}

void AmxRegisters::ForgetOperands() {
  std::ranges::fill(operands_, std::nullopt);
}

void ConfigureAmx(KernelState& state) {
  llvm::IRBuilderBase& b = state.builder;
  llvm::GlobalVariable* configuration = Configuration(state.module);
  if (!state.failure) {
    b.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {configuration});
    return;
  }
  if (state.amx_is_configured) return;
  state.amx_is_configured = true;
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  llvm::BasicBlock& entry = state.function->getEntryBlock();
  b.SetInsertPoint(&entry, entry.getFirstInsertionPt());
  b.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {configuration});
}

void ReleaseAmx(KernelState& state) {
  state.builder.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
}

}  // namespace tcc
