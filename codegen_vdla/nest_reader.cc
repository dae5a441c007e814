#include "codegen_vdla/nest_reader.h"

#include <algorithm>
#include <utility>

#include "codegen_vdla/byte_source.h"
#include "codegen_vdla/refusal.h"
#include "codegen_vdla/run_loops.h"
#include "codegen_vdla/vector_loop.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// Facts about the arms of nested Selects: a constant byte, and whether elements change their sign.
struct Arms {
  int8_t fill = 0;
  bool flips = false;
};

Arms ArmsOf(const Expr& value) {
  if (const auto* select = value.as<Select>()) {
    const Arms a = ArmsOf(select->then_value), b = ArmsOf(select->else_value);
    return {.fill = a.fill != 0 ? a.fill : b.fill, .flips = a.flips || b.flips};
  }
  if (const std::optional<ByteSource> source = ReadByteSource(value)) {
    return {.flips = source->flips};
  }
  return {.fill = static_cast<int8_t>(AsConstant(value).value_or(0))};
}

}  // namespace

NestReader::NestReader(const Function& fn, const BufferPlaces& places, LoopValues& values,
                       std::vector<VdlaOutput>& outputs)
    : places_(places), values_(values), outputs_(outputs) {
  for (size_t i = 0; i < fn.params.size(); ++i) {
    const Buffer& param = fn.params[i];
    Operand& operand = operands_[param.var];
    operand.number = static_cast<uint32_t>(i);
    if (param.rank() == 1) operand.elements = AsConstant(param.shape[0]).value_or(0);
    if (!padded_ && param.dtype().bits() == 8) padded_ = i;
  }
}

StatusOr<Nest> NestReader::Read(const Stmt& stmt) {
  nest_ = Nest();
  loops_.clear();
  FindLoops(stmt);
  nest_.micro_ops.loops = loops_.size();
  TCC_RETURN_IF_ERROR(Collect(stmt));
  return std::move(nest_);
}

// Whether a loop runs over elements.
bool NestReader::IsInnermost(const For& loop) {
  const auto [known, is_new] = is_innermost_.emplace(&loop, false);
  if (is_new) {
    known->second = !Contains(loop.body, [](const Stmt& stmt) {
      return stmt.as<For>() != nullptr || stmt.as<IntrinsicCall>() != nullptr;
    });
  }
  return known->second;
}

// Finds the loops that enclose everything in a nest, but for the ones over elements.
void NestReader::FindLoops(const Stmt& stmt) {
  const auto* loop = stmt.as<For>();
  if (loop != nullptr && !IsInnermost(*loop)) {
    loops_.push_back(&values_[loop->var]);
    return FindLoops(loop->body);
  }
  const auto* branch = stmt.as<If>();
  if (branch != nullptr && !branch->else_body) return FindLoops(branch->then_body);
  if (const auto* let = stmt.as<Let>()) return FindLoops(let->body);
}

Status NestReader::Collect(const Stmt& stmt) {
  const auto collect = [&](const Stmt& inside) { return Collect(inside); };
  if (const auto* loop = stmt.as<For>()) {
    return IsInnermost(*loop) ? CollectVectors(*loop) : ForEachIteration(*loop, values_, collect);
  }
  if (const auto* branch = stmt.as<If>()) return TakeBranch(*branch, values_, collect);
  if (const auto* let = stmt.as<Let>()) return WithValue(*let, values_, collect);
  if (const auto* call = stmt.as<IntrinsicCall>()) return CollectCall(*call);
  if (stmt.as<PrefetchLine>()) return OkStatus();
  const auto* seq = stmt.as<Seq>();
  if (seq == nullptr) return Refuse(stmt, "expected an innermost loop over 16 elements");
  for (const Stmt& child : seq->stmts) TCC_RETURN_IF_ERROR(collect(child));
  return OkStatus();
}

// Runs an innermost loop a vector at a time.
Status NestReader::CollectVectors(const For& loop) {
  if (checked_.insert(&loop).second) TCC_RETURN_IF_ERROR(CheckVectorLoop(loop, places_));
  TCC_ASSIGN_OR_RETURN(const int64_t extent, values_.ValueOf(loop.extent, Stmt(loop)));
  if (extent % kVdlaBlock != 0) {
    return Refuse(Stmt(loop), "{} iterations; expected a multiple of {}", extent, kVdlaBlock);
  }
  int64_t& lane = values_[loop.var];
  for (lane = 0; lane < extent; lane += kVdlaBlock) {
    TCC_RETURN_IF_ERROR(CollectVector(loop.body));
  }
  return OkStatus();
}

// Runs a statement of an innermost loop once for the vector that begins at the loop's variable.
Status NestReader::CollectVector(const Stmt& stmt) {
  const auto collect = [&](const Stmt& inside) { return CollectVector(inside); };
  if (const auto* seq = stmt.as<Seq>()) {
    for (const Stmt& child : seq->stmts) TCC_RETURN_IF_ERROR(collect(child));
    return OkStatus();
  }
  if (const auto* branch = stmt.as<If>()) return TakeBranch(*branch, values_, collect);
  if (const auto* let = stmt.as<Let>()) return WithValue(*let, values_, collect);
  const auto& store = *stmt.as<Store>();
  TCC_ASSIGN_OR_RETURN(const Expr value, Chosen(store.value, stmt));
  TCC_ASSIGN_OR_RETURN(const int64_t to, values_.ValueOf(store.indices[0], stmt));
  return CollectStore(store, to, value);
}

// Returns the arm of nested Selects that is taken.
StatusOr<Expr> NestReader::Chosen(const Expr& value, const Stmt& in) {
  const auto* select = value.as<Select>();
  if (select == nullptr) return value;
  TCC_ASSIGN_OR_RETURN(const int64_t holds, values_.ValueOf(select->condition, in));
  return Chosen(holds != 0 ? select->then_value : select->else_value, in);
}

// Returns the number of the vector, or of the block, that begins at an element of a local buffer.
StatusOr<int64_t> NestReader::VectorOf(const Var& buffer, int64_t index, int64_t unit,
                                       const Stmt& in) {
  const BufferPlace& place = places_.at(buffer);
  const int64_t elements = kVdlaBlock * unit;
  if (index % elements != 0 || index < 0 || index + elements > place.elements) {
    return Refuse(in, "element {} of '{}' (of {}) begins no vector; expected a multiple of {}",
                  index, buffer->name, place.elements, elements);
  }
  return place.at / unit + index / elements;
}

StatusOr<CopiedVector> NestReader::InMemory(const Var& buffer, int64_t index, const Stmt& in) {
  const auto operand = operands_.find(buffer);
  if (operand == operands_.end()) return Refuse(in, "'{}' is no parameter", buffer->name);
  if (index < 0 || index + kVdlaBlock > operand->second.elements) {
    return Refuse(in, "16 elements at {} of '{}'; it has {}", index, buffer->name,
                  operand->second.elements);
  }
  return CopiedVector{.buffer = operand->second.number, .element = index};
}

// Adds the copy or reset of one vector: a store of `value` that begins at index `to`.
Status NestReader::CollectStore(const Store& store, int64_t to, const Expr& value) {
  const Stmt in(store);
  const auto place = places_.find(store.buffer);
  if (place == places_.end()) return CollectResult(store, to, value);
  TCC_ASSIGN_OR_RETURN(const int64_t vector, VectorOf(store.buffer, to, 1, in));
  if (place->second.memory == VdlaMemory::kSums) {
    AddMicroOp({.sum = static_cast<uint32_t>(vector)});
    return OkStatus();
  }
  TCC_ASSIGN_OR_RETURN(CopiedVector copy, SourceOf(store, value));
  copy.on_chip = place->second.memory;
  copy.vector = vector;
  nest_.copies.push_back(copy);
  return OkStatus();
}

// Adds the copy of a vector of sums, or of what an output stage makes of it, to index `to` of a
// parameter.
Status NestReader::CollectResult(const Store& store, int64_t to, const Expr& value) {
  const Stmt in(store);
  TCC_ASSIGN_OR_RETURN(const OutputSteps output, ReadOutputSteps(value, in));
  TCC_ASSIGN_OR_RETURN(CopiedVector copy, InMemory(store.buffer, to, in));
  TCC_ASSIGN_OR_RETURN(const int64_t from, values_.ValueOf(output.sum->indices[0], in));
  copy.on_chip = VdlaMemory::kSums;
  TCC_ASSIGN_OR_RETURN(copy.vector, VectorOf(output.sum->buffer, from, 1, in));
  TCC_RETURN_IF_ERROR(SetOutput(output, in, copy));
  nest_.copies.push_back(copy);
  return OkStatus();
}

// Makes the copy of a vector go through the output stage with the steps, if there are any.
Status NestReader::SetOutput(const OutputSteps& steps, const Stmt& in, CopiedVector& copy) {
  if (steps.steps.empty()) return OkStatus();
  VdlaOutput output;
  int64_t channels = kVdlaBlock;
  std::optional<int64_t> channel;
  for (const OutputStep& step : steps.steps) {
    output.steps.push_back(step.step);
    if (!step.operand) continue;
    const Load& load = *step.operand;
    TCC_ASSIGN_OR_RETURN(const int64_t index, values_.ValueOf(load.indices[0], in));
    TCC_ASSIGN_OR_RETURN(const CopiedVector operand, InMemory(load.buffer, index, in));
    const int64_t elements = operands_.at(load.buffer).elements;
    const bool fits = index % kVdlaBlock == 0 && elements % kVdlaBlock == 0 &&
                      (!channel || (index == *channel && elements == channels));
    if (!fits) {
      return Refuse(in, "element {} of '{}', which has {}; expected one channel in all operands",
                    index, load.buffer->name, elements);
    }
    channel = index;
    channels = elements;
    output.steps.back().buffer = operand.buffer;
  }
  output.channels = copy.channels = static_cast<uint32_t>(channels);
  copy.channel = static_cast<uint32_t>(channel.value_or(0));
  const auto known = std::ranges::find(outputs_, output);
  copy.output = static_cast<uint32_t>(known - outputs_.begin());
  if (known == outputs_.end()) outputs_.push_back(std::move(output));
  return OkStatus();
}

// Returns the copy of a vector from memory, or its padding: `value` is an arm of what is stored.
// Either has what the arms of the other kind ask for, so that both may be one copy.
StatusOr<CopiedVector> NestReader::SourceOf(const Store& store, const Expr& value) {
  const Stmt in(store);
  const Arms arms = ArmsOf(store.value);
  const std::optional<ByteSource> source = ReadByteSource(value);
  if (source) {
    TCC_ASSIGN_OR_RETURN(const int64_t from, values_.ValueOf(source->element->indices[0], in));
    TCC_ASSIGN_OR_RETURN(CopiedVector copy, InMemory(source->element->buffer, from, in));
    copy.flips = source->flips;
    copy.fill = arms.fill;
    return copy;
  }
  if (!padded_) return Refuse(in, "padding, but no parameter of bytes");
  return CopiedVector{.buffer = *padded_,
                      .element = kPadding,
                      .fill = static_cast<int8_t>(*AsConstant(value)),
                      .flips = arms.flips};
}

Status NestReader::CollectCall(const IntrinsicCall& call) {
  const Stmt in(call);
  if (call.intrinsic != kGemvIntrinsic) return Refuse(in, "the accelerator has no such intrinsic");
  auto known = calls_.find(&call);
  if (known == calls_.end()) {
    TCC_ASSIGN_OR_RETURN(GemvCall read, ReadGemv(call));
    known = calls_.emplace(&call, std::move(read)).first;
  }
  const GemvCall& gemv = known->second;
  if (gemv.condition) {
    TCC_ASSIGN_OR_RETURN(const int64_t holds, values_.ValueOf(gemv.condition, in));
    if (holds == 0) return OkStatus();
  }
  TCC_ASSIGN_OR_RETURN(int64_t sum, values_.ValueOf(gemv.sum, in));
  TCC_ASSIGN_OR_RETURN(int64_t activation, values_.ValueOf(gemv.activation, in));
  TCC_ASSIGN_OR_RETURN(int64_t weight, values_.ValueOf(gemv.weight, in));
  TCC_ASSIGN_OR_RETURN(sum, VectorOf(gemv.sums, sum, 1, in));
  TCC_ASSIGN_OR_RETURN(activation, VectorOf(gemv.activations, activation, 1, in));
  TCC_ASSIGN_OR_RETURN(weight, VectorOf(gemv.weights, weight, kVdlaBlock, in));
  AddMicroOp({.sum = static_cast<uint32_t>(sum),
              .activation = static_cast<uint32_t>(activation),
              .weight = static_cast<uint32_t>(weight)});
  return OkStatus();
}

void NestReader::AddMicroOp(const VdlaMicroOp& op) {
  nest_.micro_ops.micro_ops.push_back(op);
  for (const int64_t* value : loops_) nest_.micro_ops.values.push_back(*value);
}

}  // namespace tcc
