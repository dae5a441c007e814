// Loads and stores of ExprEmitter.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "codegen_llvm/expr_emitter.h"
#include "codegen_llvm/llvm_types.h"
#include "support/check.h"
#include "support/device_profile.h"
#include "support/integer_division.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

using llvm::Value;

llvm::Align ElementAlign(const Var& buffer) {
  return llvm::Align(IsPacked(buffer.dtype()) ? 1 : buffer.dtype().bytes());
}

// Converts a value from its memory form: a bool is a byte in memory and a bit in a register.
Value* FromMemory(llvm::IRBuilderBase& b, Value* value, DType dtype) {
  if (!dtype.is_bool()) return value;
  return b.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

Value* ToMemory(llvm::IRBuilderBase& b, Value* value, DType dtype) {
  return dtype.is_bool() ? b.CreateZExt(value, SameLanes(value, b.getInt8Ty())) : value;
}

Value* Reversed(llvm::IRBuilderBase& b, Value* value) {
  std::vector<int> order(LanesOf(value));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(order.size() - 1 - i);
  return b.CreateShuffleVector(value, order);
}

// Reverses a mask as integers: on a reversed i1 mask with a half that is known to be false, LLVM 19
// emits a plain load of that half for AVX2.
Value* ReversedMask(llvm::IRBuilderBase& b, Value* mask) {
  Value* wide = Reversed(b, b.CreateSExt(mask, SameLanes(mask, b.getInt32Ty())));
  return b.CreateICmpSLT(wide, llvm::Constant::getNullValue(wide->getType()));
}

// Returns the first `lanes` lanes of a vector; lanes beyond its own repeat lane 0.
Value* WithLanes(llvm::IRBuilderBase& b, Value* value, int lanes) {
  std::vector<int> order(static_cast<size_t>(lanes));
  for (int i = 0; i < lanes; ++i) order[static_cast<size_t>(i)] = i < LanesOf(value) ? i : 0;
  return b.CreateShuffleVector(value, order);
}

// Rounds up to a power of two of lanes. LLVM 19 splits other gathers into parts, one of which may
// use the same register for its result and index, which x86 refuses to run (SIGILL).
int GatherLanes(int lanes) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(lanes)));
}

// Gathers the lanes of `passthrough` from `addresses`, of which there are GatherLanes;
// `passthrough` where the mask (may be null) does not hold.
Value* Gather(llvm::IRBuilderBase& b, Value* addresses, llvm::Align align, Value* mask,
              Value* passthrough) {
  int lanes = LanesOf(passthrough);
  int wide = LanesOf(addresses);
  auto* type = llvm::cast<llvm::VectorType>(passthrough->getType());
  if (wide == lanes) return b.CreateMaskedGather(type, addresses, align, mask, passthrough);
  std::vector<llvm::Constant*> present;
  for (int i = 0; i < wide; ++i) present.push_back(b.getInt1(i < lanes));
  Value* wide_mask = llvm::ConstantVector::get(present);
  if (mask) wide_mask = b.CreateAnd(wide_mask, WithLanes(b, mask, wide));
  Value* loaded =
      b.CreateMaskedGather(llvm::VectorType::get(type->getElementType(), wide, /*Scalable=*/false),
                           addresses, align, wide_mask, WithLanes(b, passthrough, wide));
  return WithLanes(b, loaded, lanes);
}

// Returns the address of each lane of a vector in memory.
Value* LaneAddresses(llvm::IRBuilderBase& b, llvm::Type* vector, Value* address) {
  std::vector<llvm::Constant*> steps;
  const auto lanes = llvm::cast<llvm::FixedVectorType>(vector)->getNumElements();
  for (unsigned lane = 0; lane < lanes; ++lane) steps.push_back(b.getInt64(lane));
  return b.CreateGEP(vector->getScalarType(), address, llvm::ConstantVector::get(steps));
}

// The largest stride, in cells per lane, that is loaded in pieces; beyond it most loaded cells are
// unused. Windows of strides 5 to 7 took a third to two thirds of the time of gathers, in vectors
// of 16, 8 and 2 lanes.
constexpr int64_t kMaxPickedStride = 8;
// The same limit for bytes, where a vector has so many lanes that LLVM takes seconds to pick them,
// and for 8 and 16 bits under a mask.
constexpr int64_t kMaxPickedBytes = 4;
constexpr int64_t kMaxPickedNarrow = 2;

// A strided access as contiguous pieces: vectors of `lanes` (2 or more) cells that cover all cells
// from the first lane's to the last lane's, `stride` > 1 cells per lane. No piece reaches beyond
// the last lane's cell, where memory may end: the last piece overlaps the one before. Loading the
// pieces and picking lanes is faster than a gather, which makes one access per lane.
struct StridedPieces {
  int lanes = 2;
  int stride = 2;

  int Count() const;
  // Returns the first cell of a piece.
  int Begin(int piece) const;
  // Returns the mask of a piece's cells, given the mask of lanes.
  Value* MaskOf(llvm::IRBuilderBase& b, Value* mask, int piece) const;
  // Returns the lanes, picked from the values of the pieces.
  Value* Pick(llvm::IRBuilderBase& b, const std::vector<Value*>& pieces) const;

 private:
  int Span() const { return stride * (lanes - 1) + 1; }
};

int StridedPieces::Count() const {
  return static_cast<int>(CeilDivision(Span(), lanes));
}

int StridedPieces::Begin(int piece) const {
  return std::min(piece * lanes, Span() - lanes);
}

Value* StridedPieces::MaskOf(llvm::IRBuilderBase& b, Value* mask, int piece) const {
  std::vector<int> order;
  for (int cell = Begin(piece); cell < Begin(piece) + lanes; ++cell) {
    order.push_back(cell % stride == 0 ? cell / stride : lanes);
  }
  return b.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), order);
}

Value* StridedPieces::Pick(llvm::IRBuilderBase& b, const std::vector<Value*>& pieces) const {
  // Lanes that lie in the first two pieces, then those of each that follows.
  Value* picked = pieces[0];
  for (int p = 1; p < Count(); ++p) {
    std::vector<int> order;
    for (int lane = 0; lane < lanes; ++lane) {
      int cell = lane * stride;
      if (cell / lanes == p) {
        order.push_back(lanes + cell - Begin(p));
      } else {
        order.push_back(p == 1 && cell < lanes ? cell : lane);
      }
    }
    picked = b.CreateShuffleVector(picked, pieces[static_cast<size_t>(p)], order);
  }
  return picked;
}

}  // namespace

const BufferBinding& ExprEmitter::BindingOf(const Var& buffer) const {
  auto found = state_.buffers.find(buffer.operator->());
  TCC_CHECK(found != state_.buffers.end()) << buffer->name << " is not declared here";
  return found->second;
}

// Emits an address. It is not "inbounds": under a guard that fails, it may be anywhere.
Value* ExprEmitter::Address(const Var& buffer, Value* index) {
  llvm::Type* element = MemoryType(b_.getContext(), buffer.dtype());
  return b_.CreateGEP(element, BindingOf(buffer).pointer, index);
}

// Lanes at a constant stride become constant offsets from one scalar address: x86 then gathers by
// 32-bit offsets, twice as many lanes at once.
Value* ExprEmitter::Addresses(const Var& buffer, const Expr& index,
                              const std::optional<LaneIndex>& lanes, int count) {
  int own = index.dtype().lanes();
  if (!lanes) {
    Value* places = Emit(index);
    return Address(buffer, count == own ? places : WithLanes(b_, places, count));
  }
  std::vector<llvm::Constant*> steps;
  for (int l = 0; l < count; ++l) steps.push_back(b_.getInt64(l < own ? l * lanes->stride : 0));
  llvm::Type* element = MemoryType(b_.getContext(), buffer.dtype());
  return b_.CreateGEP(element, Address(buffer, Emit(lanes->base)),
                      llvm::ConstantVector::get(steps));
}

void ExprEmitter::Annotate(Value* access, const Var& buffer) {
  const BufferBinding& binding = BindingOf(buffer);
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(access);
  if (!instruction || !binding.alias_scope) return;
  instruction->setMetadata(llvm::LLVMContext::MD_alias_scope, binding.alias_scope);
  instruction->setMetadata(llvm::LLVMContext::MD_noalias, binding.no_alias);
}

// Returns a cache line of zeros, which loads read if their guard fails.
Value* ExprEmitter::ZeroLine() {
  constexpr const char* kName = "zero_line";
  if (llvm::GlobalVariable* line = state_.module.getNamedGlobal(kName)) return line;
  auto* type = llvm::ArrayType::get(b_.getInt8Ty(), kCacheLineBytes);
  auto* line = new llvm::GlobalVariable(state_.module, type, /*isConstant=*/true,
                                        llvm::GlobalValue::PrivateLinkage,
                                        llvm::ConstantAggregateZero::get(type), kName);
  line->setAlignment(llvm::Align(kCacheLineBytes));
  return line;
}

Value* ExprEmitter::EmitLoad(const Load& load, Value* otherwise) {
  TCC_CHECK(load.indices.size() == 1) << load.buffer->name << " has an index a dimension";
  const Expr& index = load.indices[0];
  if (IsPacked(load.dtype)) return LoadSubByte(load.buffer, index);
  if (load.dtype.lanes() == 1) return LoadScalar(load.buffer, index, nullptr);
  return LoadLanes(load.buffer, index, otherwise);
}

bool ExprEmitter::IsInside(const Var& buffer, const Expr& index) const {
  Interval bounds = BoundsOf(index, state_.bounds);
  return bounds.low >= 0 && bounds.high < BindingOf(buffer).elements;
}

bool ExprEmitter::MayTouchAll(const Var& buffer, const Expr& first, int lanes) const {
  return BindingOf(buffer).is_private && IsInside(buffer, first) &&
         IsInside(buffer, first + Expr(lanes - 1));
}

// The guard selects the address, not the value: that is one conditional move, and the load may
// still be folded into the instruction that uses it.
Value* ExprEmitter::LoadScalar(const Var& buffer, const Expr& index, Value* zero_unless) {
  Value* address = Address(buffer, Emit(index));
  bool guarded = guard_.scalar || guard_.lanes;
  Value* active = guarded && !IsInside(buffer, index) ? AnyActive() : zero_unless;
  if (active) address = b_.CreateSelect(active, address, ZeroLine());
  llvm::Type* type = MemoryType(b_.getContext(), buffer.dtype());
  Value* value = b_.CreateAlignedLoad(type, address, ElementAlign(buffer));
  // The line of zeros is no part of the buffer, but nothing ever stores to it.
  Annotate(value, buffer);
  return FromMemory(b_, value, buffer.dtype());
}

Value* ExprEmitter::LoadLanes(const Var& buffer, const Expr& index, Value* otherwise) {
  DType dtype = buffer.dtype().WithLanes(index.dtype().lanes());
  llvm::Type* type = MemoryType(b_.getContext(), dtype);
  std::optional<LaneIndex> lanes = MatchLaneIndex(index);
  if (lanes && lanes->stride == 0) {
    Value* value = Splat(b_, LoadScalar(buffer, lanes->base, nullptr), dtype.lanes());
    Value* active = otherwise ? ActiveLanes(dtype.lanes()) : nullptr;
    return active ? b_.CreateSelect(active, value, otherwise) : value;
  }
  bool reversed = lanes && lanes->stride == -1;
  bool contiguous = reversed || (lanes && lanes->stride == 1);
  Value* mask = ActiveLanes(dtype.lanes());
  Value* passthrough =
      otherwise && mask ? ToMemory(b_, otherwise, dtype) : llvm::Constant::getNullValue(type);
  Value* value = nullptr;
  if (contiguous) {
    Expr first = reversed ? lanes->base - Expr(dtype.lanes() - 1) : lanes->base;
    Value* address = Address(buffer, Emit(first));
    if (reversed && mask) mask = ReversedMask(b_, mask);
    if (reversed && mask) passthrough = Reversed(b_, passthrough);
    bool plain = !mask || MayTouchAll(buffer, first, dtype.lanes());
    value = plain ? static_cast<Value*>(b_.CreateAlignedLoad(type, address, ElementAlign(buffer)))
                  : LoadMasked(type, address, ElementAlign(buffer), mask, passthrough);
    if (plain && mask && otherwise) value = b_.CreateSelect(mask, value, passthrough);
  } else if (lanes && IsInPieces(buffer, *lanes, dtype.lanes(), mask)) {
    return FromMemory(b_, LoadStrided(buffer, *lanes, mask, passthrough), dtype);
  } else if (Value* registers = LoadFixedLanes(buffer, index)) {
    value = mask && otherwise ? b_.CreateSelect(mask, registers, passthrough) : registers;
  } else {
    Value* addresses = Addresses(buffer, index, lanes, GatherLanes(dtype.lanes()));
    value = GatherMasked(addresses, ElementAlign(buffer), mask, passthrough);
  }
  // The line of zeros is no part of the buffer, but nothing ever stores to it.
  Annotate(value, buffer);
  if (reversed) value = Reversed(b_, value);
  return FromMemory(b_, value, dtype);
}

// A gather would keep the buffer in memory. Lanes outside of it are no active ones.
Value* ExprEmitter::LoadFixedLanes(const Var& buffer, const Expr& index) {
  const BufferBinding& binding = BindingOf(buffer);
  auto* places = binding.is_private ? llvm::dyn_cast<llvm::Constant>(Emit(index)) : nullptr;
  if (!places) return nullptr;
  const auto lanes = static_cast<unsigned>(index.dtype().lanes());
  llvm::Type* type = MemoryType(b_.getContext(), buffer.dtype());
  Value* value = llvm::Constant::getNullValue(llvm::FixedVectorType::get(type, lanes));
  for (unsigned lane = 0; lane < lanes; ++lane) {
    auto* place = llvm::dyn_cast_or_null<llvm::ConstantInt>(places->getAggregateElement(lane));
    if (!place) return nullptr;
    if (place->getSExtValue() < 0 || place->getSExtValue() >= binding.elements) continue;
    Value* element = b_.CreateAlignedLoad(type, Address(buffer, place), ElementAlign(buffer));
    value = b_.CreateInsertElement(value, element, uint64_t{lane});
  }
  return value;
}

Value* ExprEmitter::LoadMasked(llvm::Type* type, Value* address, llvm::Align align, Value* mask,
                               Value* passthrough) {
  if (state_.machine.has_masks) {
    return b_.CreateMaskedLoad(type, address, align, mask, passthrough);
  }
  return GatherMasked(LaneAddresses(b_, type, address), align, mask, passthrough);
}

Value* ExprEmitter::GatherMasked(Value* addresses, llvm::Align align, Value* mask,
                                 Value* passthrough) {
  // No machine gathers 8 or 16 bits: lanes are loaded one by one, and those that are masked would
  // each be a branch.
  bool one_by_one = !state_.machine.has_masks || passthrough->getType()->getScalarSizeInBits() < 32;
  if (!mask || !one_by_one) return Gather(b_, addresses, align, mask, passthrough);
  addresses = b_.CreateSelect(WithLanes(b_, mask, LanesOf(addresses)), addresses,
                              b_.CreateVectorSplat(LanesOf(addresses), ZeroLine()));
  return b_.CreateSelect(mask, Gather(b_, addresses, align, nullptr, passthrough), passthrough);
}

Value* ExprEmitter::StoreMasked(Value* value, Value* address, llvm::Align align, Value* mask) {
  if (state_.machine.has_masks) return b_.CreateMaskedStore(value, address, align, mask);
  return ScatterMasked(value, LaneAddresses(b_, value->getType(), address), align, mask);
}

Value* ExprEmitter::ScatterMasked(Value* value, Value* addresses, llvm::Align align, Value* mask) {
  if (mask && !state_.machine.has_masks) {
    Value* unused = StackSlot(state_, value->getType()->getScalarType());
    addresses = b_.CreateSelect(mask, addresses, b_.CreateVectorSplat(LanesOf(addresses), unused));
    mask = nullptr;
  }
  return b_.CreateMaskedScatter(value, addresses, align, mask);
}

Value* ExprEmitter::LoadWords(const PackedBytes& bytes, int lanes) {
  constexpr int64_t kWord = 4;
  Value* address = Address(bytes.buffer, Emit(bytes.first));
  bool is_inside = IsInside(bytes.buffer, bytes.first) &&
                   IsInside(bytes.buffer, bytes.first + Expr(kWord * lanes - 1));
  llvm::Type* type = MemoryType(b_.getContext(), kInt32.WithLanes(lanes));
  llvm::Align align(1);
  Value* value = nullptr;
  if (lanes == 1) {
    Value* active = is_inside ? nullptr : AnyActive();
    if (active) address = b_.CreateSelect(active, address, ZeroLine());
    value = b_.CreateAlignedLoad(type, address, align);
  } else {
    Value* mask = is_inside ? nullptr : ActiveLanes(lanes);
    value = mask ? LoadMasked(type, address, align, mask, llvm::Constant::getNullValue(type))
                 : b_.CreateAlignedLoad(type, address, align);
  }
  Annotate(value, bytes.buffer);
  return value;
}

// The limit under a mask exists because a machine without masked loads of 8 and 16 bits branches
// for each lane of each piece.
bool ExprEmitter::IsInPieces(const Var& buffer, const LaneIndex& index, int lanes,
                             const Value* mask) const {
  int64_t most = buffer.dtype().bits() <= 8 ? kMaxPickedBytes : kMaxPickedStride;
  if (index.stride <= 1 || index.stride > most) return false;
  int64_t reach = index.stride * (lanes - 1) + 1;
  if (!mask || MayTouchAll(buffer, index.base, static_cast<int>(reach))) return true;
  return state_.machine.has_masks &&
         (buffer.dtype().bits() >= 32 || index.stride <= kMaxPickedNarrow);
}

Value* ExprEmitter::LoadStrided(const Var& buffer, const LaneIndex& index, Value* mask,
                                Value* passthrough) {
  StridedPieces pieces{LanesOf(passthrough), static_cast<int>(index.stride)};
  int64_t last = index.stride * (pieces.lanes - 1);
  bool plain = !mask || MayTouchAll(buffer, index.base, static_cast<int>(last + 1));
  llvm::Type* type = passthrough->getType();
  llvm::Type* element = MemoryType(b_.getContext(), buffer.dtype());
  Value* none = llvm::Constant::getNullValue(type);
  Value* first = Address(buffer, Emit(index.base));
  std::vector<Value*> values;
  for (int p = 0; p < pieces.Count(); ++p) {
    Value* address = b_.CreateConstGEP1_64(element, first, static_cast<uint64_t>(pieces.Begin(p)));
    values.push_back(
        plain ? static_cast<Value*>(b_.CreateAlignedLoad(type, address, ElementAlign(buffer)))
              : b_.CreateMaskedLoad(type, address, ElementAlign(buffer), pieces.MaskOf(b_, mask, p),
                                    none));
    Annotate(values.back(), buffer);
  }
  Value* picked = pieces.Pick(b_, values);
  auto* rest = llvm::dyn_cast<llvm::Constant>(passthrough);
  bool is_zero = !plain && rest && rest->isNullValue();
  return mask && !is_zero ? b_.CreateSelect(mask, picked, passthrough) : picked;
}

Value* ExprEmitter::LoadSubByte(const Var& buffer, const Expr& index) {
  int lanes = index.dtype().lanes();
  Value* place = Emit(index);
  llvm::Type* byte = SameLanes(place, b_.getInt8Ty());
  Value* value = nullptr;
  if (lanes == 1) {
    Value* address = AddressOfPacked(buffer, place);
    if (Value* active = AnyActive()) address = b_.CreateSelect(active, address, ZeroLine());
    value = b_.CreateAlignedLoad(byte, address, llvm::Align(1));
  } else {
    Value* addresses = AddressOfPacked(buffer, WithLanes(b_, place, GatherLanes(lanes)));
    value = GatherMasked(addresses, llvm::Align(1), ActiveLanes(lanes),
                         llvm::Constant::getNullValue(byte));
  }
  Annotate(value, buffer);
  // The element is shifted to the top, and from there down arithmetically or logically.
  const DType dtype = buffer.dtype();
  const auto unused = static_cast<uint64_t>(8 - dtype.bits());
  Value* up = b_.CreateSub(llvm::ConstantInt::get(byte, unused), PackedShift(place, dtype));
  Value* top = b_.CreateShl(value, up);
  return IsSigned(dtype) ? b_.CreateAShr(top, unused) : b_.CreateLShr(top, unused);
}

Value* ExprEmitter::AddressOfPacked(const Var& buffer, Value* place) {
  const auto per_byte = static_cast<uint64_t>(PackedPerByte(buffer.dtype()));
  return b_.CreateGEP(b_.getInt8Ty(), BindingOf(buffer).pointer,
                      b_.CreateLShr(place, std::countr_zero(per_byte)));
}

Value* ExprEmitter::PackedShift(Value* place, DType dtype) {
  const auto last = static_cast<uint64_t>(PackedPerByte(dtype) - 1);
  const int step = std::countr_zero(static_cast<unsigned>(dtype.bits()));
  return b_.CreateTrunc(b_.CreateShl(b_.CreateAnd(place, last), step),
                        SameLanes(place, b_.getInt8Ty()));
}

void ExprEmitter::EmitStore(const Var& buffer, const Expr& index, const Expr& value,
                            const Expr& mask) {
  int lanes = index.dtype().lanes();
  auto store = [&]() -> Value* {
    Value* stored = Emit(value);
    if (LanesOf(stored) < lanes) stored = Splat(b_, stored, lanes);
    if (IsPacked(buffer.dtype())) {
      StoreSubByte(buffer, index, stored);
    } else if (lanes == 1) {
      StoreScalar(buffer, Emit(index), stored);
    } else {
      StoreLanes(buffer, index, stored);
    }
    return stored;
  };
  if (mask) {
    Guarded(Emit(mask), store);
  } else {
    store();
  }
}

void ExprEmitter::EmitPrefetch(const Var& buffer, const Expr& index) {
  Value* place = Emit(index);
  Value* address =
      IsPacked(buffer.dtype()) ? AddressOfPacked(buffer, place) : Address(buffer, place);
  // The flags: a read, into all cache levels, of data.
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {address->getType()},
                     {address, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
}

void ExprEmitter::StoreScalar(const Var& buffer, Value* index, Value* value) {
  TCC_CHECK(!guard_.scalar && !guard_.lanes) << "masked store of a scalar to " << buffer->name;
  value = ToMemory(b_, value, buffer.dtype());
  Annotate(b_.CreateAlignedStore(value, Address(buffer, index), ElementAlign(buffer)), buffer);
}

// Returns the mask as the result of an instruction. LLVM makes a shuffle of a select by a constant,
// which costs an instruction of its own; by an unknown mask, it becomes part of the operation.
Value* ExprEmitter::Unknown(Value* mask) {
  Value* runtime = b_.CreatePtrToInt(state_.runtime, b_.getInt64Ty());
  Value* always = b_.CreateICmpNE(runtime, b_.getInt64(1));
  return b_.CreateAnd(mask, b_.CreateVectorSplat(LanesOf(mask), always));
}

void ExprEmitter::StoreLanes(const Var& buffer, const Expr& index, Value* value) {
  DType dtype = buffer.dtype().WithLanes(index.dtype().lanes());
  value = ToMemory(b_, value, dtype);
  Value* mask = ActiveLanes(dtype.lanes());
  std::optional<LaneIndex> lanes = MatchLaneIndex(index);
  Value* access = nullptr;
  if (lanes && (lanes->stride == 1 || lanes->stride == -1)) {
    bool reversed = lanes->stride == -1;
    Expr first = reversed ? lanes->base - Expr(dtype.lanes() - 1) : lanes->base;
    Value* address = Address(buffer, Emit(first));
    if (reversed) value = Reversed(b_, value);
    if (reversed && mask) mask = ReversedMask(b_, mask);
    bool touches_all = mask && MayTouchAll(buffer, first, dtype.lanes());
    if (touches_all && BindingOf(buffer).takes_all_lanes) {
      mask = nullptr;
    } else if (touches_all) {
      Value* old = b_.CreateAlignedLoad(value->getType(), address, ElementAlign(buffer));
      if (llvm::isa<llvm::Constant>(mask)) mask = Unknown(mask);
      value = b_.CreateSelect(mask, value, old);
      mask = nullptr;
    }
    access = mask ? StoreMasked(value, address, ElementAlign(buffer), mask)
                  : b_.CreateAlignedStore(value, address, ElementAlign(buffer));
  } else {
    Value* addresses = Addresses(buffer, index, lanes, dtype.lanes());
    access = ScatterMasked(value, addresses, ElementAlign(buffer), mask);
  }
  Annotate(access, buffer);
}

// Stores lane by lane, because two lanes may share a byte. Two threads may share one too, and
// neither must overwrite the other's element.
void ExprEmitter::StoreSubByte(const Var& buffer, const Expr& index, Value* value) {
  int lanes = index.dtype().lanes();
  Value* places = Emit(index);
  Value* mask = lanes == 1 ? AnyActive() : ActiveLanes(lanes);
  const uint64_t ones = (uint64_t{1} << buffer.dtype().bits()) - 1;
  Value* unused = mask ? static_cast<Value*>(StackSlot(state_, b_.getInt8Ty())) : nullptr;
  for (int lane = 0; lane < lanes; ++lane) {
    auto at = [&](Value* v) { return lanes == 1 ? v : b_.CreateExtractElement(v, lane); };
    Value* place = at(places);
    Value* address = AddressOfPacked(buffer, place);
    if (mask) address = b_.CreateSelect(at(mask), address, unused);
    Value* shift = PackedShift(place, buffer.dtype());
    Value* others = b_.CreateNot(b_.CreateShl(b_.getInt8(static_cast<uint8_t>(ones)), shift));
    Value* kept = b_.CreateShl(b_.CreateAnd(at(value), ones), shift);
    if (BindingOf(buffer).is_private) {
      Value* cleared = b_.CreateAnd(b_.CreateLoad(b_.getInt8Ty(), address), others);
      b_.CreateStore(b_.CreateOr(cleared, kept), address);
    } else {
      auto update = [&](llvm::AtomicRMWInst::BinOp op, Value* bits) {
        b_.CreateAtomicRMW(op, address, bits, llvm::Align(1), llvm::AtomicOrdering::Monotonic);
      };
      update(llvm::AtomicRMWInst::And, others);
      update(llvm::AtomicRMWInst::Or, kept);
    }
  }
}

}  // namespace tcc
