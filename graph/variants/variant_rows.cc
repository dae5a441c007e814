#include "graph/passes/to_tensor_exprs.h"
#include "graph/variants/task.h"
#include "graph/variants/variants.h"
#include "support/word_tile.h"

namespace tcc {
namespace {

using Source = VariantSource;
using Made = std::optional<TensorProgram>;

Made Inlined(Made program, const std::vector<Var>& exact = {}) {
  if (program) InlineMaps(*program, BufferSet(exact.begin(), exact.end()));
  return program;
}

Made Rounded(const Source& source, const Made& program) {
  Made rounded = program ? RoundOperands(*program, source.numeric) : std::nullopt;
  return rounded ? rounded : program;
}

template <auto kVariant>
Made By(const Source& source) {
  return Rounded(source, Inlined(kVariant(source.program)));
}

template <auto kVariant>
Made ByTransforms(const Source& source) {
  return source.winograd ? By<kVariant>(source) : std::nullopt;
}

template <auto kSavesTime>
bool DirectSavesTime(const Source& source) {
  return kSavesTime(source.program);
}

template <WinogradTile kTile>
bool IsFastestTile(const Source& source) {
  return FastestWinogradTile(source.program) == kTile;
}

// Widens operands after they are rounded, since that makes them narrow. The roundings stay where
// their copies join the wide ones.
Made ByWideOperands(const Source& source) {
  if (!source.rounded) return By<WidenedOperandsVariant>(source);
  return Inlined(WidenedOperandsVariant(*source.rounded), source.rounded->kept);
}

Made InTiles(const Source& source) {
  std::optional<DType> type = TypeOfTiles(source.numeric);
  if (!type || !source.tiles_attention || !source.one_pass_attention) return std::nullopt;
  return AttentionInTilesVariant(*source.one_pass_attention, *type);
}

Made BFloatWords(const Source& source) {
  bool rounds = source.numeric == NumericMode::kBf16;
  return Inlined(BFloatPairsVariant(source.program, rounds));
}

Made ByBFloatWords(const Source& source) {
  return Rounded(source, BFloatWords(source));
}

Made UnsignedQuads(const TensorProgram& program) {
  return IntegerQuadsVariant(program, ScalarOp::kDotU8I8x4);
}

Made SignedQuads(const TensorProgram& program) {
  return IntegerQuadsVariant(program, ScalarOp::kDotI8I8x4);
}

// Returns the product of words that tiles multiply, before operands are rounded.
Made WordsOfTiles(const Source& source) {
  Made words = Inlined(UnsignedQuads(source.program));
  return words ? words : BFloatWords(source);
}

Made ByTiles(const Source& source) {
  Made words = WordsOfTiles(source);
  return words ? Rounded(source, WholeTilesVariant(*words, kAmxTile)) : std::nullopt;
}

Made BySmallTiles(const Source& source) {
  Made words = Inlined(IntegerQuadsVariant(source.program));
  return words ? Rounded(source, WholeTilesVariant(*words, kMmlaTile)) : std::nullopt;
}

bool TilesSaveTime(const Source& source) {
  Made words = WordsOfTiles(source);
  return words && WholeTilesSaveTime(*words);
}

Made ByBitPlanes(const Source& source) {
  return Rounded(source, Inlined(BitPlanesVariant(source.program, source.values)));
}

constexpr auto kAlways = [](const Source&) { return true; };
constexpr auto kAnywhere = [](const Target&) { return true; };
constexpr auto kNowhere = [](const Target&) { return false; };
constexpr auto kOnCpu = [](const Target& t) { return t.kind == TargetKind::kCpu; };
constexpr auto kOnGpu = [](const Target& t) { return t.kind == TargetKind::kGpu; };
constexpr auto kNotOnGpu = [](const Target& t) { return t.kind != TargetKind::kGpu; };
constexpr auto kHasAccelerator = [](const Target& t) {
  return t.accelerator == Accelerator::kVdla;
};
constexpr auto kHasTiles = [](const Target& t) { return WordTileOf(t) == kAmxTile; };
constexpr auto kHasSmallTiles = [](const Target& t) { return WordTileOf(t) == kMmlaTile; };
constexpr auto kHasByteDots = [](const Target& t) { return t.dots_bytes; };
constexpr auto kHasSignedByteDots = [](const Target& t) { return t.dots_signed_bytes; };
constexpr auto kHasBFloatDots = [](const Target& t) { return t.bf16_speedup > 0; };
// The compiler asks MostPlanePairs about a task's number of pairs.
constexpr auto kMultipliesPlanes = [](const Target& t) { return MostPlanePairs(t, {}) > 0; };
constexpr auto kHasFastBFloatDots = [](const Target& t) { return t.bf16_speedup > 1; };

constexpr VariantRow kVariants[] = {
    // name, place, make, saves time, needs, gains, why
    {"accelerator_blocks", 18, By<AcceleratorBlocksVariant>, kAlways, kHasAccelerator,
     kHasAccelerator, "an accelerator multiplies blocks of 16 x 16 bytes"},
    {"whole_tiles", 14, ByTiles, TilesSaveTime, kHasTiles, kHasTiles,
     "one instruction multiplies tiles of 16 x 16 words"},
    {"small_tiles", 20, BySmallTiles, kAlways, kHasSmallTiles, kHasSmallTiles,
     "one instruction multiplies 2 x 2 words of bytes by as many"},
    {"bit_planes", 19, ByBitPlanes, DirectSavesTime<BitPlanesSaveTime>, kAnywhere,
     kMultipliesPlanes, "one instruction multiplies 32 bits, of one pair of planes"},
    {"integer_quads", 12, By<UnsignedQuads>, kAlways, kHasByteDots, kHasByteDots,
     "one instruction adds four products of bytes to each result"},
    {"signed_integer_quads", 17, By<SignedQuads>, kAlways, kHasSignedByteDots, kHasSignedByteDots,
     "the same, where data must be signed"},
    {"bfloat_pairs", 13, ByBFloatWords, kAlways, kHasBFloatDots, kHasFastBFloatDots,
     "one instruction adds two products of bf16 to each result"},
    {"wide_winograd", 3, ByTransforms<WideWinogradVariant>, IsFastestTile<WinogradTile::kFour>,
     kAnywhere, kOnCpu, "36 products instead of 144"},
    {"winograd", 2, ByTransforms<WinogradVariant>, IsFastestTile<WinogradTile::kTwo>, kAnywhere,
     kOnCpu, "16 products instead of 36"},
    {"integer_pairs", 11, By<IntegerPairsVariant>, kAlways, kNotOnGpu, kOnCpu,
     "one instruction adds two products of bytes to each result"},
    {"widened_operands", 10, ByWideOperands, kAlways, kNotOnGpu, kOnCpu,
     "operands are widened once instead of in the innermost loop"},
    {"merged_axes", 9, By<MergedAxesVariant>, kAlways, kAnywhere, kOnCpu,
     "merged rows leave fewer odd tiles"},
    {"separable_window", 6, By<SeparableWindowVariant>, kAlways, kAnywhere, kNotOnGpu,
     "the steps saved are worth storing the values between the passes"},
    {"merged_taps", 15, By<MergedTapsVariant>, DirectSavesTime<MergedTapsSaveTime>, kOnGpu, kOnGpu,
     "cells of several taps are a vector where the channels of one are none"},
    {"zero_padding", 4, By<ZeroPaddingVariant>, kAlways, kAnywhere, kOnGpu,
     "threads that test at each tap whether it lies inside diverge"},
    {"padded_pool", 5, By<PaddedPoolVariant>, kAlways, kAnywhere, kNowhere,
     "no test at each tap, for a copy of the input"},
    {"implicit_gemm", 7, By<ImplicitGemmVariant>, kAlways, kAnywhere, kNowhere,
     "its operands are matrices, which tensor cores multiply"},
    {"split_reduction", 8, By<SplitReductionVariant>, kAlways, kAnywhere, kNowhere,
     "more threads share a long reduction to few results"},
    {"one_pass_attention", 1, [](const Source& s) { return s.one_pass_attention; }, kAlways,
     kAnywhere, kNowhere, "a schedule may store no logits"},
    {"attention_in_tiles", 16, InTiles, kAlways, kOnGpu, kNowhere,
     "tensor cores multiply whole tiles of 16 bits"},
};

}  // namespace

std::span<const VariantRow> VariantRows() {
  return kVariants;
}

}  // namespace tcc
