#include "codegen_vdla/place_buffers.h"

#include <array>
#include <span>

#include "codegen_vdla/gemv_call.h"
#include "ir/expr/visitor.h"
#include "runtime/vdla/vdla_facts.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

using Roles = std::unordered_map<Var, VdlaMemory, VarHash>;

Status AddRole(Roles& roles, const Var& buffer, VdlaMemory memory) {
  const VdlaMemory known = roles.emplace(buffer, memory).first->second;
  if (known == memory) return OkStatus();
  return Unsupported("buffer '{}' holds {} and {}; expected one of both", buffer->name,
                     NameOf(known), NameOf(memory));
}

// Finds what the intrinsic uses each buffer for.
StatusOr<Roles> RolesOf(const Stmt& body) {
  Roles roles;
  Status status;
  PreOrder(body, [&](const Stmt& stmt) {
    const auto* call = stmt.as<IntrinsicCall>();
    if (!status.ok() || call == nullptr || call->intrinsic != kGemvIntrinsic) return;
    const StatusOr<GemvCall> gemv = ReadGemv(*call);
    status = gemv.status();
    if (!status.ok()) return;
    status = AddRole(roles, gemv->sums, VdlaMemory::kSums);
    if (status.ok()) status = AddRole(roles, gemv->activations, VdlaMemory::kActivations);
    if (status.ok()) status = AddRole(roles, gemv->weights, VdlaMemory::kWeights);
  });
  if (!status.ok()) return status;
  return roles;
}

StatusOr<int64_t> ElementsOf(const Buffer& buffer) {
  const auto elements = buffer.rank() == 1 ? AsConstant(buffer.shape[0]) : std::nullopt;
  if (elements) return *elements;
  return Unsupported("buffer '{}' has no constant size", buffer.var->name);
}

// Hands out the vectors of each memory in order; a buffer of weights begins at a block.
class ChipSpace {
 public:
  explicit ChipSpace(const VdlaConfig& config) : config_(config) {}

  StatusOr<BufferPlace> Place(const Buffer& buffer, VdlaMemory memory) {
    TCC_ASSIGN_OR_RETURN(const int64_t elements, ElementsOf(buffer));
    const int64_t unit = memory == VdlaMemory::kWeights ? kVdlaBlock : 1;
    const int64_t vectors = CeilDivision(elements, kVdlaBlock * unit) * unit;
    const int64_t all = VectorsOf(config_, memory);
    int64_t& used = used_.at(static_cast<size_t>(memory));
    const BufferPlace place{.memory = memory, .at = used, .elements = elements};
    used += vectors;
    if (used <= all) return place;
    return Unsupported("buffer '{}' needs {} vectors of the {}; {} of {} are left",
                       buffer.var->name, vectors, NameOf(memory), all - place.at, all);
  }

 private:
  const VdlaConfig& config_;
  std::array<int64_t, kVdlaMemories> used_ = {};
};

}  // namespace

StatusOr<BufferPlaces> PlaceBuffers(const Function& lowered, const VdlaConfig& config) {
  TCC_ASSIGN_OR_RETURN(const Roles roles, RolesOf(lowered.body));
  for (const Buffer& param : lowered.params) {
    const auto role = roles.find(param.var);
    if (role == roles.end()) continue;
    return Unsupported("parameter '{}' holds {} of {}; expected a local buffer", param.var->name,
                       NameOf(role->second), kGemvIntrinsic);
  }
  BufferPlaces places;
  ChipSpace space(config);
  const std::vector<Buffer> declared = DeclaredBuffers(lowered);
  for (const Buffer& buffer : std::span(declared).subspan(lowered.params.size())) {
    const auto role = roles.find(buffer.var);
    if (role == roles.end()) {
      return Unsupported("buffer '{}' is no operand of {}", buffer.var->name, kGemvIntrinsic);
    }
    TCC_ASSIGN_OR_RETURN(places[buffer.var], space.Place(buffer, role->second));
  }
  return places;
}

}  // namespace tcc
