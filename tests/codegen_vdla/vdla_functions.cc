#include "tests/codegen_vdla/vdla_functions.h"

#include <catch2/catch.hpp>

#include "ir/text/parser.h"
#include "lower/pipeline.h"
#include "schedule/space/trace.h"

namespace tcc {

Function LoweredBy(const std::string& text, const std::string& steps) {
  const StatusOr<Function> fn = ParseFunction(text);
  INFO(text << fn.status());
  REQUIRE(fn.ok());
  const StatusOr<Trace> trace = ParseTrace(steps);
  INFO(steps << trace.status());
  REQUIRE(trace.ok());
  const StatusOr<Function> scheduled = Replay(*fn, *trace);
  INFO(scheduled.status());
  REQUIRE(scheduled.ok());
  PipelineOptions options;
  options.verify = true;
  const StatusOr<Function> lowered = RunPipeline(*scheduled, options);
  INFO(lowered.status());
  REQUIRE(lowered.ok());
  return *lowered;
}

Function TiledProduct() {
  return LoweredBy(R"(
    fn mm(A: i8[64, 4, 16], B: i8[4, 4, 16, 16], C: i32[64, 4, 16]) tensor {
      for i in 0..64 @mm/i { for o in 0..4 @mm/o { for p in 0..16 @mm/p {
        for k in 0..4 @mm/k { for l in 0..16 @mm/l {
          block mm(i: spatial 64 = i, o: spatial 4 = o, p: spatial 16 = p, k: reduce 4 = k,
                   l: reduce 16 = l) {
            reduce sum_i32 init (C[i, o, p]) with (i32(A[i, k, l]) * i32(B[o, k, p, l]))
          }
        } }
      } } }
    })",
                   R"(
split mm/i [8]
split mm/o [2]
split mm/k [2]
reorder [mm/i.0, mm/o.0, mm/k.0, mm/i.1, mm/k.1, mm/o.1, mm/p, mm/l]
cache_write mm C local C_l
reverse_compute_at C_l mm/o.0
cache_read A [mm] local A_l
compute_at A_l mm/k.0
cache_read B [mm] local B_l
compute_at B_l mm/k.0
decompose_reduction mm mm/k.0
tensorize mm/p vdla_gemv_16x16
)");
}

Function PaddedConv(const VdlaConv& conv) {
  const std::string text = fmt::format(
      R"(
fn conv(X: i8[{h}, {w}, {c}, 16], W: i8[{o}, {k}, {k}, {c}, 16, 16], Y: i32[{y}, {x}, {o}, 16]) tensor {{
  alloc P: i8[{h} + 2, {w} + 2, {c}, 16]
  for h in 0..{h} + 2 @pad/h {{ for w in 0..{w} + 2 @pad/w {{ for c in 0..{c} @pad/c {{
    for d in 0..16 @pad/d {{
      block pad(h: spatial {h} + 2 = h, w: spatial {w} + 2 = w, c: spatial {c} = c,
                d: spatial 16 = d) {{
        P[h, w, c, d] = select(1 <= h && h < {h} + 1 && 1 <= w && w < {w} + 1,
                               X[h - 1, w - 1, c, d], 0)
      }}
    }} }} }} }}
  for h in 0..{y} @conv/h {{ for w in 0..{x} @conv/w {{ for o in 0..{o} @conv/o {{
    for p in 0..16 @conv/p {{ for r in 0..{k} @conv/r {{ for q in 0..{k} @conv/q {{
      for c in 0..{c} @conv/c {{ for d in 0..16 @conv/d {{
        block conv(h: spatial {y} = h, w: spatial {x} = w, o: spatial {o} = o, p: spatial 16 = p,
                   r: reduce {k} = r, q: reduce {k} = q, c: reduce {c} = c, d: reduce 16 = d) {{
          reduce sum_i32 init (Y[h, w, o, p])
              with (i32(P[h * {s} + r, w * {s} + q, c, d]) * i32(W[o, r, q, c, p, d]))
        }}
      }} }} }} }} }} }} }} }}
}})",
      fmt::arg("h", conv.rows), fmt::arg("w", conv.columns), fmt::arg("k", conv.kernel),
      fmt::arg("s", conv.stride), fmt::arg("c", conv.inputs), fmt::arg("o", conv.outputs),
      fmt::arg("y", conv.out(conv.rows)), fmt::arg("x", conv.out(conv.columns)));
  return LoweredBy(text, fmt::format(R"(
split conv/h [{}]
split conv/o [1]
split conv/c [1]
reorder [conv/h.0, conv/o.0, conv/c.0, conv/h.1, conv/w, conv/r, conv/q, conv/c.1, conv/o.1, conv/p, conv/d]
cache_write conv Y local Y_l
reverse_compute_at Y_l conv/o.0
cache_read W [conv] local W_l
compute_at W_l conv/c.0
set_scope P local
compute_at pad conv/c.0
decompose_reduction conv conv/c.0
tensorize conv/p vdla_gemv_16x16
)",
                                     conv.tile));
}

}  // namespace tcc
