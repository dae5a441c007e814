#include "schedule/space/vdla_limits.h"

#include <algorithm>
#include <unordered_set>

#include "ir/analysis/accesses.h"
#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

constexpr std::string_view kGemv = "vdla_gemv_16x16";

// The operands of the intrinsic, which tell memories of the chip apart.
struct GemvOperands {
  Var activations, weights, sums;
};

std::optional<GemvOperands> OperandsOf(const IntrinsicCall& call) {
  const std::vector<Ref<Block>> blocks = BlocksOf(call.body);
  if (blocks.size() != 1) return std::nullopt;
  const std::vector<Access> reads = ReadsOf(*blocks[0]), writes = WritesOf(*blocks[0]);
  if (reads.size() != 2 || writes.size() != 1 || writes[0].indices.empty()) return std::nullopt;
  const auto* output = writes[0].indices.back().as<VarNode>();
  if (output == nullptr) return std::nullopt;
  const bool first_is_weight = Uses(reads[0], Var(output));
  return GemvOperands{reads[first_is_weight ? 1 : 0].buffer, reads[first_is_weight ? 0 : 1].buffer,
                      writes[0].buffer};
}

// Walks to calls of the intrinsic with the contexts around them.
class NeedsFinder {
 public:
  NeedsFinder(const Function& fn, const VdlaConfig& config) : fn_(fn), config_(config) {}

  void Visit(const Stmt& stmt, const Expr& contexts) {
    if (const auto* call = stmt.as<IntrinsicCall>(); call && call->intrinsic == kGemv) {
      if (const auto operands = OperandsOf(*call)) AddNeeds(*operands, contexts);
      return;
    }
    const auto* loop = stmt.as<For>();
    const bool is_context = loop && loop->for_kind == ForKind::kVthread;
    const Expr inside = is_context ? contexts * loop->extent : contexts;
    ForEachChild(stmt, [&](const Stmt& child) { Visit(child, inside); });
  }

  std::vector<VdlaNeed> Take() && { return std::move(needs_); }

 private:
  void AddNeeds(const GemvOperands& operands, const Expr& contexts) {
    Add(operands.activations, contexts, config_.activation_bytes, "activations");
    Add(operands.weights, contexts, config_.weight_bytes, "weights");
    Add(operands.sums, contexts, config_.sum_bytes, "sums");
  }

  void Add(const Var& var, const Expr& contexts, int64_t most, const char* memory) {
    const Buffer* buffer = FindBuffer(fn_, var);
    if (!buffer || !seen_.insert(var.get()).second) return;
    const Expr bytes = StoredElements(*buffer) * Expr(buffer->dtype().bytes());
    needs_.push_back({bytes * contexts, most, std::string("bytes of ") + memory});
  }

  const Function& fn_;
  const VdlaConfig& config_;
  std::unordered_set<const ExprNode*> seen_;
  std::vector<VdlaNeed> needs_;
};

}  // namespace

std::vector<VdlaNeed> VdlaNeedsOf(const Function& fn, const VdlaConfig& config) {
  NeedsFinder finder(fn, config);
  finder.Visit(fn.body, Expr(1));
  return std::move(finder).Take();
}

}  // namespace tcc
