#include "codegen_vdla/instruction_stream.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <variant>

#include "codegen_vdla/dependence_tokens.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/parser.h"
#include "support/random.h"
#include "tests/codegen_vdla/vdla_functions.h"
#include "tests/runtime/vdla_runs.h"

namespace tcc {
namespace {

Function Parsed(const std::string& text) {
  const StatusOr<Function> fn = ParseFunction(text);
  INFO(text << fn.status());
  REQUIRE(fn.ok());
  return *fn;
}

// Runs a function on the machine and by the interpreter on random bytes; results must be equal,
// whatever the delays. Returns the program.
VdlaProgram CheckOnMachine(const Function& lowered, const VdlaConfig& config = {}) {
  StatusOr<VdlaProgram> program = StreamOf(lowered, config);
  INFO(program.status());
  REQUIRE(program.ok());
  const VdlaProgram without_tokens = *program;
  AddTokens(*program, config);
  Random random(7);
  std::vector<Tensor> tensors;
  std::vector<Bytes> buffers;
  for (const Buffer& param : lowered.params) {
    Tensor tensor = MakeZeroTensor(param.dtype(), {*AsConstant(param.shape[0])});
    for (uint8_t& byte : MutableBytes(tensor)) byte = static_cast<uint8_t>(random.Next());
    buffers.emplace_back(tensor.bytes.begin(), tensor.bytes.end());
    tensors.push_back(std::move(tensor));
  }
  const Status status = Interpret(lowered, tensors).status();
  INFO(Message(status));
  REQUIRE(status.ok());
  const StatusOr<VdlaCounts> counts = RunAlways(*program, config, buffers);
  INFO(Message(counts.status()));
  REQUIRE(counts.ok());
  for (size_t i = 0; i < tensors.size(); ++i) {
    CHECK(Bytes(tensors[i].bytes.begin(), tensors[i].bytes.end()) == buffers[i]);
  }
  return without_tokens;
}

std::string RefusalOf(const std::string& text, const VdlaConfig& config = {}) {
  const Status status = StreamOf(Parsed(text), config).status();
  CHECK(status.code() == absl::StatusCode::kUnimplemented);
  return Message(status);
}

// A lowered function of two tiles of 16 channels whose results are bytes. `result` makes them of a
// sum s; channel c has the constants k[c] and b[c].
std::string NarrowedTiles(const std::string& result) {
  return fmt::format(R"(
    fn f(A: i8[16], B: i8[512], k: f32[32], b: f32[32], Y: i8[64]) lowered {{
      alloc A_l: i8[16] local
      alloc B_l: i8[512] local
      alloc C_l: i32[32] local
      for l in 0..16 {{ A_l[l] = A[l] }}
      for w in 0..512 {{ B_l[w] = B[w] }}
      for p in 0..32 {{ C_l[p] = 0 }}
      for o in 0..2 {{
        intrinsic vdla_gemv_16x16 {{ for p in 0..16 {{ for l in 0..16 {{
          C_l[o * 16 + p] = C_l[o * 16 + p] + i32(A_l[l]) * i32(B_l[(o * 16 + p) * 16 + l])
        }} }} }}
      }}
      for o in 0..2 {{ for p in 0..16 {{ Y[32 + o * 16 + p] = {} }} }}
    }})",
                     result);
}
const std::string kSum = "C_l[o * 16 + p]", kChannel = "[o * 16 + p]";

// A lowered function that multiplies rows of 16 bytes, l in row i, which `load` makes of A.
std::string Rows(const std::string& type, int rows, const std::string& load) {
  return fmt::format(R"(
    fn f(A: {type}, B: i8[256], C: i32[{all}]) lowered {{
      alloc A_l: i8[{all}] local
      alloc B_l: i8[256] local
      alloc C_l: i32[{all}] local
      for i in 0..{rows} {{ for l in 0..16 {{ A_l[i * 16 + l] = {load} }} }}
      for w in 0..256 {{ B_l[w] = B[w] }}
      for p in 0..{all} {{ C_l[p] = 0 }}
      for i in 0..{rows} {{ intrinsic vdla_gemv_16x16 {{ for p in 0..16 {{ for l in 0..16 {{
        C_l[i * 16 + p] = C_l[i * 16 + p] + i32(A_l[i * 16 + l]) * i32(B_l[p * 16 + l])
      }} }} }} }}
      for p in 0..{all} {{ C[p] = C_l[p] }}
    }})",
                     fmt::arg("type", type), fmt::arg("rows", rows), fmt::arg("load", load),
                     fmt::arg("all", rows * 16));
}

// A lowered function of one tile with other statements for the load, the reset, the call's store
// and the result.
struct Parts {
  std::string load = "for l in 0..16 { A_l[l] = A[l] }";
  std::string reset = "for p in 0..16 { C_l[p] = 0 }";
  std::string call = "C_l[p] = C_l[p] + i32(A_l[l]) * i32(B_l[p * 16 + l])";
  std::string result = "for p in 0..16 { C[p] = C_l[p] }";
};
std::string OneTile(const Parts& parts) {
  return fmt::format(R"(
    fn f(A: i8[32], B: i8[256], C: i32[16]) lowered {{
      alloc A_l: i8[16] local
      alloc B_l: i8[256] local
      alloc C_l: i32[16] local
      {}
      for w in 0..256 {{ B_l[w] = B[w] }}
      {}
      intrinsic vdla_gemv_16x16 {{ for p in 0..16 {{ for l in 0..16 {{ {} }} }} }}
      {}
    }})",
                     parts.load, parts.reset, parts.call, parts.result);
}

}  // namespace

TEST_CASE("a product of one tile becomes five vdla instructions", "[codegen_vdla][stream]") {
  const VdlaProgram program = CheckOnMachine(Parsed(OneTile({})));
  const VdlaProgram expected = {
      .buffers = 3,
      .micro_ops = {{}},
      .instructions = {
          {.work = VdlaCopy{}},
          {.work = VdlaCopy{.on_chip = VdlaMemory::kWeights, .buffer = 1, .size = {16, 1, 1}}},
          {.work = VdlaGemm{.reset = true, .last = 1}},
          {.work = VdlaGemm{.last = 1}},
          {.work = VdlaCopy{.on_chip = VdlaMemory::kSums, .buffer = 2}}}};
  CHECK(program == expected);
}

TEST_CASE("a tiled product runs on vdla as the interpreter says", "[codegen_vdla][stream]") {
  const VdlaProgram program = CheckOnMachine(TiledProduct());
  // 16 tiles of results: a reset, a store, and twice two loads and a GEMM.
  CHECK(program.instructions.size() == 16 * (2 + 2 * 3));
  // The rows of a tile and one of the blocks are the hardware's loops.
  const auto& gemm = std::get<VdlaGemm>(program.instructions[3].work);
  CHECK(gemm.loops == std::array<uint32_t, 2>{8, 2});
  CHECK(gemm.last - gemm.first == 2);
  CHECK(gemm.steps == std::array<std::array<uint32_t, 2>, 3>{{{2, 0}, {2, 1}, {0, 1}}});
  // The same lists serve all tiles.
  CHECK(program.micro_ops.size() == 3);
  const auto& load = std::get<VdlaCopy>(program.instructions[1].work);
  CHECK(load.size == std::array<uint32_t, 3>{2, 8, 1});
  CHECK(load.stride[0] == 64);
}

TEST_CASE("a padded convolution with strides runs on vdla as the interpreter says",
          "[codegen_vdla][stream]") {
  const VdlaProgram program = CheckOnMachine(PaddedConv({}));
  // The padding of the first tile: a row above, a column on the left.
  const auto is_first = [](const VdlaInstruction& instruction) {
    const auto* copy = std::get_if<VdlaCopy>(&instruction.work);
    return copy != nullptr && copy->on_chip == VdlaMemory::kActivations;
  };
  const auto first = std::ranges::find_if(program.instructions, is_first);
  CHECK(std::get<VdlaCopy>(first->work) ==
        VdlaCopy{.size = {1, 14, 8}, .stride = {32, 448}, .pad = {1, 0, 1, 0}});
  // 4 tiles of results: a reset, a store, and twice two loads and a GEMM.
  CHECK(program.instructions.size() == 4 * (2 + 2 * 3));
  CHECK(program.micro_ops.size() < 100);
}

TEST_CASE("convolutions of many shapes run on vdla as the interpreter says",
          "[codegen_vdla][stream]") {
  for (int stride : {1, 2}) {
    for (int kernel : {1, 3}) {
      for (int rows : {5, 8}) {
        for (int tile : {1, 2, 3}) {
          CAPTURE(stride, kernel, rows, tile);
          CheckOnMachine(PaddedConv({.rows = rows,
                                     .columns = 6,
                                     .kernel = kernel,
                                     .stride = stride,
                                     .tile = tile,
                                     .inputs = 1,
                                     .outputs = 2}));
        }
      }
    }
  }
}

TEST_CASE("results may lie apart, and branches may load", "[codegen_vdla][stream]") {
  CheckOnMachine(Parsed(R"(
    fn f(A: i8[64], B: i8[256], C: i32[128]) lowered {
      alloc A_l: i8[64] local
      alloc B_l: i8[256] local
      alloc C_l: i32[64] local
      for w in 0..16 { for l in 0..16 { B_l[w * 16 + l] = B[w * 16 + l] } }
      for i in 0..4 {
        if i < 3 { for l in 0..16 { A_l[i * 16 + l] = A[48 - i * 16 + l] } }
        else { for l in 0..16 { A_l[i * 16 + l] = 0 } }
        for p in 0..16 { C_l[i * 16 + p] = 0 }
      }
      let odd = 1
      for i in 0..4 {
        intrinsic vdla_gemv_16x16 {
          if i < 3 + odd {
            for l in 0..16 { for p in 0..16 {
              C_l[i * 16 + p] = C_l[i * 16 + p] + i32(B_l[p * 16 + l]) * i32(A_l[i * 16 + l])
            } }
          }
        }
      }
      for i in 0..4 { for p in 0..16 { C[i * 32 + p] = C_l[48 - i * 16 + p] } }
    })"));
}

TEST_CASE("results that are bytes go through the output stage", "[codegen_vdla][stream]") {
  // Numbers are powers of two, so that the interpreter, which keeps doubles, rounds alike.
  const VdlaProgram program = CheckOnMachine(
      Parsed(NarrowedTiles(fmt::format("i8(round(max(f32({}) * 0.0078125, -3.5)))", kSum))));
  REQUIRE(program.outputs.size() == 1);
  CHECK(program.outputs[0] ==
        VdlaOutput{.channels = 16,
                   .steps = {{.op = VdlaOutputOp::kToFloat},
                             {.op = VdlaOutputOp::kMultiply, .number = 0.0078125f},
                             {.op = VdlaOutputOp::kMaximum, .number = -3.5f},
                             {.op = VdlaOutputOp::kRound},
                             {.op = VdlaOutputOp::kToInt8}}});
  CHECK(std::get<VdlaCopy>(program.instructions.back().work) ==
        VdlaCopy{.on_chip = VdlaMemory::kSums,
                 .buffer = 4,
                 .memory_at = 32,
                 .size = {2, 1, 1},
                 .output = 0});
}

TEST_CASE("the output stage reads numbers of channels, and bytes in between",
          "[codegen_vdla][stream]") {
  const std::string scaled = fmt::format("k{} * f32({}) + b{}", kChannel, kSum, kChannel);
  const StatusOr<VdlaProgram> program =
      StreamOf(Parsed(NarrowedTiles(
                   fmt::format("i8(min(f32(i32(u8(round(({}) / 0.25)))) - 1.5, 96.0))", scaled))),
               VdlaConfig());
  INFO(program.status());
  REQUIRE(program.ok());
  REQUIRE(program->outputs.size() == 1);
  CHECK(program->outputs[0] ==
        VdlaOutput{.channels = 32,
                   .steps = {{.op = VdlaOutputOp::kToFloat},
                             {.op = VdlaOutputOp::kMultiply, .is_by_channel = true, .buffer = 2},
                             {.op = VdlaOutputOp::kAdd, .is_by_channel = true, .buffer = 3},
                             {.op = VdlaOutputOp::kDivide, .number = 0.25f},
                             {.op = VdlaOutputOp::kRound},
                             {.op = VdlaOutputOp::kToUint8},
                             {.op = VdlaOutputOp::kToFloat},
                             {.op = VdlaOutputOp::kSubtract, .number = 1.5f},
                             {.op = VdlaOutputOp::kMinimum, .number = 96},
                             {.op = VdlaOutputOp::kToInt8}}});
}

TEST_CASE("results that are a part of each row go out row by row", "[codegen_vdla][stream]") {
  // Two pixels of 32 channels, in rows of 40.
  const VdlaProgram program = CheckOnMachine(Parsed(R"(
    fn f(A: i8[32], B: i8[512], c: i32[32], Y: i32[80]) lowered {
      alloc A_l: i8[32] local
      alloc B_l: i8[512] local
      alloc C_l: i32[64] local
      for l in 0..32 { A_l[l] = A[l] }
      for w in 0..512 { B_l[w] = B[w] }
      for p in 0..64 { C_l[p] = 0 }
      for i in 0..2 { for o in 0..2 { intrinsic vdla_gemv_16x16 {
        for p in 0..16 { for l in 0..16 {
          C_l[i * 32 + o * 16 + p] = C_l[i * 32 + o * 16 + p]
              + i32(A_l[i * 16 + l]) * i32(B_l[(o * 16 + p) * 16 + l])
        } } } } }
      for i in 0..2 { for o in 0..2 { for p in 0..16 {
        Y[i * 40 + o * 16 + p + 8] = C_l[i * 32 + o * 16 + p] + c[o * 16 + p]
      } } }
    })"));
  CHECK(std::get<VdlaCopy>(program.instructions.back().work) ==
        VdlaCopy{.on_chip = VdlaMemory::kSums,
                 .buffer = 3,
                 .memory_at = 8,
                 .size = {2, 2, 1},
                 .stride = {40, 0},
                 .output = 0});
}

TEST_CASE("integers of channels may be added to sums that stay words", "[codegen_vdla][stream]") {
  const VdlaProgram program = CheckOnMachine(Parsed(R"(
    fn f(A: i8[16], B: i8[256], b: i32[16], c: i32[16], C: i32[16]) lowered {
      alloc A_l: i8[16] local
      alloc B_l: i8[256] local
      alloc C_l: i32[16] local
      for l in 0..16 { A_l[l] = A[l] }
      for w in 0..256 { B_l[w] = B[w] }
      for p in 0..16 { C_l[p] = 0 }
      intrinsic vdla_gemv_16x16 { for p in 0..16 { for l in 0..16 {
        C_l[p] = C_l[p] + i32(A_l[l]) * i32(B_l[p * 16 + l])
      } } }
      for p in 0..16 { C[p] = C_l[p] - b[p] + c[p] }
    })"));
  REQUIRE(program.outputs.size() == 1);
  CHECK(program.outputs[0].steps ==
        std::vector<VdlaOutputStep>{
            {.op = VdlaOutputOp::kSubtractInteger, .is_by_channel = true, .buffer = 2},
            {.op = VdlaOutputOp::kAddInteger, .is_by_channel = true, .buffer = 3}});
}

TEST_CASE("unsigned bytes become signed, with padding of any number", "[codegen_vdla][stream]") {
  const VdlaProgram program = CheckOnMachine(Parsed(
      Rows("u8[64]", 6, "select(1 <= i && i < 5, i8(bit_xor(A[i * 16 + l - 16], 128)), -7)")));
  CHECK(std::get<VdlaCopy>(program.instructions[0].work) ==
        VdlaCopy{
            .size = {1, 4, 1}, .stride = {16, 0}, .pad = {1, 1, 0, 0}, .fill = -7, .flips = true});
}

TEST_CASE("padding of two numbers takes several copies", "[codegen_vdla][stream]") {
  const VdlaProgram program = CheckOnMachine(
      Parsed(Rows("i8[32]", 4, "select(i < 1, 3, select(i < 3, A[i * 16 + l - 16], -7))")));
  CHECK(std::get<VdlaCopy>(program.instructions[1].work).fill == -7);
}

TEST_CASE("results that no output stage makes are refused by name", "[codegen_vdla][stream]") {
  const auto refused = [](const std::string& value) {
    const std::string result = fmt::format(fmt::runtime(value), fmt::arg("s", kSum));
    const std::string message = RefusalOf(NarrowedTiles(result));
    return message.substr(message.find("': ") + 3);
  };
  CHECK(refused("i8({s})") == "the output stage has no such conversion");
  CHECK(refused("i8(sqrt(f32({s})))") == "the output stage has no such operation");
  CHECK(refused("i8(f32({s}) * f32({s}))") ==
        "expected a constant or a parameter as an operand of the output stage");
  CHECK(refused("i8(2.0 / f32({s}))") ==
        "expected a constant or a parameter as an operand of the output stage");
  CHECK(refused("i8(f32({s}) * k[o * 16 + 15 - p])") == "expected 16 neighbours in a loop");
  CHECK(refused("i8(f32({s}) * k[o * 16 + p] + b[p])") ==
        "element 0 of 'b', which has 32; expected one channel in all operands");
  CHECK(refused("i8(f32({s}) * k[o * 16 + p] + f32(i32(f32(A[p]))))") ==
        "expected a constant or a parameter as an operand of the output stage");
}

TEST_CASE("conditions on a whole vector are taken", "[codegen_vdla][stream]") {
  CheckOnMachine(Parsed(OneTile({.load = R"(
    for i in 0..1 {
      for l in 0..16 {
        let shift = i * 16 + 16 in {
          if shift < 17 { A_l[l] = select(i == 0, A[l + shift], 0) } else { A_l[l] = 0 }
        }
      }
    })"})));
}

TEST_CASE("what vdla lacks is refused by name", "[codegen_vdla][stream]") {
  CHECK(RefusalOf(OneTile({.load = "for l in 0..16 { A_l[l] = A[l * 2] }"})) ==
        "'A_l[l] = A[l * 2]': expected 16 neighbours in a loop");
  CHECK(RefusalOf(OneTile({.load = "for l in 0..8 { A_l[l] = A[l] }"})) ==
        "'for l in 0..8 { A_l[l] = A[l] }': 8 iterations; expected a multiple of 16");
  CHECK(RefusalOf(OneTile({.load = "for l in 0..16 { A_l[l] = A[l] + 1 }"})) ==
        "'A_l[l] = A[l] + 1': expected a copy of a parameter, or a constant");
  CHECK(RefusalOf(OneTile({.load = "for l in 0..16 { A_l[l] = select(l < 8, A[l], 0) }"})) ==
        "'A_l[l] = select(l < 8, A[l], 0)': expected all elements of a vector to be alike");
  CHECK(RefusalOf(OneTile({.load = "for l in 0..16 { A_l[l] = A[l + 17] }"})) ==
        "'A_l[l] = A[l + 17]': 16 elements at 17 of 'A'; it has 32");
  CHECK(RefusalOf(OneTile({.load = "A_l[0] = A[0]"})) ==
        "'A_l[0] = A[0]': expected an innermost loop over 16 elements");
  CHECK_THAT(RefusalOf(OneTile({.load = R"(
                 for t in 0..1 threadIdx.x { for l in 0..16 { A_l[l] = A[l] } })"})),
             Catch::EndsWith("': expected no loop over threads"));
  CHECK(RefusalOf(OneTile({.load = "barrier(local)"})) ==
        "'barrier(local)': the accelerator has no such statement");
  CHECK(RefusalOf(OneTile({.reset = "for p in 0..16 { C_l[p] = 1 }"})) ==
        "'C_l[p] = 1': expected 0, which is all that sums are set to");
  CHECK(RefusalOf(OneTile({.result = "for p in 0..16 { C[p] = 2 * C_l[p] }"})) ==
        "'C[p] = 2 * C_l[p]': the output stage has no such operation");
  CHECK(RefusalOf(OneTile({.result = "for p in 0..16 { C[p] = i32(A[p]) }"})) ==
        "'C[p] = i32(A[p])': the output stage has no such operation");
  CHECK_THAT(RefusalOf(OneTile({.call = "C_l[p] = C_l[p] + i32(A_l[l]) * i32(B_l[l * 16 + p])"})),
             Catch::EndsWith("': expected 16 neighbours as activations and 16 x 16 as weights"));
  CHECK_THAT(RefusalOf(OneTile({.call = "C_l[l] = i32(A_l[l])"})),
             Catch::EndsWith("': expected two loops round c += a * b"));
}

TEST_CASE("buffers that do not fit vdla's memories are refused by name", "[codegen_vdla][stream]") {
  CHECK(RefusalOf(OneTile({}), {.weight_bytes = 0}) ==
        "buffer 'B_l' needs 16 vectors of the weights; 0 of 0 are left");
  CHECK(RefusalOf(OneTile({.call = "C[p] = C[p] + i32(A_l[l]) * i32(B_l[p * 16 + l])"})) ==
        "parameter 'C' holds sums of vdla_gemv_16x16; expected a local buffer");
  CHECK(RefusalOf(OneTile({.load = "alloc D: i8[16] local; for l in 0..16 { D[l] = A[l] }"})) ==
        "buffer 'D' is no operand of vdla_gemv_16x16");
  CHECK(RefusalOf(OneTile({.call = "C_l[p] = C_l[p] + i32(B_l[l]) * i32(B_l[p * 16 + l])"})) ==
        "buffer 'B_l' holds activations and weights; expected one of both");
  CHECK(RefusalOf(OneTile({}), {.micro_ops = 0}) ==
        "function 'f' needs 1 micro-ops; the machine has room for 0");
}

}  // namespace tcc
