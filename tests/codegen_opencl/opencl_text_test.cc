#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "codegen_cuda/text/kernel_source.h"
#include "codegen_opencl/opencl_dialect.h"
#include "ir/expr/scalar_op.h"
#include "ir/text/parser.h"
#include "support/check.h"
#include "tests/codegen_opencl/syntax/opencl_syntax.h"

using namespace tcc;

namespace {

const Target& OpenCl() {
  static const Target target = FindTarget("opencl").value();
  return target;
}

Function MustParse(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  TCC_CHECK(fn.ok()) << Message(fn.status()) << " in\n" << text;
  return *fn;
}

// The text of a lowered function, which must compile.
std::string TextOf(const std::string& function) {
  const Function fn = MustParse(function);
  StatusOr<std::string> text = OpenClTextOf({&fn, 1}, OpenCl());
  INFO(function << Message(text.status()));
  REQUIRE(text.ok());
  Status compiles = CheckOpenClText(*text);
  INFO(*text << Message(compiles));
  CHECK(compiles.ok());
  return *text;
}

std::string ErrorOf(const std::string& function) {
  const Function fn = MustParse(function);
  return Message(EmitKernels({&fn, 1}, OpenCl(), kOpenClDialect).status());
}

bool Has(const std::string& text, std::string_view piece) {
  return text.find(piece) != std::string::npos;
}

constexpr const char* kNumbers[] = {"bool", "i8",  "i16",  "i32", "i64", "u8",     "u16",   "u32",
                                    "u64",  "f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2"};

// Words of OpenCL C, and of what clang and drivers predefine.
constexpr const char* kWords[] = {"float4",
                                  "half2",
                                  "half",
                                  "kernel",
                                  "global",
                                  "local",
                                  "constant",
                                  "private",
                                  "dot",
                                  "mix",
                                  "step",
                                  "clamp",
                                  "vload4",
                                  "log2",
                                  "exp2",
                                  "sampler_t",
                                  "image2d_t",
                                  "event_t",
                                  "uint",
                                  "ushort",
                                  "ulong",
                                  "uchar",
                                  "size_t",
                                  "barrier",
                                  "fence",
                                  "as_float",
                                  "convert_int4",
                                  "s0",
                                  "x",
                                  "M_PI",
                                  "NAN",
                                  "CLK_LOCAL_MEM_FENCE",
                                  "get_global_id",
                                  "read_only",
                                  "pipe",
                                  "restrict",
                                  "if",
                                  "int",
                                  "double",
                                  "bool",
                                  "true",
                                  "main",
                                  "A_base",
                                  "A_at",
                                  "A",
                                  "v",
                                  "t",
                                  "tcc",
                                  "TCC_INPUT",
                                  "tcc_block_x",
                                  "a.b",
                                  "1x",
                                  "atom_add",
                                  "printf",
                                  "complex",
                                  "quad",
                                  "float16",
                                  "_1",
                                  "w_1"};

}  // namespace

TEST_CASE("a buffer is a parameter and a place in it, and a block has the extents it is said to",
          "[codegen_opencl]") {
  std::string text = TextOf(R"(
    fn add<shape N in 1..=64>(A: f32[N * 32], B: f32[N * 32], C: f32[N * 32]) lowered {
      for b in 0..N blockIdx.x { for y in 0..2 threadIdx.y { for t in 0..16 threadIdx.x {
        C[b * 32 + y * 16 + t] = A[b * 32 + y * 16 + t] + B[b * 32 + y * 16 + t] } } } })");
  CHECK(Has(text,
            "TCC_KERNEL(add, 16, 2, 1)(TCC_INPUT(float, A), TCC_INPUT(float, B), "
            "TCC_OUTPUT(float, C), TCC_SHAPE(N)) {\n"
            "  TCC_INPUT_AT(float, A);\n"
            "  TCC_INPUT_AT(float, B);\n"
            "  TCC_OUTPUT_AT(float, C);\n"
            "  const int b = tcc_block_x();\n"));
  CHECK_FALSE(Has(text, "double"));
  CHECK_FALSE(Has(text, "tcc_floor_div"));  // nothing calls it
}

TEST_CASE("vectors are loaded and stored whole", "[codegen_opencl]") {
  std::string text = TextOf(R"(
    fn copy(A: f32[512], H: f16[512], B: f32[512]) lowered {
      for t in 0..64 threadIdx.x {
        B[ramp(t * 8, 1, 4)] = A[ramp(t * 8, 1, 4)] + f32x4(H[ramp(t * 8, 1, 4)])
        B[ramp(t * 8 + 4, 1, 4)] = A[ramp(t * 8 + 4, 1, 4)] } })");
  CHECK(Has(text, "= vload4(0, &A[t * 8]);"));
  CHECK(Has(text, "const ushort4 "));
  CHECK(Has(text, "vstore4(v_"));
  CHECK(Has(text, ".s3"));
}

TEST_CASE("shared memory is declared in the kernel, and a barrier orders what it must",
          "[codegen_opencl]") {
  const char* shared = R"(
    fn turn(A: f32[64], B: f32[64]) lowered {
      for t in 0..64 threadIdx.x { alloc S: f32[64] shared {
        S[t] = A[t]
        barrier(shared)
        B[t] = S[63 - t] } } })";
  std::string text = TextOf(shared);
  CHECK(Has(text, "TCC_SHARED(float, S, 64);"));
  CHECK(Has(text, "  tcc_barrier();"));
  CHECK(Has(text, "barrier(CLK_LOCAL_MEM_FENCE)\n"));
  std::string global = TextOf(R"(
    fn turn(A: f32[64], B: f32[64], C: f32[64]) lowered {
      for t in 0..64 threadIdx.x {
        B[t] = A[t]
        barrier(shared)
        C[t] = B[63 - t] } })");
  CHECK(Has(global, "  tcc_global_barrier();"));
  CHECK(Has(global, "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)\n"));
}

TEST_CASE("what lies in one array of a block lies in places of it", "[codegen_opencl]") {
  std::string text = TextOf(R"(
    fn twice(A: f32[512], B: f32[512]) lowered {
      for t in 0..64 threadIdx.x {
        alloc S: f32[512] shared {
          for i in 0..8 { S[i * 64 + t] = A[i * 64 + t] }
          barrier(shared)
          for i in 0..8 { B[i * 64 + t] = S[511 - i * 64 - t] } }
        barrier(shared)
        alloc R: f32[512] shared {
          for i in 0..8 { R[i * 64 + t] = B[i * 64 + t] }
          barrier(shared)
          for i in 0..8 { B[i * 64 + t] = R[511 - i * 64 - t] } } } })");
  CHECK(Has(text, "TCC_SHARED_BYTES(2048);"));
  CHECK(Has(text, "TCC_SHARED_AT(float, R, 0, 512);"));
}

TEST_CASE("what is prefetched and not read leaves no unused names", "[codegen_opencl]") {
  std::string text = TextOf(R"(
    fn copy(A: f32[64], Hinted: f32[128], B: f32[64]) lowered {
      for t in 0..64 threadIdx.x {
        let behind = t + 64 in { prefetch Hinted[behind] }
        B[t] = A[t] } })");
  CHECK_FALSE(Has(text, "Hinted"));
  CHECK_FALSE(Has(text, "behind"));
}

TEST_CASE("every scalar operation of every type compiles", "[codegen_opencl]") {
  constexpr std::string_view kNames[] = {
#define TCC_NAME(text, op, arity, rule, semantics) text,
      TCC_SCALAR_OPS(TCC_NAME)
#undef TCC_NAME
  };
  for (const char* type : kNumbers) {
    const DType dtype = *ParseDType(type);
    std::string body;
    int results = 0;
    auto store = [&](const std::string& value, const std::string& to) {
      body += fmt::format("    Y{0}[i] = {1}({2})\n", results++, to, value);
    };
    std::string params;
    for (std::string_view name : kNames) {
      ScalarOp op = *FindScalarOp(name);
      std::optional<DType> result = ResultType(op, dtype);
      if (!result) continue;
      params += fmt::format(", Y{}: {}[8]", results, ToString(*result));
      body += fmt::format("    Y{}[i] = {}({})\n", results++, name,
                          RowOf(op).arity == 2 ? "X[i], X[i + 8]" : "X[i]");
    }
    for (const char* to : kNumbers) {
      if (std::string_view(to) == type) continue;
      params += fmt::format(", Y{}: {}[8]", results, to);
      store("X[i]", to);
    }
    INFO(type);
    TextOf(fmt::format("fn ops(X: {}[16]{}) lowered {{ for i in 0..8 threadIdx.x {{\n{}  }} }}",
                       type, params, body));
  }
}

TEST_CASE("arithmetic and comparisons of every type compile", "[codegen_opencl]") {
  for (const char* type :
       {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"}) {
    INFO(type);
    TextOf(fmt::format(R"(
      fn ops(X: {0}[16], Y: {0}[8], B: bool[8]) lowered {{ for i in 0..8 threadIdx.x {{
        Y[i] = min(X[i], X[i + 8]) + max(X[i] * X[i + 8], X[i] - {0}(3))
        B[i] = X[i] < X[i + 8] || X[i] == {0}(1) && !(X[i + 8] != {0}(2))
        Y[i] = select(B[i], X[i], Y[i]) }} }})",
                       type));
  }
}

TEST_CASE("elements of 4 and 2 bits are stored by atomic operations on words", "[codegen_opencl]") {
  for (const char* type : {"i4", "u4", "i2", "u2"}) {
    std::string text = TextOf(fmt::format(R"(
      fn pack(X: i32[64], Y: {0}[64], Z: i32[64]) lowered {{
        for i in 0..64 threadIdx.x {{ alloc S: {0}[64] shared {{ alloc L: {0}[2] local {{
          L[i mod 2] = {0}(X[i])
          S[i] = L[i mod 2]
          barrier(shared)
          Y[i] = S[63 - i]
          Z[i] = i32(S[i]) }} }} }} }})",
                                          type));
    CHECK(Has(text, "tcc_store_packed_local(S, "));
    CHECK(Has(text, "tcc_store_packed_global(Y, "));
  }
}

TEST_CASE("tensors, variables and shapes called like words of the language compile",
          "[codegen_opencl]") {
  constexpr const char* kFunction =
      "fn words({}X: f32[8], Y: f32[8]) lowered {{ for i in 0..8 threadIdx.x {{\n    Y[i] = 0\n{}"
      "  }} }}";
  std::string params, buffers, arrays, loops, lets;
  for (const char* word : kWords) {
    const std::string name = fmt::format("\"{}\"", word);
    params += fmt::format("{}: f32[8], ", name);
    buffers += fmt::format("    Y[i] = Y[i] + {}[i]\n", name);
    arrays += fmt::format(
        "    alloc {0}: f32[1] local\n    {0}[0] = X[i]\n    Y[i] = Y[i] + {0}[0]\n", name);
    loops += fmt::format("    for {0} in 0..3 {{ Y[i] = Y[i] + f32({0}) }}\n", name);
    lets += fmt::format("    let {0} = Y[i]\n    Y[i] = {0} * {0} * 0.25 + X[i]\n", name);
  }
  TextOf(fmt::format(kFunction, params, buffers));
  for (const std::string& uses : {arrays, loops, lets}) TextOf(fmt::format(kFunction, "", uses));
  std::vector<Function> shapes;
  for (const char* word : kWords) {
    shapes.push_back(MustParse(
        fmt::format("fn shape{0}<shape \"{1}\" in 1..=4096>(X: f32[\"{1}\" * 32], Y: f32[\"{1}\" * "
                    "32]) lowered "
                    "{{ for b in 0..\"{1}\" blockIdx.x {{ for \"{1}t\" in 0..32 threadIdx.x {{ "
                    "Y[b * 32 + \"{1}t\"] = X[b * 32 + \"{1}t\"] * f32(\"{1}\") }} }} }}",
                    shapes.size(), word)));
  }
  StatusOr<std::string> text = OpenClTextOf(shapes, OpenCl());
  REQUIRE(text.ok());
  CHECK(Message(CheckOpenClText(*text)) == "");
}

TEST_CASE("constants that are no numbers, or the least ones, compile", "[codegen_opencl]") {
  TextOf(R"(
    fn constants(F: f32[8], D: f64[8], H: f16[8], L: i64[8], I: i32[8], U: u64[8]) lowered {
      for i in 0..8 threadIdx.x {
        F[i] = select(i < 4, inf, nan)
        D[i] = select(i < 4, f64(-inf), f64(nan))
        H[i] = select(i < 4, f16(1.5), f16(nan))
        L[i] = select(i < 4, -9223372036854775808, 9223372036854775807)
        I[i] = select(i < 4, i32(-2147483648), i32(7))
        U[i] = u64(-1) } })");
}

TEST_CASE("what OpenCL 1.2 has no words for is refused by name", "[codegen_opencl]") {
  CHECK(ErrorOf(R"(
    fn swap(A: f32[32], B: f32[32]) lowered {
      for t in 0..32 threadIdx.x { alloc W: f32[32] warp {
        W[t] = A[t]
        barrier(warp)
        B[t] = W[bit_xor(t, 1)] } } })") ==
        "kernel 'swap': warps hold buffer 'W'; target 'opencl' has no warps");
  CHECK(ErrorOf(R"(
    fn sum(A: f32[64], P: f32[64], B: f32[4]) lowered {
      for x in 0..4 blockIdx.x {
        for p in 0..16 blockIdx.y { P[x * 16 + p] = A[x * 16 + p] }
        B[x] = P[x * 16] } })") ==
        "kernel 'sum' goes on behind loops over blocks; blocks of target 'opencl' do not see what "
        "others wrote");
  CHECK(ErrorOf("fn wide(A: f32[512]) lowered { for t in 0..512 threadIdx.x { A[t] = 0 } }") ==
        "kernel 'wide' has 512 x 1 x 1 threads; target 'opencl' allows 256, 256 along z");
  CHECK(ErrorOf(R"(
    fn much(A: f32[64], B: f32[64]) lowered {
      for t in 0..64 threadIdx.x { alloc S: f32[16384] shared {
        S[t] = A[t]
        barrier(shared)
        B[t] = S[63 - t] } } })") ==
        "kernel 'much' needs 65536 bytes of shared memory; target 'opencl' has 32768");
}

TEST_CASE("the judge finds what is no OpenCL C, and what it only warns of", "[codegen_opencl]") {
  CHECK(CheckOpenClText("__kernel void k(__global float* a) { a[0] = 1.0f; }\n").ok());
  CHECK_FALSE(CheckOpenClText("__kernel void k(__global float* a) { a[0] = expf(1.0f); }\n").ok());
  CHECK_FALSE(
      CheckOpenClText("__kernel void k(__global float* a) { int i = 0; a[0] = 1; }\n").ok());
}
