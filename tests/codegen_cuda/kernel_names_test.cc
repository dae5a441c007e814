#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "ir/expr/scalar_op.h"
#include "tests/codegen_cuda/as_interpreted.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;

namespace {

// What a model may call a tensor, and C++, CUDA or a prelude have a meaning for.
const std::vector<std::string>& NastyNames() {
  static const std::vector<std::string> kNames = {
      // C++: keywords, and the standard's alternative spellings.
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
      "case", "catch", "char", "char8_t", "char16_t", "char32_t", "class", "compl", "concept",
      "const", "consteval", "constexpr", "constinit", "const_cast", "continue", "co_await",
      "co_return", "co_yield", "decltype", "default", "delete", "do", "double", "dynamic_cast",
      "else", "enum", "explicit", "export", "extern", "false", "final", "float", "for", "friend",
      "goto", "if", "import", "inline", "int", "long", "module", "mutable", "namespace", "new",
      "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "override", "private",
      "protected", "public", "register", "reinterpret_cast", "requires", "return", "short",
      "signed", "sizeof", "static", "static_assert", "static_cast", "std", "struct", "switch",
      "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename",
      "typeof", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while",
      "xor", "xor_eq",
      // Names that end in a digit or have one letter, which stay what they are.
      "float4", "half2", "dim3", "uint2", "exp2", "exp2f", "log2", "log10", "atan2", "y0", "y1",
      "j0", "j1", "make_float4", "__half2", "M_PI_2", "M_SQRT2", "INT8", "i386", "E", "I", "_1",
      // CUDA and its headers' macros.
      "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "atomicAdd", "atomicOr", "__half",
      "half", "__global__", "__device__", "__shared__", "__align__", "__restrict__",
      "__launch_bounds__", "__syncthreads", "__CUDA_ARCH__", "__shfl_xor_sync", "size_t", "NULL",
      "INT_MAX", "FLT_MAX", "M_E", "NV_IF_TARGET", "CUDART_CB", "linux", "unix", "assert", "min",
      "max", "abs", "printf", "clock", "main",
      // The preludes'.
      "tcc_barrier", "tcc_host", "tcc_widen", "TccF16", "TccVector", "TCC_DEVICE", "TCC_INPUT",
      "tcc", "tcc_dynamic_shared", "v_tcc", "v", "t", "m", "k_inputs", "inputs",
      // What is no identifier at all.
      "1x", "a.b", "a:b", "a_b", "a__b", "a_", "_", "__", "a b", "a//b", "a\\\\", "*/", "?\?/", "é",
      "\\n#error"};
  return kNames;
}

// A store of each function of a type that kernels call, eight cells each.
std::vector<std::string> CallsOfAll(DType dtype) {
  constexpr std::string_view kNames[] = {
#define TCC_NAME(text, op, arity, rule, semantics) text,
      TCC_SCALAR_OPS(TCC_NAME)
#undef TCC_NAME
  };
  std::vector<std::string> calls;
  for (std::string_view name : kNames) {
    ScalarOp op = *FindScalarOp(name);
    if (ResultType(op, dtype) != dtype) continue;
    calls.push_back(fmt::format("Y[i + {}] = {}({})", 8 * calls.size(), name,
                                RowOf(op).arity == 2 ? "X[i], X[i + 8]" : "X[i]"));
  }
  return calls;
}

std::string FunctionOfInputs(const std::string& type) {
  // C's functions as such, and those of floats.
  std::vector<std::string> names = NastyNames();
  for (const char* name :
       {"exp",   "log",  "log1p",    "sqrt",  "sin",   "cos",  "tan",  "asin",  "acos", "atan",
        "sinh",  "cosh", "asinh",    "acosh", "atanh", "tanh", "erf",  "floor", "ceil", "rint",
        "trunc", "fabs", "copysign", "pow",   "fmod",  "fmin", "fmax", "fma"}) {
    names.emplace_back(name);
    names.push_back(std::string(name) + "f");
  }
  std::string text = "fn inputs(";
  for (const std::string& name : names) text += fmt::format("\"{}\": {}[8], ", name, type);
  std::vector<std::string> calls = CallsOfAll(type == "f32" ? kFloat32 : kFloat64);
  text += fmt::format("X: {0}[16], Y: {0}[{1}], S: {0}[8]) lowered {{\n", type, 8 * calls.size());
  text += "  for i in 0..8 threadIdx.x {\n    S[i] = X[i]\n";
  for (const std::string& call : calls) text += fmt::format("    {}\n", call);
  for (const std::string& name : names) text += fmt::format("    S[i] = S[i] + \"{}\"[i]\n", name);
  return text + "  }\n}\n";
}

// A text with `piece`, in which {} is a name, of all names.
std::string FunctionOfAll(const std::string& name, const std::string& piece) {
  std::string text = fmt::format("fn {}(X: f32[8], Y: f32[8]) lowered {{\n", name);
  text += "  for i in 0..8 threadIdx.x {\n    Y[i] = X[i]\n";
  for (const std::string& nasty : NastyNames()) {
    text += fmt::format(fmt::runtime(piece), fmt::format("\"{}\"", nasty));
  }
  return text + "  }\n}\n";
}

}  // namespace

TEST_CASE("inputs called like keywords, macros and functions compile and run", "[codegen_cuda]") {
  for (const char* type : {"f32", "f64"}) {
    std::string text = FunctionOfInputs(type);
    CheckAsInterpreted(text);
    MustCompile(SourceOf({MustParse(text)}));
  }
}

TEST_CASE("variables and buffers called like keywords and macros compile and run",
          "[codegen_cuda]") {
  for (const std::string& text :
       {FunctionOfAll("locals",
                      "    alloc {0}: f32[1] local\n    {0}[0] = X[i]\n"
                      "    Y[i] = Y[i] + {0}[0]\n"),
        FunctionOfAll("loops", "    for {0} in 0..3 {{ Y[i] = Y[i] + f32({0}) }}\n"),
        FunctionOfAll("lets", "    let {0} = Y[i]\n    Y[i] = {0} * {0} * 0.25 + X[i]\n"),
        FunctionOfAll("panels",
                      "    alloc {0}: f32[8] shared\n    {0}[i] = X[i]\n"
                      "    Y[i] = Y[i] + {0}[i]\n")}) {
    CheckAsInterpreted(text);
    MustCompile(SourceOf({MustParse(text)}));
  }
}

TEST_CASE("shapes and threads called like keywords and macros compile", "[codegen_cuda]") {
  std::vector<Function> functions;
  for (const std::string& name : NastyNames()) {
    functions.push_back(MustParse(
        fmt::format("fn shape{0}<shape \"{1}\" in 1..=4096>(X: f32[\"{1}\" * 32], Y: f32[\"{1}\" * "
                    "32]) lowered "
                    "{{ for b in 0..\"{1}\" blockIdx.x {{ for \"{1}t\" in 0..32 threadIdx.x {{ "
                    "Y[b * 32 + \"{1}t\"] = X[b * 32 + \"{1}t\"] * f32(\"{1}\") }} }} }}",
                    functions.size(), name)));
  }
  CudaSource source = SourceOf(functions);
  MustCompile(source);
  Status status = EmulatedProgram::Compile(functions, source).status();
  INFO(Message(status));
  CHECK(status.ok());
}
