#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// text, enumerator, how the partial result of a tile is made
#define TCC_TILE_FORMS(X)                                                               \
  X("combined", kCombined, "the combiner takes the inputs one by one")                  \
  X("direct", kDirect, "an element after the other, each a plain reduction (Combiner)") \
  X("nested", kNested, "as combined, for each iteration of the spatial loops in between")

enum class TileForm : uint8_t {
#define TCC_TILE_FORM(text, form, meaning) form,
  TCC_TILE_FORMS(TCC_TILE_FORM)
#undef TCC_TILE_FORM
};

std::string_view ToString(TileForm form);
std::optional<TileForm> ParseTileForm(std::string_view text);

// Makes each iteration of the outermost loop of a reduction compute a partial result and combine it
// with the output before the next iteration begins. The direct form of a softmax's (maximum, sum):
//
//   for i { for t0 { for t1 {                    for i { block st.init: m[i] = -inf, l[i] = 0 }
//     block st: (m[i], l[i]) combined     -->    for t0 { allocate p.0, p.1 {
//       with (s[i, t], 1)                          for i { block p.0.init: p.0[i] = -inf }
//   } } }                                          for i { for t1 { block p.0: max of s[i, t] } }
//                                                  for i { block p.1.init: p.1[i] = 0 }
//                                                  for i { for t1 { block p.1:
//   (loop = st/t.0, name = p; with i reordered         sum of exp_diff(s[i, t], p.0[i]) } }
//    into t.0 before)                              for i { block st: (m[i], l[i]) combined with
//                                                    (p.0[i], p.1[i]) } } }
//
// In direct form elements may differ in their axes, as attention's (m[i], l[i], acc[i, d]): the
// loops of an axis that some lack move inside the tile, and the combination has a block per group
// of elements with the same axes ("core.0" for m and l, then "core"); groups with fewer axes come
// first and save the old values that the others read ("core.old0"). Scalar function calls of a
// direct element (exp_diff) that do not depend on such an axis are computed once, in a block and
// buffer of their own ("p.map0"), and so is what a narrower type makes of them.
//
// `combined` makes one partial block `name`, for a combiner that has no direct form.
//
// `nested` does too, and keeps the spatial loops between the tile's loop and the next loop of the
// reduction around the whole tile. The part inside, say a register tile, has a partial result of
// its own, which is combined with the output before the next one begins.
//
//   for i { for k0 { for j0 {               for i { for j0, j1 { block mm.init: C[i, j] = 0 }
//     for k1 { for j1 {                       for k0 { for j0 { allocate p[J1] {
//       block mm: C[i, j] +=          -->       for j1 { block p.init: p[j] = 0 }
//         f(i, j, k)                            for k1 { for j1 { block p: p[j] += f(i, j, k) } }
//   } } } } }   (loop = mm/k.0, name = p)       for j1 { block mm: C[i, j] += p[j] } } } } }
struct RFactorTile {
  std::string block;
  LoopRef loop;
  TileForm form = TileForm::kCombined;
  Scope scope = Scope::kGlobal;
  std::string name;
  auto Fields() { return std::tie(block, loop, form, scope, name); }
};

// Refused: a block that is no reduction or is decomposed; a loop that is not serial, encloses other
// blocks or is not the outermost of the reduction; loops that feed both spatial and reduce
// variables; direct: a combiner without that form; combined, nested: outputs of different axes;
// tuples whose groups have axes that are not among those of the next, or an element that depends on
// one with more axes; a loop of an axis that some outputs lack that is not serial, feeds other axes
// too or encloses other blocks; names in use.
StatusOr<Constraints> CheckRFactorTile(const Function& fn, const RFactorTile& step);
Function ApplyRFactorTile(const Function& fn, const RFactorTile& step);

}  // namespace tcc
