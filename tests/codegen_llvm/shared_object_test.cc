#include <elf.h>
#include <stdlib.h>

#include <algorithm>
#include <map>

#include "tests/codegen_llvm/kernel_rig.h"

namespace tcc::test {
namespace {

// y = f(x) over vectors of 16, with what makes LLVM wish for a library: fused products, fills,
// copies and conversions.
Function Busy(const std::string& name, ScalarOp op, DType dtype) {
  constexpr int kLanes = 16;
  constexpr int64_t kCount = 512;
  Buffer x = FlatBuffer("X", dtype, kCount);
  Buffer y = FlatBuffer("Y", dtype, kCount);
  Buffer w = FlatBuffer("W", dtype, kCount, Scope::kLocal);
  Var i = LoopVar("i");
  Var j = LoopVar("j");
  Var k = LoopVar("k");
  Var l = LoopVar("l");
  auto at = [](const Var& v) { return Lanes(Expr(v) * Expr(kLanes), kLanes); };
  Expr loaded = LoadOf(x, at(j));
  std::vector<Expr> args(RowOf(op).arity, loaded);
  Expr value = CastTo(dtype.WithLanes(kLanes), CallOf(op, args));
  Stmt body = SeqOf({
      Loop(i, kCount, StoreTo(w, i, Const(dtype, 0))),
      Loop(j, kCount / kLanes, StoreTo(w, at(j), LoadOf(w, at(j)) + value), ForKind::kParallel),
      Loop(k, kCount, StoreTo(y, k, LoadOf(w, k))),
      Loop(l, 3, StoreTo(y, l, LoadOf(y, l) * LoadOf(x, l) + LoadOf(x, Expr(l) + Expr(1)))),
  });
  return LoweredFunction(name, {x, y}, MakeStmt<Allocate>(w, body));
}

std::vector<Function> EveryOp() {
  std::vector<Function> kernels;
  auto add = [&](std::string_view text, ScalarOp op) {
    for (std::string_view type : {"f32", "f64", "f16", "bf16", "i8", "i32", "u64"}) {
      DType dtype = *ParseDType(type);
      if (!ResultType(op, dtype)) continue;
      kernels.push_back(Busy(std::string(text) + "_" + std::string(type), op, dtype));
    }
  };
#define TCC_ADD(text, op, arity, rule, semantics) add(text, ScalarOp::op);
  TCC_SCALAR_OPS(TCC_ADD)
#undef TCC_ADD
  return kernels;
}

struct DynamicSection {
  int needed = 0;
  int undefined = 0;
  std::vector<std::string> exported;
};

DynamicSection ReadDynamic(const std::vector<uint8_t>& image) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image.data() + header->e_shoff);
  DynamicSection result;
  for (int s = 0; s < header->e_shnum; ++s) {
    const uint8_t* data = image.data() + sections[s].sh_offset;
    if (sections[s].sh_type == SHT_DYNAMIC) {
      const auto* entries = reinterpret_cast<const Elf64_Dyn*>(data);
      for (int i = 0; entries[i].d_tag != DT_NULL; ++i)
        result.needed += entries[i].d_tag == DT_NEEDED;
    }
    if (sections[s].sh_type == SHT_DYNSYM) {
      const auto* symbols = reinterpret_cast<const Elf64_Sym*>(data);
      const char* names =
          reinterpret_cast<const char*>(image.data() + sections[sections[s].sh_link].sh_offset);
      for (size_t i = 1; i < sections[s].sh_size / sizeof(Elf64_Sym); ++i) {
        if (symbols[i].st_shndx == SHN_UNDEF) {
          ++result.undefined;
        } else {
          result.exported.push_back(names + symbols[i].st_name);
        }
      }
    }
  }
  return result;
}

bool Contains(const std::vector<uint8_t>& image, std::string_view text) {
  return std::string_view(reinterpret_cast<const char*>(image.data()), image.size()).find(text) !=
         std::string_view::npos;
}

}  // namespace

TEST_CASE("a shared object of every scalar op exports its kernels and needs nothing",
          "[codegen_llvm]") {
  std::vector<Function> kernels = EveryOp();
  for (const char* name : {"native", "x86-64-v3", "x86-64-v4", "aarch64-v8.2", "aarch64-v8.6",
                           "aarch64-sve", "aarch64-sve256"}) {
    INFO(name);
    std::vector<uint8_t> image = ImageOf(kernels, 2, FindTarget(name).value());
    DynamicSection dynamic = ReadDynamic(image);
    CHECK(dynamic.needed == 0);
    CHECK(dynamic.undefined == 0);
    std::ranges::sort(dynamic.exported);
    std::vector<std::string> expected;
    for (const Function& kernel : kernels) expected.push_back(kernel.name);
    std::ranges::sort(expected);
    CHECK(dynamic.exported == expected);
  }
}

TEST_CASE("a shared object is the same for any number of threads and names no file",
          "[codegen_llvm]") {
  std::vector<Function> kernels = {Busy("a", ScalarOp::kExp, kFloat32),
                                   Busy("b", ScalarOp::kErf, kFloat32),
                                   Busy("c", ScalarOp::kPow, kFloat32)};
  std::vector<uint8_t> one = ImageOf(kernels, 1);
  REQUIRE(setenv("TMPDIR", "/var/tmp", 1) == 0);
  std::vector<uint8_t> three = ImageOf(kernels, 3);
  REQUIRE(unsetenv("TMPDIR") == 0);
  CHECK(one == three);
  CHECK_FALSE(Contains(one, "tcc-link"));
  CHECK_FALSE(Contains(one, "/tmp"));
}

TEST_CASE("no folder for temporary files is needed", "[codegen_llvm]") {
  REQUIRE(setenv("TMPDIR", "/nonexistent/folder", 1) == 0);
  auto compiled = MakeLlvmBackend(NativeTarget())
                      ->Compile({{Busy("a", ScalarOp::kExp, kFloat32)}}, {.threads = 1});
  REQUIRE(unsetenv("TMPDIR") == 0);
  CHECK(compiled.status() == OkStatus());
}

TEST_CASE("kernels are given as text, and unknown stages and targets are refused",
          "[codegen_llvm]") {
  LoweredModule module{{Busy("a", ScalarOp::kExp, kFloat32)}};
  std::unique_ptr<Backend> backend = MakeLlvmBackend(NativeTarget());
  CHECK(backend->Emit(module, "source")->find("define i32 @a(") != std::string::npos);
  CHECK(backend->Emit(module, "asm")->find("vfmadd") != std::string::npos);
  CHECK(backend->Emit(module, "ptx").status().code() == absl::StatusCode::kFailedPrecondition);
  Target reference = FindTarget("reference").value();
  CHECK_FALSE(MakeLlvmBackend(reference)->Compile(module, {}).ok());
}

TEST_CASE("statistics give each kernel's size of code", "[codegen_llvm]") {
  std::vector<Function> kernels = {Busy("small", ScalarOp::kAbs, kFloat32),
                                   Busy("large", ScalarOp::kPow, kFloat32)};
  auto compiled = MakeLlvmBackend(NativeTarget())->Compile({kernels}, {});
  REQUIRE(compiled.ok());
  REQUIRE(compiled->kernels.size() == 2);
  auto code_bytes = [&](size_t i) { return compiled->kernels[i].statistics[0].second; };
  CHECK(code_bytes(0) > 100);
  CHECK(code_bytes(1) > code_bytes(0));
}

// Returns the statistics of the only kernel by their keys.
std::map<std::string, int64_t> StatisticsOf(const Function& fn) {
  auto compiled = MakeLlvmBackend(NativeTarget())->Compile({{fn}}, {});
  REQUIRE(compiled.ok());
  const auto& statistics = compiled->kernels[0].statistics;
  CHECK(std::ranges::is_sorted(statistics));
  return {statistics.begin(), statistics.end()};
}

TEST_CASE("statistics give the scratch memory that one thread holds at once", "[codegen_llvm]") {
  auto workspace = [](const std::string& name, const Expr& elements, const Stmt& body) {
    return MakeStmt<Allocate>(FlatBuffer(name, kFloat32, elements), body);
  };
  Buffer y = FlatBuffer("Y", kFloat32, 10);
  Stmt nothing = StoreTo(y, 0, Const(kFloat32, 1));
  auto scratch = [&](const Stmt& body, std::vector<Var> vars = {}) {
    return StatisticsOf(LoweredFunction("f", {y}, body, std::move(vars))).at("scratch_bytes");
  };
  CHECK(scratch(workspace("small", 1000, nothing)) == 0);  // on the stack
  CHECK(scratch(workspace("a", 2001, nothing)) == 8064);   // rounded up to 64
  // One after another they take the larger one's, one in another both.
  Stmt in_turn = SeqOf({workspace("a", 2000, nothing), workspace("b", 3000, nothing)});
  CHECK(scratch(in_turn) == 12032);
  CHECK(scratch(workspace("a", 2000, workspace("b", 3000, nothing))) == 8000 + 12032);
  // The calling thread takes part in a parallel loop.
  Var i = LoopVar("i");
  Stmt loop =
      Loop(i, 10, workspace("b", 3000, StoreTo(y, i, Const(kFloat32, 1))), ForKind::kParallel);
  CHECK(scratch(workspace("a", 2000, loop)) == 8000 + 12032);
  // A size that depends on a shape takes what the shape's bounds allow.
  Var n = ShapeVar("n", 1, 100);
  CHECK(scratch(workspace("a", Expr(n) * Expr(100), nothing), {n}) == 40000);
}

TEST_CASE("statistics give the functions that a kernel calls in the runtime", "[codegen_llvm]") {
  auto functions = [](ScalarOp op, DType dtype) {
    return StatisticsOf(Busy("f", op, dtype)).at("math_functions");
  };
  CHECK(functions(ScalarOp::kExp, kFloat32) == 0);
  CHECK(functions(ScalarOp::kExp, kFloat64) == 1 << TCC_MATH_EXP);
  CHECK(functions(ScalarOp::kTan, kFloat32) == 1 << TCC_MATH_TAN);
  CHECK(functions(ScalarOp::kSin, kFloat32) == 1 << TCC_MATH_SIN);  // of large angles
}

TEST_CASE("an object for 512-bit targets uses 512-bit registers and one for v3 does not",
          "[codegen_llvm]") {
  LoweredModule module{{Busy("a", ScalarOp::kSqrt, kFloat32)}};
  auto text = [&](const char* target) {
    return MakeLlvmBackend(FindTarget(target).value())->Emit(module, "asm").value();
  };
  CHECK(text("x86-64-v4").find("vsqrtps\t") != std::string::npos);
  CHECK(text("x86-64-v4").find("%zmm") != std::string::npos);
  CHECK(text("x86-64-v3").find("%zmm") == std::string::npos);
  CHECK(text("x86-64-v3").find("%ymm") != std::string::npos);
}

}  // namespace tcc::test
