#include "ir/text/parser.h"
#include "support/check.h"
#include "tests/programs/spike_programs.h"

namespace tcc {
namespace {

Function MustParse(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  TCC_CHECK(fn.ok()) << Message(fn.status()) << " in\n" << text;
  return *fn;
}

}  // namespace

Function MatmulFunction(int64_t m, int64_t n, int64_t k) {
  return MustParse(fmt::format(R"(
fn mm(A: f32[{0}, {2}], B: f32[{2}, {1}], C: f32[{0}, {1}]) tensor {{
  for i in 0..{0} @mm/i {{ for j in 0..{1} @mm/j {{ for k in 0..{2} @mm/k {{
    block mm(i: spatial {0} = i, j: spatial {1} = j, k: reduce {2} = k) {{
      reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
    }}
  }} }} }}
}})",
                               m, n, k));
}

Function ConvFunction(const ConvShape& shape) {
  int64_t rows = shape.out(shape.height, shape.kernel_h);
  int64_t columns = shape.out(shape.width, shape.kernel_w);
  return MustParse(fmt::format(
      R"(
fn conv(X: f32[{h}, {w}, {c}], W: f32[{kh}, {kw}, {c}, {o}], Y: f32[{y}, {x}, {o}]) tensor {{
  for y in 0..{y} @conv/y {{ for x in 0..{x} @conv/x {{ for o in 0..{o} @conv/o {{
    for ky in 0..{kh} @conv/ky {{ for kx in 0..{kw} @conv/kx {{ for c in 0..{c} @conv/c {{
      block conv(y: spatial {y} = y, x: spatial {x} = x, o: spatial {o} = o,
                 ky: reduce {kh} = ky, kx: reduce {kw} = kx, c: reduce {c} = c)
          where (0 <= y * {s} + ky * {d} - {p} && y * {s} + ky * {d} - {p} < {h} &&
                 0 <= x * {s} + kx * {d} - {p} && x * {s} + kx * {d} - {p} < {w}) {{
        reduce sum_f32 init (Y[y, x, o])
            with (X[y * {s} + ky * {d} - {p}, x * {s} + kx * {d} - {p}, c] * W[ky, kx, c, o])
      }}
    }} }} }}
  }} }} }}
}})",
      fmt::arg("h", shape.height), fmt::arg("w", shape.width), fmt::arg("c", shape.channels),
      fmt::arg("kh", shape.kernel_h), fmt::arg("kw", shape.kernel_w), fmt::arg("o", shape.filters),
      fmt::arg("y", rows), fmt::arg("x", columns), fmt::arg("s", shape.stride),
      fmt::arg("d", shape.dilation), fmt::arg("p", shape.pad)));
}

Function SoftmaxFunction(int64_t rows, int64_t columns) {
  return MustParse(fmt::format(R"(
fn softmax(X: f32[{0}, {1}], Y: f32[{0}, {1}]) tensor {{
    alloc m: f32[{0}]
    alloc l: f32[{0}]
    for i in 0..{0} @stat/i {{ for j in 0..{1} @stat/j {{
      block stat(i: spatial {0} = i, j: reduce {1} = j) {{
        reduce softmax_f32 init (m[i], l[i]) with (X[i, j], 1.0)
      }}
    }} }}
    for i in 0..{0} @out/i {{ for j in 0..{1} @out/j {{
      block out(i: spatial {0} = i, j: spatial {1} = j) {{
        Y[i, j] = exp_diff(X[i, j], m[i]) / l[i]
      }}
    }} }}
}})",
                               rows, columns));
}

Function SoftmaxByBlocks(int64_t rows, int64_t columns) {
  return MustParse(fmt::format(R"(
    fn rows(X: f32[{m}, {n}], Y: f32[{m}, {n}]) tensor {{
      alloc m: f32[{m}, 1]
      alloc e: f32[{m}, {n}]
      alloc s: f32[{m}, 1]
      for i in 0..{m} @max/i {{ for o in 0..1 @max/o {{ for t in 0..{n} @max/t {{
        block max(i: spatial {m} = i, o: spatial 1 = o, t: reduce {n} = t) {{
          reduce max_f32 init (m[i, o]) with (X[i, t]) }} }} }} }}
      for i in 0..{m} @exp/i {{ for j in 0..{n} @exp/j {{
        block exp(i: spatial {m} = i, j: spatial {n} = j) {{ e[i, j] = exp(X[i, j] - m[i, 0]) }} }} }}
      for i in 0..{m} @sum/i {{ for o in 0..1 @sum/o {{ for t in 0..{n} @sum/t {{
        block sum(i: spatial {m} = i, o: spatial 1 = o, t: reduce {n} = t) {{
          reduce sum_f32 init (s[i, o]) with (e[i, t]) }} }} }} }}
      for i in 0..{m} @out/i {{ for j in 0..{n} @out/j {{
        block out(i: spatial {m} = i, j: spatial {n} = j) {{ Y[i, j] = e[i, j] / s[i, 0] }} }} }}
    }})",
                               fmt::arg("m", rows), fmt::arg("n", columns)));
}

Function AttentionFunction(const AttentionShape& shape) {
  return MustParse(fmt::format(R"(
fn attention(Q: f32[{n}, {e}], K: f32[{t}, {e}], V: f32[{t}, {d}], B: f32[{n}, {t}],
             Y: f32[{n}, {d}]) tensor {{
    alloc scores: f32[{n}, {t}]
    alloc logits: f32[{n}, {t}]
    alloc m: f32[{n}]
    alloc l: f32[{n}]
    alloc acc: f32[{n}, {d}]
    for i in 0..{n} @scores/i {{ for t in 0..{t} @scores/t {{ for e in 0..{e} @scores/e {{
      block scores(i: spatial {n} = i, t: spatial {t} = t, e: reduce {e} = e) {{
        reduce sum_f32 init (scores[i, t]) with (Q[i, e] * K[t, e])
      }}
    }} }} }}
    for i in 0..{n} @logits/i {{ for t in 0..{t} @logits/t {{
      block logits(i: spatial {n} = i, t: spatial {t} = t) {{
        logits[i, t] = select(t < {blind} || B[i, t] < {threshold:.1f}, -inf, scores[i, t])
      }}
    }} }}
    for i in 0..{n} @core/i {{ for d in 0..{d} @core/d {{ for t in 0..{t} @core/t {{
      block core(i: spatial {n} = i, d: spatial {d} = d, t: reduce {t} = t) {{
        reduce attention_f32 init (m[i], l[i], acc[i, d]) with (logits[i, t], 1.0, V[t, d])
      }}
    }} }} }}
    for i in 0..{n} @out/i {{ for d in 0..{d} @out/d {{
      block out(i: spatial {n} = i, d: spatial {d} = d) {{
        Y[i, d] = select(m[i] == -inf, 0.0, acc[i, d] / l[i])
      }}
    }} }}
}})",
                               fmt::arg("n", shape.queries), fmt::arg("t", shape.keys),
                               fmt::arg("e", shape.depth), fmt::arg("d", shape.width),
                               fmt::arg("blind", shape.blind),
                               fmt::arg("threshold", shape.threshold)));
}

Function TwoReadersFunction(int64_t extent) {
  return MustParse(fmt::format(R"(
fn stencil(A: f32[{1}], B: f32[{0}]) tensor {{
    alloc T: f32[{0}]
    for i in 0..{0} @sum/i {{
      block sum(i: spatial {0} = i) {{ T[i] = A[i] + A[i + 1] + A[i + 2] }}
    }}
    for i in 0..{0} @out/i {{
      block out(i: spatial {0} = i) {{ B[i] = T[i] + A[i + 1] * 3.0 }}
    }}
}})",
                               extent, extent + 2));
}

Function EmptyReductionFunction(int64_t rows) {
  return MustParse(fmt::format(R"(
fn total(A: f32[{0}, 0], C: f32[{0}]) tensor {{
  for i in 0..{0} @total.init/i {{
    block total.init(i: spatial {0} = i) {{ C[i] = 0.0 }}
  }}
  for i in 0..{0} @total/i {{ for k in 0..0 @total/k {{
    block total(i: spatial {0} = i, k: reduce 0 = k) {{
      reduce sum_f32 (C[i]) with (A[i, k])
    }}
  }} }}
}})",
                               rows));
}

}  // namespace tcc
