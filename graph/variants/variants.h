#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/variants/value_set.h"
#include "ir/expr/tensor_expr.h"
#include "support/numeric_mode.h"
#include "support/target.h"

// Other ways to compute a program, which variant_rows.cc lists, and the rounding of operands that
// is applied to each.
//
// Extents may be formulas over Shape variables, but for those that a variant says it must know. No
// variant takes a stage that may have no point. Whether one saves time is told at the usual sizes.
namespace tcc {

// A task's program and how its variants are to be made.
struct VariantSource {
  TensorProgram program;                            // the direct one, before operands are rounded
  std::optional<TensorProgram> rounded;             // afterwards, if some are
  std::optional<TensorProgram> one_pass_attention;  // its attentions are one reduction each
  NumericMode numeric = NumericMode::kStrict;
  bool winograd = true;  // Winograd's transforms are allowed
  // A mode of 16 bits holds for attentions, too.
  bool tiles_attention = false;
  // The values that elements of the program's inputs may have, where these are known; they may be
  // fewer than of a task that computes the same.
  std::vector<std::optional<ValueSet>> values = {};
};

// Returns the program with its convolution computed by Winograd's F(2x2, 3x3): a tile of 2x2
// outputs takes 16 products per channel instead of 36. (A. Lavin, S. Gray: Fast algorithms for
// convolutional neural networks, 2015)
//
//   u[a, b, c, o] = G w G^T    over the taps of the constant weight: a Prepack's work
//   t[a, j, p, c] = B^T x      over the rows of the 4x4 inputs of tile p, zero outside the input
//   v[a, b, p, c] = t B        over their columns
//   m[a, b, p, o] = sum over c of v[a, b, p, c] * u[a, b, c, o]
//   s[d, b, p, o] = A^T m      over the rows
//   out[n, h, w, o] = s A      over the columns, at the output's place in its tile
//
// A third dimension of the window is summed directly, with the channels: u, v and m have its taps
// and places between b and p, as they have the batch.
//
// Bytes go in pairs, as in IntegerPairsVariant: x holds words of two channels, and twice G makes
// whole numbers of u, whose products are four times the results. They are the same integers.
//
// Operands of 16-bit floats are widened by the transforms.
//
// Returns nullopt if no stage is a sum over 3x3 taps and channels of f32 or of bytes at stride 1,
// without dilation or groups, of an input and a constant parameter of known extents, or if sums of
// bytes may need more than 32 bits.
//
// The transforms of f32 amplify rounding errors, which stay within 16 * sqrt(K) * eps * M, K the
// number of terms of an output and M the largest sum of their absolute values. An input that is not
// finite makes NaN of all outputs of its tiles.
std::optional<TensorProgram> WinogradVariant(const TensorProgram& program);

// Returns the program with its convolution computed by Winograd's F(4x4, 3x3): a tile of 4x4
// outputs takes 36 products per channel instead of 144, with the stages of F(2x2, 3x3) and errors
// within the same bound. Its points, 0, +-5/8, +-3/2 and infinity, make smaller errors than 0, +-1,
// +-2 and infinity. (B. Barabasz et al.: Error analysis and improving the accuracy of Winograd
// convolution for deep neural networks, 2020)
// Returns nullopt as WinogradVariant does, and for bytes, fewer than 32 or more than 256 channels,
// and images smaller than a tile.
std::optional<TensorProgram> WideWinogradVariant(const TensorProgram& program);

// The tile of the variant that is expected to take the least time on a CPU; none: the direct
// convolution is.
enum class WinogradTile : uint8_t { kNone, kTwo, kFour };
WinogradTile FastestWinogradTile(const TensorProgram& program);

// Returns the program with its product of bytes computed two terms at a time, which one instruction
// of a CPU does for a vector of results (vpmaddwd, in AVX2 and AVX-512). Operands become words of
// two signed halves, each a byte less its zero point:
//
//   pairs[.., p, ..] = x[.., 2 p, ..] - zero and x[.., 2 p + 1, ..] - zero
//   weight[.., p, o] = the same of the constant weight: a Prepack's work
//   out = sum over p of dot_i16x2(pairs[.., p, ..], weight[.., p, o])
//
// The pairs of a padded input are zero outside it, and dimensions merge as in MergedAxesVariant.
// The result is the same integer. Returns nullopt if no stage is such a sum in i32 of an operand
// and a constant parameter along an axis of known extent that both have as an index.
std::optional<TensorProgram> IntegerPairsVariant(const TensorProgram& program);

// Returns the program with its product of bytes computed four terms at a time, which one
// instruction of some CPUs adds to a vector of results: `dot`, which is dot_u8i8x4 (vpdpbusd of
// AVX-512 VNNI and AVX-VNNI, usdot of ARM) or dot_i8i8x4 (sdot of ARM). Words hold bytes of the
// data, of the sign that it takes, and signed ones of the constant weight, and the zero point of
// the data is made up for by sums of the weight:
//
//   quads[.., p, ..] = x[.., 4 p, ..] to x[.., 4 p + 3, ..]; bytes of the other sign and their zero
//                      point 128 more or less; the padding is the zero point
//   columns[o] = sum over all taps of w: a Prepack's work, as weight[.., p, o] is
//   out = sum over p of dot(quads[.., p, ..], weight[.., p, o]) - zero * columns[o]
//
// Without a `dot` it is the one that takes data of their own sign. The result is the same integer.
// Returns nullopt where IntegerPairsVariant does, and if the weight is unsigned or has a zero
// point, or the zero point of the data is not one number.
std::optional<TensorProgram> IntegerQuadsVariant(const TensorProgram& program,
                                                 std::optional<ScalarOp> dot = {});

// Returns the program with its product of signed bytes over blocks of 16 inputs and 16 outputs, as
// an accelerator multiplies them (runtime/vdla/vdla_isa.h):
//
//   blocks[.., c, i] = x[.. + low, 16 c + i] where that is inside, else the zero point; unsigned
//                      bytes and their zero point 128 less
//   weight[o, taps.., c, p, i] = w at output 16 o + p and input 16 c + i: a Prepack's work
//   sums[.., o, p] = sum over taps, c and i of i32(blocks[..]) * i32(weight[..])
//   offsets[16 o + p] = zero point * the sum of the weight at the output: a Prepack's work
//   out[.., 16 o + p] = sums[.., o, p] - offsets[16 o + p], or what a map behind the product makes
//
// The sums are the same integers. Returns nullopt if no stage sums products of bytes less a
// constant number and a constant parameter of i8, along an axis that is the operand's last
// dimension; if the data have an index of the result's last dimension; if 16 does not divide both
// of these; if anything but one such map follows.
std::optional<TensorProgram> AcceleratorBlocksVariant(const TensorProgram& program);

// Returns the program with its product of integers of 1 to 4 bits computed 32 terms at a time for
// each pair of bits. Words hold bit i of 32 integers of the data, or bit j of as many of the
// constant weight, less a number that makes bits fewer:
//
//   planes[.., p, i, ..] = bit i of x[.., 32 p, ..] to x[.., 32 p + 31, ..]
//   weight[.., p, j, o]  = the same of the weight: a Prepack's work, as columns[o] is
//   out = sum over p, i, j of c_i d_j popcount(planes[.., p, i, ..] & weight[.., p, j, o])
//         + data's rest * columns[o] + weight's rest * rows
//
// with c_i = 2^i, or -2^i of a sign bit; columns[o] = the sum of the weight; rows = the sum of the
// data's planes; a rest = an operand less the sum of its planes, such as -1 for {-1, 1}, which are
// one plane of {0, 2}. The padding is the zero point. `sets` are the values of the program's
// inputs.
//
// The result is the same integer. Returns nullopt if no stage is such a sum in i32 along an axis of
// known extent that both operands have as an index, at least 64 terms long; if an operand takes
// more than 4 planes, or both together more than 8 pairs; if a zero point varies along the sum; or
// if the padding is not known.
std::optional<TensorProgram> BitPlanesVariant(const TensorProgram& program,
                                              std::span<const std::optional<ValueSet>> sets);
// Returns the pairs of planes that such a function multiplies; 0 of others.
int PlanePairsOf(const Function& fn);
// Returns whether such a function has one row of data: it multiplies each word of a weight once.
bool HasOneRowOfPlanes(const Function& fn);
// Returns whether the data are read often enough to be worth packing.
bool BitPlanesSaveTime(const TensorProgram& program);
// The product of bytes that planes of bits stand in for, as far as its time depends on it.
struct ByteProduct {
  bool is_transformed = false;  // a convolution that Winograd's transforms gain for without dots
  bool has_one_row = false;
};
// Returns the most pairs of planes that were measured to take less time than the target's products
// of bytes (`tcc-bench kernels --suite bits`); 0 if none was.
int MostPlanePairs(const Target& target, const ByteProduct& bytes);

// Returns the program with its product of bf16 numbers computed two terms at a time, which one
// instruction of some CPUs adds to a vector of results (vdpbf16ps: AVX512-BF16). With `rounds`,
// f32 operands are rounded to bf16, as RoundOperands does for --numeric bf16:
//
//   pairs[.., p, ..] = bf16(x[.., 2 p, ..]) and bf16(x[.., 2 p + 1, ..])
//   weight[.., p, o] = the same of the constant weight: a Prepack's work
//   out = sum over p of dot_bf16x2(pairs[.., p, ..], weight[.., p, o])
//
// Pairs are padded, and dimensions merge, as in IntegerPairsVariant. The products are exact, and
// the sums are f32. Returns nullopt if no stage is such a sum of an operand and a constant
// parameter along an axis of known extent that both have as an index.
std::optional<TensorProgram> BFloatPairsVariant(const TensorProgram& program, bool rounds);

// Returns a program of IntegerQuadsVariant or BFloatPairsVariant on whole tiles of `tile` rows,
// columns and words, which one instruction multiplies (support/word_tile.h). Operands are zero
// beyond what they were, and results there have no reader. Rows are a spatial axis that the weight
// lacks, with the fewest in vain. Returns nullopt if there is no instruction for the numbers, if
// words or columns are not the last dimension of the operands, or if so much of the work would be
// in vain that vectors are faster: three quarters of it with AMX, four tenths with ARM's smmla.
std::optional<TensorProgram> WholeTilesVariant(const TensorProgram& program, int64_t tile);
// Returns whether tiles of AMX are expected to take less time than vectors: a tile costs as much as
// ten multiplications of tiles before its first one, so sums of few terms lose.
bool WholeTilesSaveTime(const TensorProgram& program);

// Returns the program with the f16 and bf16 operands of its products in f32 copies of their own,
// where elements are read often: a constant is widened when the model is linked, other operands
// once before the product instead of in its innermost loop. Dimensions merge as in
// MergedAxesVariant. The result is the same. Returns nullopt if there are no such operands.
std::optional<TensorProgram> WidenedOperandsVariant(const TensorProgram& program);
// Returns the same with all dimensions as they were.
std::optional<TensorProgram> WidenOperands(const TensorProgram& program);

// Returns the program with its convolution reading a zero-padded input, instead of testing at each
// tap whether it lies inside:
//
//   padded[.., i, ..] = input[.., i + low, ..] where that is inside, else 0
//   out = sum of padded[..] * weight[..]
//
// A schedule may compute the part of `padded` that a tile reads where the tile is staged, so that
// `padded` never exists as a whole. Returns nullopt if no stage is a sum of products with a factor
// that is a buffer element and a predicate that keeps this element inside, or if where the window
// begins is not known.
//
// A non-finite weight spoils results whose window reaches outside the input.
std::optional<TensorProgram> ZeroPaddingVariant(const TensorProgram& program);

// Returns the program with its convolution of few channels reading rows in which the channels of a
// column lie together, zero-padded and a whole number of vectors long:
//
//   rows[.., h, f] = input[.., h + low, f div C + low, .., f mod C] where that is inside, else 0
//   out = sum of rows[.., h * s + kh * d, (w * s + kw * d) * C + c] * weight[..]
//
// The cells that a row of taps reads are one run, which is copied in vectors although a column is
// none. The input's channels may be any of its dimensions, so that a repack channels last is part
// of the padding. Returns nullopt if no stage is such a sum over at most 4 channels, all of them,
// of a window that slides along the last other dimension; if an axis is in both factors (groups);
// and where ZeroPaddingVariant returns it.
//
// A non-finite weight spoils results whose window reaches outside the input.
std::optional<TensorProgram> MergedTapsVariant(const TensorProgram& program);
// Returns whether the vectors are expected to save more time on a GPU than the launch that makes
// the rows takes.
bool MergedTapsSaveTime(const TensorProgram& program);

// Returns ZeroPaddingVariant for a pool, which reduces the elements themselves: the input is padded
// with the reduction's identity (0 for a sum, the lowest value for a maximum), which changes no
// result. Returns nullopt if no stage is such a reduction.
std::optional<TensorProgram> PaddedPoolVariant(const TensorProgram& program);

// Returns the program with a window over several dimensions reduced in one dimension after the
// other: k * k steps per element become k + k.
//
//   part[.., h, j, ..] = max over kh of input[.., h * s + kh, j, ..]
//   out[.., h, w, ..] = max over kw of part[.., h, w * t + kw, ..]
//
// Returns nullopt if no stage is such a reduction of the elements of one buffer, or if it is less
// than twice as much work. Sums are added in another order.
std::optional<TensorProgram> SeparableWindowVariant(const TensorProgram& program);

// Returns the program with its convolution as one matrix product over reindexed operands (implicit
// GEMM): for a sum over r of input(m, r) * weight(r, n), where m and n are the result axes that
// only one factor has,
//
//   columns[p, k] = input at the axes and taps that p and k number, 0 outside
//   matrix[k, o]  = weight at those that k and o number
//   product[p, o] = sum over k of columns[p, k] * matrix[k, o]
//   out[m.., n..] = product[p, o]
//
// Where the channels of a tap fill steps of a product, k is an axis for each of the reduction's.
// Where m leads and everything behind the convolution reads and writes at m, as biases, residuals
// and activations do, their dimensions become p: one loop nest computes both.
//
// A schedule may compute both operands where their tiles are staged, so that they never exist as a
// whole. Returns nullopt if no stage is a sum of products of a window and another factor, if an
// axis is in both factors (groups).
//
// Operands that the product widened from a narrower type keep that type.
//
// A non-finite weight spoils results whose window reaches outside the input.
std::optional<TensorProgram> ImplicitGemmVariant(const TensorProgram& program);

// The rows, columns and terms of a tile of attention.
inline constexpr int64_t kAttentionTile = 16;

// The type that a mode's attention may have its operands in: one of 16 bits.
std::optional<DType> TypeOfTiles(NumericMode mode);

// Returns whether attention is worth tiles, and its operands can be staged in vectors: at least
// half of a tile of queries, columns in whole tiles, and terms in whole vectors of 16 bytes, where
// an element of the operands takes `bytes`.
bool FitsTiles(int64_t queries, int64_t depth, int64_t width, int64_t bytes);

// Returns a program whose attention is one reduction with both of its products on whole tiles of 16
// rows, columns and terms, and operands of 16 bits:
//
//   queries[.., i, e], keys[.., t, e], values[.., t, d] = the operands in that type, zero at the
//                                                         ends of i, t and e
//   score = sum over e of queries[.., i, e] keys[.., t, e]
//   logit = as it was; -inf behind the last key
//   context by attention_by_<type>: powers, too, have that type where they multiply values
//
// The type is that of the operands where they have one of 16 bits, else `type`. Returns nullopt
// if an extent is not known, or if the sizes do not fit (FitsTiles).
std::optional<TensorProgram> AttentionInTilesVariant(const TensorProgram& program, DType type);

// Returns the program with a long reduction to few results split into two stages, both of which
// have enough parallelism for many threads:
//
//   part[.., p] = combine over r of value(.., p * length + r)
//   out[..]     = combine over p of part[.., p]
//
// Returns nullopt if no stage reduces more elements than it has results over a long enough axis of
// known extent, or if outputs of a tuple differ in their axes.
std::optional<TensorProgram> SplitReductionVariant(const TensorProgram& program);

// Returns the program with neighbouring dimensions merged where a sum of products iterates over
// both and only one of its factors depends on them: rows and columns of an image under a
// convolution of one tap, batch and rows of a product with one weight matrix. Tiles then cross from
// one row to the next, so that 7 rows of 7 points leave one odd tile instead of seven.
//
//   out[n, y, x, o] = sum over c of in[n, y, x, c] * w[c, o]   -->
//   out[n, yx, o] = sum over c of in[n, yx, c] * w[c, o]
//
// Every stage must iterate over the two dimensions of its buffers by the same two axes in full. The
// elements of buffers stay in place. Returns nullopt if there are no such dimensions.
std::optional<TensorProgram> MergedAxesVariant(const TensorProgram& program);

// Returns the program with the first axes of a stage merged into one, in all stages and buffers
// that have them: from the last one outwards, as far as all uses of the axes allow it.
TensorProgram WithMergedAxes(TensorProgram program, size_t stage, const std::vector<Axis>& axes);

// Returns whether some stage is a contraction of f32 operands: a sum of products of two different
// values. The caller must know that the program stems from a contraction and not from a reduction
// (a sum of squares).
bool HasF32Contraction(const TensorProgram& program);

// Returns the program with the operands of such contractions rounded as `mode` says. To a narrower
// type:
//
//   x_f16[i, k] = f16(x[i, k])                    a map of its own; of a constant, when linked
//   out = sum of f32(x_f16[i, k]) * f32(w_f16[k, j])
//
// An intermediate that only contractions read, the columns of implicit GEMM, say, is itself stored
// in that type. Operands that the type holds without loss stay. Where it is tf32, only constants
// and intermediates that are computed are stored so, other operands are rounded in the product:
//
//   out = sum of f32(tf32(x[i, k])) * f32(w_tf32[k, j])
//   3xtf32:  out = sum of (x0 * w1 + x1 * w0) + x0 * w0,  x0 = tf32(x), x1 = tf32(x - x0)
//            where tf32 would overflow, x0 is its largest number with the sign of x; for an
//            infinite x, x0 is 1 or -1, and x1 infinite
//
// The error of an output is within RowOf(mode).product_error * M of the strict one's, M the sum of
// the absolute terms. Returns nullopt for strict, and if there is nothing to round.
std::optional<TensorProgram> RoundOperands(const TensorProgram& program, NumericMode mode);

// Returns whether RoundOperands rounds each element of an f32 input to the mode's type wherever it
// is read, so that it may be stored in that type. False for modes without a type.
bool RoundsAllOf(const TensorProgram& program, const Var& input, NumericMode mode);

}  // namespace tcc
