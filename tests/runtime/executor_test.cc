#include "runtime/executor/executor.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <thread>

#include "runtime/executor/binding.h"
#include "tests/runtime/kernel_artefact.h"
#include "tests/runtime/loop_plan.h"

using namespace tcc;

namespace {

using Values = std::vector<double>;

Executor MakeExecutor(Artefact artefact, int threads = 2) {
  StatusOr<Module> module =
      Module::FromArtefact(std::move(artefact), {.pool = {}, .threads = threads});
  INFO(Message(module.status()));
  REQUIRE(module.ok());
  return Executor(*std::move(module));
}

// The one output, or the error.
StatusOr<Values> RunOne(Executor& executor, const std::vector<Tensor>& inputs) {
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, executor.Run(inputs));
  return ValuesOf(outputs[0]);
}

// row_sums of x[N][3] (1 <= N <= 8) into y[N].
Artefact RowSumsArtefact() {
  Artefact artefact = KernelArtefact({"row_sums"});
  SizeExpr n = SizeExpr::Variable(0);
  artefact.metadata.shape_variables = {{"N", 1, 8, 4}};
  artefact.metadata.kernels[0].shape_args = {{1, 8}, {3, 3}};
  artefact.metadata.inputs = {{"x", kFloat32, {n, 3}}};
  artefact.metadata.outputs = {{"y", kFloat32, {n}}};
  artefact.plan.shape_variables = 1;
  artefact.plan.arena_bytes = Combine(SizeOp::kMul, n, 12);
  artefact.plan.buffers = {
      {.kind = BufferKind::kInput, .offset = 0, .bytes = Combine(SizeOp::kMul, n, 12)},
      {.kind = BufferKind::kArena, .offset = 0, .bytes = Combine(SizeOp::kMul, n, 12)},
      {.kind = BufferKind::kOutput, .offset = 0, .bytes = Combine(SizeOp::kMul, n, 4)}};
  artefact.plan.body = {{PlanCopy{0, 1}}, {PlanCall{0, {1, 2}, {n, 3}}}};
  return artefact;
}

Artefact LoopArtefact() {
  Artefact artefact = KernelArtefact({"step"});
  DescribeLoop(artefact, 64);
  return artefact;
}

double LoopByHand(double state, int64_t most, bool goes_on) {
  for (int64_t i = 0; i < std::min<int64_t>(12, most) && goes_on; ++i) {
    state = 2 * state + static_cast<double>(i);
    goes_on = state < 1000;
  }
  return state;
}

}  // namespace

TEST_CASE("an artefact written to a file is loaded and run", "[runtime][executor]") {
  auto path = std::filesystem::temp_directory_path() / "tcc_executor_test.tcc";
  REQUIRE(WriteArtefact(ScaleAddArtefact(), path).ok());
  StatusOr<Module> module = Module::Load(path, {.pool = {}, .threads = 2});
  std::filesystem::remove(path);
  REQUIRE(module.ok());
  Executor executor(*module);
  for (int run = 0; run < 3; ++run) {
    CHECK(*RunOne(executor, {Floats({4}, {10, 20, 30, 40})}) == Values{14, 28, 42, 56});
  }
  CHECK(*RunOne(executor, {Floats({4}, {0, 0, 0, 0})}) == Values{4, 8, 12, 16});
}

TEST_CASE("inputs that do not fit are refused with what was expected and what came",
          "[runtime][executor]") {
  Executor executor = MakeExecutor(ScaleAddArtefact());
  auto refusal = [&](const std::vector<Tensor>& inputs) {
    return Message(executor.Run(inputs).status());
  };
  CHECK(refusal({}) == "expected 1 inputs (x), got 0");
  CHECK(refusal({Floats({5}, {})}) == "input 'x': expected f32[4], got f32[5]");
  CHECK(refusal({Floats({2, 2}, {})}) == "input 'x': expected f32[4], got f32[2x2]");
  CHECK(refusal({MakeZeroTensor(kInt32, {4})}) == "input 'x': expected f32[4], got i32[4]");
  Tensor forged = Floats({4}, {});
  forged.bytes = forged.bytes.first(8);
  CHECK(refusal({forged}) == "'x': f32[4] takes 16 bytes, got 8");
}

TEST_CASE("bound tensors are read and written anew by each run, copied only if not aligned",
          "[runtime][executor]") {
  Executor executor = MakeExecutor(ScaleAddArtefact());
  alignas(64) std::array<uint8_t, 128> memory{};
  for (size_t shift : {0, 4, 1}) {
    INFO("shift " << shift);
    Tensor x = Floats({4}, {1, 1, 1, 1}), y = x;
    x.bytes = {memory.data() + shift, 16};
    y.bytes = {memory.data() + 64 + shift, 16};
    StatusOr<Executor::Bound> bound = executor.Bind({x}, {y});
    REQUIRE(bound.ok());
    for (float value : {1.0f, 10.0f}) {
      std::ranges::copy(Floats({4}, {value, 0, 0, 0}).bytes, MutableBytes(x).begin());
      REQUIRE(executor.RunBound(*bound).ok());
      CHECK(ValuesOf(y) == *RunOne(executor, {Floats({4}, {value, 0, 0, 0})}));
    }
    REQUIRE(executor.RunBound(*bound).ok());
    CHECK(executor.copies().tensors == (shift == 1 ? 2 : 0));
  }
  Tensor x = Floats({4}, {}), wrong = Floats({3}, {});
  CHECK(Message(executor.Bind({x}, {wrong}).status()) == "output 'y': expected f32[4], got f32[3]");
}

TEST_CASE("inputs are arranged by name", "[runtime][executor]") {
  Metadata metadata = LoopArtefact().metadata;
  Tensor x = Floats({1}, {5}), m = MakeZeroTensor(kInt64, {}), go = MakeZeroTensor(kBool, {});
  StatusOr<std::vector<Tensor>> inputs = ArrangeInputs(metadata, {{"go", go}, {"x", x}, {"m", m}});
  REQUIRE(inputs.ok());
  CHECK((*inputs)[0].bytes.data() == x.bytes.data());
  CHECK((*inputs)[2].bytes.data() == go.bytes.data());
  auto refusal = [&](std::vector<std::pair<std::string, Tensor>> named) {
    return Message(ArrangeInputs(metadata, std::move(named)).status());
  };
  CHECK(refusal({{"z", x}}) == "the model has no input 'z'; expected x, m, go");
  CHECK(refusal({{"x", x}, {"x", x}}) == "input 'x' is given twice");
  CHECK(refusal({{"x", x}, {"go", go}}) == "input 'm' is missing; expected i64[]");
}

TEST_CASE("a run copies only tensors that are not at a multiple of their element's size",
          "[runtime][executor]") {
  Executor executor = MakeExecutor(ScaleAddArtefact());
  std::vector<uint8_t> memory(256, 0xee);
  for (size_t shift : {0, 4, 16, 20, 60, 1, 2}) {
    INFO("shift " << shift);
    size_t base = 64 - reinterpret_cast<uintptr_t>(memory.data()) % 64;
    Tensor x = Floats({4}, {1, 1, 1, 1}), shifted = x, y = x;
    std::ranges::copy(x.bytes, memory.begin() + static_cast<ptrdiff_t>(base + shift));
    shifted.bytes = {memory.data() + base + shift, 16};
    y.bytes = {memory.data() + base + shift + 64, 16};
    REQUIRE(executor.RunInto({&shifted, 1}, {&y, 1}).ok());
    CHECK(executor.copies().tensors == (shift % 4 == 0 ? 0 : 2));
    CHECK(executor.copies().bytes == (shift % 4 == 0 ? 0 : 32));
    CHECK(ValuesOf(y) == Values{5, 9, 13, 17});
    CHECK(memory[base + shift + 63] == 0xee);
    CHECK(memory[base + shift + 80] == 0xee);
    std::ranges::fill(memory, 0xee);
  }
  Tensor x = Floats({4}, {}), wrong = Floats({3}, {});
  CHECK(Message(executor.RunInto({&x, 1}, {&wrong, 1})) ==
        "output 'y': expected f32[4], got f32[3]");
  CHECK(Message(executor.RunInto({&x, 1}, {})) == "expected 1 outputs, got 0");
  CHECK(Message(executor.Enqueue({&x, 1}, {&x, 1}, nullptr)) ==
        "the module is for 'x86-64-v3', whose kernels run on host memory; expected a GPU");
}

TEST_CASE("a model with a free dimension runs at every size in its range", "[runtime][executor]") {
  Executor executor = MakeExecutor(RowSumsArtefact());
  for (int64_t n : {3, 8, 1, 5}) {
    Values values, sums;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < 3; ++j) values.push_back(static_cast<double>(10 * i + j));
      sums.push_back(static_cast<double>(30 * i + 3));
    }
    CHECK(*RunOne(executor, {Floats({n, 3}, values)}) == sums);
  }
  CHECK(Message(RunOne(executor, {Floats({9, 3}, {})}).status()) ==
        "input 'x': dimension N is 9; expected 1 to 8");
  CHECK(Message(RunOne(executor, {Floats({2, 4}, {})}).status()) ==
        "input 'x': expected f32[Nx3], got f32[2x4]");
}

TEST_CASE("extents that depend on a dimension are checked when it is known",
          "[runtime][executor]") {
  Artefact artefact = RowSumsArtefact();
  artefact.plan.arena_bytes = 64;  // enough for N <= 5
  Executor executor = MakeExecutor(std::move(artefact));
  CHECK(RunOne(executor, {Floats({5, 3}, {})}).ok());
  CHECK(Message(RunOne(executor, {Floats({6, 3}, {})}).status()) ==
        "plan: buffer 1: 72 bytes at 0 do not lie within 64 bytes");
}

TEST_CASE("a model for listed sizes refuses others by what it takes", "[runtime][executor]") {
  Artefact artefact = RowSumsArtefact();
  artefact.metadata.sizes = {{2}, {5}, {8}};
  Executor executor = MakeExecutor(artefact);
  CHECK(RunOne(executor, {Floats({5, 3}, {})}).ok());
  CHECK(Message(RunOne(executor, {Floats({3, 3}, {})}).status()) ==
        "input 'x': dimension N is 3; expected 2, 5 or 8");
}

TEST_CASE("two inputs must agree on a dimension", "[runtime][executor]") {
  Artefact artefact = RowSumsArtefact();
  artefact.metadata.inputs.push_back({"z", kFloat32, {SizeExpr::Variable(0)}});
  Executor executor = MakeExecutor(std::move(artefact));
  CHECK(RunOne(executor, {Floats({2, 3}, {}), Floats({2}, {})}).ok());
  CHECK(Message(RunOne(executor, {Floats({2, 3}, {}), Floats({4}, {})}).status()) ==
        "input 'z': dimension N is 4, but another input has 2");
}

TEST_CASE("an input's dimension may be a formula over dimensions of other inputs",
          "[runtime][executor]") {
  Artefact artefact = RowSumsArtefact();
  SizeExpr doubled = Combine(SizeOp::kMul, SizeExpr::Variable(0), 2);
  artefact.metadata.inputs.insert(artefact.metadata.inputs.begin(), {"z", kFloat32, {doubled}});
  artefact.plan.buffers[0].index = 1;
  Executor executor = MakeExecutor(std::move(artefact));
  CHECK(RunOne(executor, {Floats({4}, {}), Floats({2, 3}, {})}).ok());
  CHECK(Message(RunOne(executor, {Floats({5}, {}), Floats({2, 3}, {})}).status()) ==
        "input 'z': dimension 0 is 5, but N * 2 of the other inputs is 4");
}

TEST_CASE("a size that a kernel was not made for is refused", "[runtime][executor]") {
  Artefact artefact = RowSumsArtefact();
  artefact.metadata.kernels[0].shape_args[0].high = 4;
  Executor executor = MakeExecutor(std::move(artefact));
  CHECK(RunOne(executor, {Floats({4, 3}, {})}).ok());
  CHECK(Message(RunOne(executor, {Floats({5, 3}, {})}).status()) ==
        "size 0 of row_sums is 5; expected 1 to 4");
}

TEST_CASE("a check that does not hold is told before anything is written", "[runtime][executor]") {
  Artefact artefact = RowSumsArtefact();
  artefact.plan.lets = {Combine(SizeOp::kMod, SizeExpr::Variable(0), 2)};
  artefact.plan.checks = {{Combine(SizeOp::kEqual, SizeExpr::Variable(1), 0), "N is even"}};
  Executor executor = MakeExecutor(std::move(artefact));
  Tensor y = Floats({3}, {7, 7, 7});
  CHECK(Message(executor.RunInto({{Floats({3, 3}, {})}}, {&y, 1})) == "N is even");
  CHECK(ValuesOf(y) == Values{7, 7, 7});
  CHECK(*RunOne(executor, {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}) == Values{6, 15});
}

TEST_CASE("a switch runs the body that a formula over the sizes names", "[runtime][executor]") {
  Artefact artefact = RowSumsArtefact();
  // One row is copied from the input, without its sum.
  artefact.plan.buffers.push_back({.kind = BufferKind::kInput,
                                   .offset = 0,
                                   .bytes = Combine(SizeOp::kMul, SizeExpr::Variable(0), 4)});
  SizeExpr which = Combine(SizeOp::kSub, SizeExpr::Variable(0), 1);
  artefact.plan.body = {{PlanSwitch{which, {{{PlanCopy{3, 2}}}, artefact.plan.body}}}};
  Executor executor = MakeExecutor(std::move(artefact));
  CHECK(*RunOne(executor, {Floats({1, 3}, {1, 2, 3})}) == Values{1});
  CHECK(*RunOne(executor, {Floats({2, 3}, {1, 2, 3, 4, 5, 6})}) == Values{6, 15});
  CHECK(Message(RunOne(executor, {Floats({3, 3}, {})}).status()) ==
        "plan switches to body 2; there are 2");
}

TEST_CASE("more shapes than are kept give what each of them gives alone", "[runtime][executor]") {
  Executor executor = MakeExecutor(RowSumsArtefact());
  for (int round = 0; round < 2; ++round) {
    for (int64_t n : {1, 8, 2, 7, 3, 6, 4, 5, 1, 1, 8}) {
      Values ones(static_cast<size_t>(3 * n), 1);
      CHECK(*RunOne(executor, {Floats({n, 3}, ones)}) == Values(static_cast<size_t>(n), 3));
    }
  }
}

TEST_CASE("the latest shapes are kept, the others are evaluated again", "[runtime][executor]") {
  Plan plan = RowSumsArtefact().plan;
  RunSizesByShape sizes(plan);
  auto address = [&](int64_t n) {
    StatusOr<std::shared_ptr<const RunSizes>> found = sizes.For({{n}});
    REQUIRE(found.ok());
    CHECK((*found)->arena_bytes == 12 * n);
    return found->get();
  };
  const RunSizes* first = address(1);
  for (int64_t n = 2; n <= int64_t{RunSizesByShape::kMostShapes}; ++n) CHECK(address(n) != first);
  CHECK(address(1) == first);
  const RunSizes* second = address(2);
  CHECK(address(100) != first);  // takes the place of 3
  CHECK(address(1) == first);
  CHECK(address(2) == second);
}

TEST_CASE("a loop carries its state, counts, and ends by count or condition",
          "[runtime][executor]") {
  Executor executor = MakeExecutor(LoopArtefact());
  for (int64_t most : {-3, 0, 1, 2, 3, 7, 12, 100}) {
    for (double start : {0.0, 1.0, 7.0, 900.0}) {
      for (bool goes_on : {true, false}) {
        INFO("at most " << most << " from " << start << ", " << goes_on);
        Tensor m = MakeZeroTensor(kInt64, {}), go = MakeZeroTensor(kBool, {});
        SetElementInt(m, 0, most);
        SetElementInt(go, 0, goes_on);
        CHECK(*RunOne(executor, {Floats({1}, {start}), m, go}) ==
              Values{LoopByHand(start, most, goes_on)});
      }
    }
  }
}

TEST_CASE("a branch runs the side that its condition names", "[runtime][executor]") {
  Artefact artefact = KernelArtefact({"is_negative"});
  artefact.metadata.inputs = {StaticTensor("x", kFloat32, {1}), StaticTensor("a", kFloat32, {1}),
                              StaticTensor("b", kFloat32, {1})};
  artefact.metadata.outputs = {StaticTensor("y", kFloat32, {1})};
  artefact.plan.arena_bytes = 64;
  artefact.plan.buffers = {{.kind = BufferKind::kInput, .index = 0, .offset = 0, .bytes = 4},
                           {.kind = BufferKind::kInput, .index = 1, .offset = 0, .bytes = 4},
                           {.kind = BufferKind::kInput, .index = 2, .offset = 0, .bytes = 4},
                           {.kind = BufferKind::kArena, .offset = 0, .bytes = 1},
                           {.kind = BufferKind::kOutput, .offset = 0, .bytes = 4}};
  artefact.plan.body = {{PlanCall{0, {0, 3}, {}}},
                        {PlanIf{3, {{PlanCopy{1, 4}}}, {{PlanCopy{2, 4}}}}}};
  Executor executor = MakeExecutor(std::move(artefact));
  auto run = [&](double x) {
    return *RunOne(executor, {Floats({1}, {x}), Floats({1}, {11}), Floats({1}, {22})});
  };
  CHECK(run(-1) == Values{11});
  CHECK(run(1) == Values{22});
}

TEST_CASE("kernels reach the runtime's functions", "[runtime][executor]") {
  Artefact artefact = ScaleAddArtefact();
  artefact.metadata.kernels[0].name = "exponential";
  artefact.metadata.kernels[0].shape_args = {};
  artefact.plan.body = {{PlanCall{0, {0, 3}, {}}}};
  Executor executor = MakeExecutor(std::move(artefact));
  CHECK((*RunOne(executor, {Floats({4}, {1})}))[0] == Approx(std::exp(1.0)));
}

TEST_CASE("a kernel that fails is named", "[runtime][executor]") {
  Artefact artefact = ScaleAddArtefact();
  artefact.metadata.kernels[0].name = "fails";
  Executor failing = MakeExecutor(artefact);
  CHECK(Message(RunOne(failing, {Floats({4}, {})}).status()) ==
        "fails: a kernel failed with code 7");
  artefact.metadata.kernels[0].name = "needs_too_much";
  Executor hungry = MakeExecutor(artefact);
  Status status = RunOne(hungry, {Floats({4}, {})}).status();
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  CHECK(Message(status) == "needs_too_much: a kernel found no memory for its workspace");
}

TEST_CASE("an arena that no machine has is an error, not a crash", "[runtime][executor]") {
  Artefact artefact = ScaleAddArtefact();
  artefact.plan.arena_bytes = int64_t{1} << 60;
  Executor executor = MakeExecutor(std::move(artefact));
  Status status = RunOne(executor, {Floats({4}, {})}).status();
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  CHECK_THAT(Message(status),
             Catch::Matchers::StartsWith(
                 "no memory for the activations, which takes 1152921504606846976 bytes; "));
}

TEST_CASE("executors of one module run at the same time and share its weights",
          "[runtime][executor]") {
  StatusOr<Module> module = Module::FromArtefact(ScaleAddArtefact(), {.pool = {}, .threads = 3});
  REQUIRE(module.ok());
  std::atomic<int> wrong{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 3; ++user) {
    users.emplace_back([&, user] {
      Executor executor(*module);
      Tensor x = Floats({4}, {1.0 * user, 0, 0, 0});
      for (int run = 0; run < 2000; ++run) {
        StatusOr<Values> y = RunOne(executor, {x});
        if (!y.ok() || *y != Values{4.0 + user, 8, 12, 16}) ++wrong;
      }
    });
  }
  for (std::thread& user : users) user.join();
  CHECK(wrong == 0);
}

TEST_CASE("two modules with kernels of the same name keep their own code", "[runtime][executor]") {
  Artefact other = ScaleAddArtefact();
  other.kernels = OtherTestKernels();
  Executor first = MakeExecutor(ScaleAddArtefact()), second = MakeExecutor(std::move(other));
  CHECK(*RunOne(first, {Floats({4}, {})}) == Values{4, 8, 12, 16});
  CHECK(*RunOne(second, {Floats({4}, {})}) == Values{6, 12, 18, 24});
}

TEST_CASE("the call hook sees every kernel in order, and what it has written",
          "[runtime][executor]") {
  Executor executor = MakeExecutor(ScaleAddArtefact());
  std::vector<size_t> calls;
  std::vector<Values> written;
  double seconds = 0;
  executor.set_call_hook([&](const EndedCall& ended) {
    calls.push_back(ended.call.kernel);
    seconds += ended.seconds;
    Tensor result = MakeZeroTensor(kFloat32, {4});
    CHECK(executor.Fetch(ended, 2, MutableBytes(result)).ok());
    written.push_back(ValuesOf(result));
  });
  REQUIRE(RunOne(executor, {Floats({4}, {10, 20, 30, 40})}).ok());
  CHECK(calls == std::vector<size_t>{0, 0});
  CHECK(written == std::vector<Values>{{12, 24, 36, 48}, {14, 28, 42, 56}});
  CHECK(seconds > 0);
  executor.set_call_hook({});
  REQUIRE(RunOne(executor, {Floats({4}, {})}).ok());
  CHECK(calls.size() == 2);
}
