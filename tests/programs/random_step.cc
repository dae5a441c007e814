#include "tests/programs/random_step.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/tensor_intrinsics.h"
#include "schedule/steps/all_steps.h"
#include "support/target.h"

namespace tcc {
namespace {

constexpr std::string_view kStepNames[] = {
#define TCC_STEP_NAME(step, name, scope) name,
    TCC_STEPS(TCC_STEP_NAME)
#undef TCC_STEP_NAME
};

// How often ProposeAny draws a kind; 1 for all others.
struct Weight {
  std::string_view step;
  int weight;
};
constexpr Weight kWeights[] = {
    {"split", 5},       {"reorder", 3},    {"cache_read", 4},
    {"cache_write", 2}, {"compute_at", 6}, {"reverse_compute_at", 3},
    {"bind", 3},        {"vectorize", 2},  {"set_scope", 1},
};

std::vector<size_t> WeightedKinds() {
  std::vector<size_t> kinds;
  for (size_t kind = 0; kind < std::size(kStepNames); ++kind) {
    const auto* found = std::find_if(std::begin(kWeights), std::end(kWeights),
                                     [&](const Weight& w) { return w.step == kStepNames[kind]; });
    kinds.insert(kinds.end(), found == std::end(kWeights) ? 1 : found->weight, kind);
  }
  return kinds;
}

}  // namespace

std::span<const std::string_view> StepNames() {
  return kStepNames;
}

StepProposer::StepProposer(const Function& fn, std::vector<FreeSize>& sizes, Random& random,
                           bool hardware)
    : sizes_(sizes), random_(random), hardware_(hardware) {
  PreOrder(fn.body, [&](const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      loops_.push_back({loop->key, AsConstant(loop->extent).value_or(0)});
      if (loop->body.as<Allocate>()) holders_.push_back(loop->key);
    }
    const auto* block = stmt.as<Block>();
    if (block) blocks_.push_back(block->name);
    if (block) nodes_.emplace_back(block);
    for (size_t i = 0; block && i < block->iters.size(); ++i) {
      axes_.push_back(block->iters[i].var->name);
    }
    if (block && block->body.as<Reduce>()) reductions_.push_back(block->name);
  });
  for (const Buffer& buffer : DeclaredBuffers(fn)) {
    buffers_.push_back({buffer.var->name, buffer.rank()});
    if (!buffer.window.size.empty()) placed_.push_back(buffer.var->name);
  }
}

Step StepProposer::Propose(size_t kind) {
  using Maker = Step (StepProposer::*)();
  static constexpr Maker kMakers[] = {
#define TCC_MAKE_STEP(step, name, scope) &StepProposer::Make<step>,
      TCC_STEPS(TCC_MAKE_STEP)
#undef TCC_MAKE_STEP
  };
  return (this->*kMakers[kind])();
}

Step StepProposer::ProposeAny() {
  static const std::vector<size_t> kKinds = WeightedKinds();
  return Propose(kKinds[random_.Below(kKinds.size())]);
}

template <typename S>
Step StepProposer::Make() {
  S step{};
  std::apply([&](auto&... fields) { (Fill(fields), ...); }, step.Fields());
  if constexpr (requires { step.loop; }) step.loop = loops_[random_.Below(loops_.size())].key;
  if constexpr (requires { step.block; }) step.block = Pick(blocks_);
  if constexpr (requires { step.buffer; }) {
    step.buffer = buffers_[random_.Below(buffers_.size())].name;
  }
  if constexpr (requires { step.outer; }) PickPair(step.outer, step.inner);
  if constexpr (requires { step.operand; }) {
    step.operand = buffers_[random_.Below(buffers_.size())].name;
  }
  if constexpr (requires { step.axis = std::string(); }) {
    if (!axes_.empty()) step.axis = Pick(axes_);
  }
  if constexpr (requires { step.name; }) step.name = NewName();
  if constexpr (requires { step.readers; }) step.readers = SomeReaders(step.buffer);
  Refine(step);
  return step;
}

template <typename S>
void StepProposer::Refine(S& step) {
  if constexpr (std::is_same_v<S, Split>) {
    const Loop& loop = loops_[random_.Below(loops_.size())];
    step = {loop.key, {}};
    for (uint64_t levels = 1 + random_.Below(2); levels > 0; --levels) {
      step.factors.push_back(Factor(loop.extent));
    }
    // Threads that make a warp.
    if (hardware_ && random_.OneIn(8)) step.factors = {Expr(Target::kWarp)};
  } else if constexpr (std::is_same_v<S, Prefetch>) {
    step.over = loops_[random_.Below(loops_.size())].key;
    step.at = random_.OneIn(2) ? step.over : loops_[random_.Below(loops_.size())].key;
  } else if constexpr (std::is_same_v<S, RFactor>) {
    RefineReduction(step.block, step.loop);
    step.axis = random_.Between(-1, 2);
  } else if constexpr (std::is_same_v<S, RFactorTile> || std::is_same_v<S, DecomposeReduction>) {
    RefineReduction(step.block, step.loop);
  } else if constexpr (std::is_same_v<S, TransformLayout>) {
    RefineLayout(step);
  } else if constexpr (std::is_same_v<S, StorageAlign>) {
    step.offset = Expr(random_.Between(0, 2));
  } else if constexpr (std::is_same_v<S, Swizzle>) {
    step.bits = random_.Between(1, 3);
    step.base = random_.Between(0, 3);
    step.shift = random_.Between(1, 4);
  } else if constexpr (std::is_same_v<S, Pad>) {
    RefinePad(step);
  } else if constexpr (std::is_same_v<S, ReIndex>) {
    RefineReIndex(step);
  } else if constexpr (std::is_same_v<S, RollingBuffer>) {
    if (!placed_.empty()) step.buffer = Pick(placed_);
  } else if constexpr (std::is_same_v<S, SoftwarePipeline>) {
    RefinePipeline(step);
  } else if constexpr (std::is_same_v<S, Tensorize>) {
    step.intrinsic = TensorIntrinsics()[random_.Below(TensorIntrinsics().size())].name;
  }
}

// One block or none, the stored dimensions in any order.
void StepProposer::RefineLayout(TransformLayout& step) {
  const Declared& buffer = buffers_[random_.Below(buffers_.size())];
  step = {buffer.name, {}, {}};
  size_t stored = buffer.rank;
  if (stored > 0 && !random_.OneIn(4)) {
    step.blocks.push_back({static_cast<int>(random_.Below(stored)), Factor(15)});
    ++stored;
  }
  for (size_t d = 0; d < stored; ++d) step.order.push_back(static_cast<int64_t>(d));
  for (size_t d = stored; d > 1; --d) std::swap(step.order[d - 1], step.order[random_.Below(d)]);
}

void StepProposer::RefinePad(Pad& step) {
  const Block& block = *nodes_[random_.Below(nodes_.size())];
  if (block.iters.empty()) return;
  const IterVar& axis = block.iters[random_.Below(block.iters.size())];
  step = {block.name, axis.var->name, Factor(AsConstant(axis.domain).value_or(0))};
}

void StepProposer::RefineReIndex(ReIndex& step) {
  const Block& block = *nodes_[random_.Below(nodes_.size())];
  std::vector<Access> accesses = ReadsOf(block);
  for (const Access& write : WritesOf(block)) accesses.push_back(write);
  if (accesses.empty()) return;
  step.block = block.name;
  step.operand = accesses[random_.Below(accesses.size())].buffer->name;
}

// A reduction, and more often than not a loop of its own.
void StepProposer::RefineReduction(std::string& block, std::string& loop) {
  if (reductions_.empty()) return;
  block = Pick(reductions_);
  std::vector<std::string> own;
  for (const Loop& candidate : loops_) {
    if (candidate.key.starts_with(block + "/")) own.push_back(candidate.key);
  }
  if (!own.empty() && !random_.OneIn(4)) loop = Pick(own);
}

// Picks a loop that buffers live in.
void StepProposer::RefinePipeline(SoftwarePipeline& step) {
  step.kind = random_.OneIn(2) ? ForKind::kPipelined : ForKind::kPipelinedAsync;
  if (!holders_.empty()) step.loop = Pick(holders_);
}

void StepProposer::Fill(std::string& field) {
  switch (random_.Below(3)) {
    case 0:
      field = loops_[random_.Below(loops_.size())].key;
      break;
    case 1:
      field = Pick(blocks_);
      break;
    default:
      field = buffers_[random_.Below(buffers_.size())].name;
  }
}

// Some of the blocks that read the buffer; none: all.
std::vector<std::string> StepProposer::SomeReaders(const std::string& buffer) {
  std::vector<std::string> readers;
  if (random_.OneIn(2)) return readers;
  for (const Ref<Block>& block : nodes_) {
    std::vector<Access> reads = ReadsOf(*block);
    bool is_reader =
        std::ranges::any_of(reads, [&](const Access& read) { return read.buffer->name == buffer; });
    if (is_reader && random_.OneIn(2)) readers.push_back(block->name);
  }
  return readers;
}

// Reorder's loops, two or a longer run of those that follow each other in the text; names of other
// things are filled in by their fields' names.
void StepProposer::Fill(std::vector<std::string>& field) {
  field.clear();
  if (random_.OneIn(3)) {
    size_t first = random_.Below(loops_.size());
    size_t end = std::min(first + 3 + random_.Below(3), loops_.size());
    for (size_t i = first; i < end; ++i) field.push_back(loops_[i].key);
    for (size_t i = field.size(); i > 1; --i) std::swap(field[i - 1], field[random_.Below(i)]);
    return;
  }
  field.resize(2);
  PickPair(field[1], field[0]);
  if (random_.OneIn(2)) field[0] = loops_[random_.Below(loops_.size())].key;
}

void StepProposer::Fill(int64_t& field) {
  field = random_.Between(0, random_.OneIn(4) ? 32 : 3);
}

void StepProposer::Fill(std::vector<int64_t>& field) {
  field.resize(random_.Below(4));
  for (int64_t& number : field) Fill(number);
}

void StepProposer::Fill(Expr& field) {
  field = random_.OneIn(3) ? Factor(4) : Expr(random_.Between(1, 4));
}

void StepProposer::Fill(std::vector<Expr>& field) {
  field.resize(1 + random_.Below(2));
  for (Expr& size : field) Fill(size);
}

void StepProposer::Fill(BlockFactor& field) {
  field = {static_cast<int>(random_.Below(3)), Factor(15)};
}

void StepProposer::Fill(std::vector<BlockFactor>& field) {
  field.resize(random_.Below(2));
  for (BlockFactor& block : field) Fill(block);
}

void StepProposer::Fill(Scope& field) {
  constexpr Scope kScopes[] = {Scope::kLocal, Scope::kGlobal, Scope::kShared};
  field = kScopes[random_.Below(hardware_ ? 3 : 2)];
  if (hardware_ && random_.OneIn(8)) field = Scope::kWarp;
}

void StepProposer::Fill(ForKind& field) {
  constexpr ForKind kKinds[] = {ForKind::kBlockIdxX,  ForKind::kThreadIdxX, ForKind::kThreadIdxY,
                                ForKind::kThreadIdxX, ForKind::kVthread,    ForKind::kBlockIdxY};
  field = hardware_ ? kKinds[random_.Below(std::size(kKinds))] : ForKind::kSerial;
  if (hardware_ && random_.OneIn(6)) {
    field = random_.OneIn(2) ? ForKind::kBlockIdxZ : ForKind::kThreadIdxZ;
  }
}

void StepProposer::Fill(TileForm& field) {
  constexpr TileForm kForms[] = {TileForm::kCombined, TileForm::kDirect, TileForm::kDirect,
                                 TileForm::kNested};
  field = kForms[random_.Below(std::size(kForms))];
}

void StepProposer::Fill(PrefetchPace& field) {
  field = random_.OneIn(3) ? PrefetchPace::kPresent : PrefetchPace::kAll;
}

const std::string& StepProposer::Pick(const std::vector<std::string>& list) {
  return list[random_.Below(list.size())];
}

void StepProposer::PickPair(std::string& outer, std::string& inner) {
  size_t i = random_.Below(loops_.size());
  outer = loops_[i].key;
  inner = loops_[std::min(i + 1, loops_.size() - 1)].key;
}

std::string StepProposer::NewName() {
  for (int i = 0;; ++i) {
    std::string name = "c" + std::to_string(i);
    auto has = [&](const std::string& taken) { return taken.starts_with(name); };
    bool used =
        std::ranges::any_of(blocks_, has) ||
        std::ranges::any_of(buffers_, [&](const Declared& buffer) { return has(buffer.name); });
    if (!used) return name;
  }
}

Expr StepProposer::Factor(int64_t high) {
  if (random_.OneIn(5)) return Expr(random_.Between(1, 4));
  if (high == 0) high = 15;
  if (random_.OneIn(4)) high += 3;
  Domain domain;
  if (high > 8 && random_.OneIn(8)) domain = {DomainKind::kMultiples, {4}};
  if (random_.OneIn(20)) domain = {DomainKind::kDivisors, {high}};
  sizes_.push_back({TileVar("t" + std::to_string(sizes_.size()), 1, high), domain});
  return sizes_.back().var;
}

}  // namespace tcc
