#include "runtime/artefact/plan.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>

#include "support/random.h"
#include "tests/runtime/sample_artefact.h"

using namespace tcc;

namespace {

Status Verify(const Artefact& artefact) {
  return VerifyPlan(artefact.plan, artefact.metadata,
                    static_cast<int64_t>(artefact.weights.bytes.size()));
}

// The sample with a change, or why it is refused.
std::string Refusal(const std::function<void(Plan&)>& change) {
  Artefact artefact = SampleArtefact();
  change(artefact.plan);
  return Message(Verify(artefact));
}

Instruction Nested(int depth) {
  if (depth == 0) return {PlanCopy{2, 3}};
  return {PlanLoop{.counter = static_cast<uint32_t>(depth - 1),
                   .extent = 1,
                   .trip_count = {},
                   .condition = {},
                   .swaps = {},
                   .body = {Nested(depth - 1)}}};
}

// The metadata of RichPlan, whose kernel takes a size.
Metadata RichMetadata() {
  Metadata metadata = SampleArtefact().metadata;
  metadata.kernels[0].shape_args = {{0, 8}};
  return metadata;
}

// Every kind of instruction and expression.
Plan RichPlan() {
  Plan plan = SampleArtefact().plan;
  plan.lets = {5, Combine(SizeOp::kMod, SizeExpr::Variable(0), 3)};
  plan.checks = {{Combine(SizeOp::kLess, SizeExpr::Variable(1), 3), "expected fewer than 3"}};
  plan.counters = 1;
  std::get<PlanCall>(plan.body[0].op).shape_args = {SizeExpr::Variable(1)};
  plan.buffers.push_back({.kind = BufferKind::kArena, .offset = 16, .bytes = 16});
  plan.buffers.push_back({.kind = BufferKind::kArena, .offset = 32, .bytes = 8});
  plan.buffers.push_back({.kind = BufferKind::kArena, .offset = 40, .bytes = 1});
  plan.buffers.push_back({.kind = BufferKind::kArena,
                          .offset = Combine(SizeOp::kMul, SizeExpr::Variable(2), 16),
                          .bytes = 16});
  PlanLoop loop{
      .counter = 0, .extent = 3, .trip_count = 5, .condition = 6, .swaps = {{2, 4}}, .body = {}};
  loop.body = {{PlanCall{0, {0, 1, 2}, {SizeExpr::Variable(2)}}}, {PlanCopy{0, 7}}};
  plan.body.push_back({loop});
  plan.body.push_back({PlanIf{6, {{PlanCopy{0, 2}}}, {{PlanCopy{1, 2}}}}});
  SizeExpr which = SelectSize(Combine(SizeOp::kEqual, SizeExpr::Variable(0), 5), 1, 0);
  plan.body.push_back({PlanSwitch{which, {{{PlanCopy{0, 2}}}, {}}}});
  return plan;
}

}  // namespace

TEST_CASE("a plan of every instruction survives encoding", "[runtime][plan]") {
  Plan plan = RichPlan();
  CHECK(Message(VerifyPlan(plan, RichMetadata(), 16)).empty());
  std::vector<uint8_t> bytes = PlanBytes(plan);
  StatusOr<Plan> back = ParsePlan(bytes);
  REQUIRE(back.ok());
  CHECK(PlanBytes(*back) == bytes);
  CHECK(ToString(*back) == ToString(plan));
  const std::string names[] = {"add"};
  CHECK(ToString(plan, names) == R"(let v0 = 5
let v1 = mod(v0, 3)
check (v1 < 3): expected fewer than 3
arena 64 bytes
b0 = input 0 at 0, 16 bytes
b1 = weights at 0, 16 bytes
b2 = arena at 0, 16 bytes
b3 = output 0 at 0, 16 bytes
b4 = arena at 16, 16 bytes
b5 = arena at 32, 8 bytes
b6 = arena at 40, 1 bytes
b7 = arena at v2 * 16, 16 bytes
call add(b0, b1, b2, v1)
copy b2 -> b3
loop c0 in 0..3 at most b5 while b6 swap b2 b4
  call add(b0, b1, b2, v2)
  copy b0 -> b7
if b6
  copy b0 -> b2
else
  copy b1 -> b2
switch select((v0 == 5), 1, 0)
case 0
  copy b0 -> b2
case 1
)");
}

TEST_CASE("indices that name nothing are refused", "[runtime][plan]") {
  CHECK(Refusal([](Plan& plan) { plan.body[0] = {PlanCall{1, {0, 1, 2}, {}}}; }) ==
        "plan calls kernel 1; there are 1");
  CHECK(Refusal([](Plan& plan) { plan.body[0] = {PlanCall{0, {0, 1, 4}, {}}}; }) ==
        "plan uses buffer 4; there are 4");
  CHECK(Refusal([](Plan& plan) { plan.body[1] = {PlanCopy{9, 3}}; }) ==
        "plan uses buffer 9; there are 4");
  CHECK(Refusal([](Plan& plan) { plan.buffers[0].index = 1; }) ==
        "plan: buffer 0: names input 1; there are 1");
  CHECK(Refusal([](Plan& plan) { plan.buffers[3].index = 7; }) ==
        "plan: buffer 3: names output 7; there are 1");
  CHECK(Refusal([](Plan& plan) { plan.shape_variables = 1; }) ==
        "plan has 1 shape variables; the metadata has 0");
  CHECK(Refusal([](Plan& plan) { plan.counters = 65; }) ==
        "plan has 65 loop counters; at most 64 can be in use");
  CHECK(Refusal([](Plan& plan) { plan.buffers[2].offset = SizeExpr::Variable(0); }) ==
        "plan: buffer 2: size expression reads variable 0; there are 0");
}

TEST_CASE("extents outside their memory are refused", "[runtime][plan]") {
  for (size_t buffer = 0; buffer < 4; ++buffer) {
    INFO("buffer " << buffer);
    for (int64_t offset : {int64_t{1000}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
      CHECK_FALSE(Refusal([&](Plan& plan) { plan.buffers[buffer].offset = offset; }).empty());
    }
    for (int64_t bytes : {int64_t{65}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
      CHECK_FALSE(Refusal([&](Plan& plan) { plan.buffers[buffer].bytes = bytes; }).empty());
    }
  }
  CHECK(Refusal([](Plan& plan) { plan.buffers[1].offset = 4; }) ==
        "plan: buffer 1: 16 bytes at 4 do not lie within 16 bytes");
  CHECK(Refusal([](Plan& plan) { plan.arena_bytes = -64; }) ==
        "plan: arena: -64 bytes at 0 do not lie within 9223372036854775807 bytes");
  CHECK(Refusal([](Plan& plan) { plan.arena_bytes = 8; }) ==
        "plan: buffer 2: 16 bytes at 0 do not lie within 8 bytes");
}

TEST_CASE("tensors of another size than the plan was made for are refused", "[runtime][plan]") {
  for (bool input : {true, false}) {
    Artefact artefact = SampleArtefact();
    TensorInfo& info = (input ? artefact.metadata.inputs : artefact.metadata.outputs)[0];
    std::string name = info.name;
    info = StaticTensor(name, kFloat32, {5});
    CHECK(Message(Verify(artefact)) ==
          fmt::format("plan was made for 16 bytes of '{}'; the metadata says 20 bytes", name));
    info = StaticTensor(name, kFloat32, {2, 2});
    CHECK(Verify(artefact).ok());
    info = StaticTensor(name, kFloat32, {3});
    CHECK_FALSE(Verify(artefact).ok());
  }
}

TEST_CASE("copies must fit and may not write what is read-only", "[runtime][plan]") {
  CHECK(Refusal([](Plan& plan) { plan.buffers[2].bytes = 8; }) ==
        "plan copies buffer 2 of 8 bytes to buffer 3 of 16");
  CHECK(Refusal([](Plan& plan) { plan.body[1] = {PlanCopy{2, 1}}; }) ==
        "plan copies to buffer 1, which is read-only");
  CHECK(Refusal([](Plan& plan) { plan.body[1] = {PlanCopy{2, 0}}; }) ==
        "plan copies to buffer 0, which is read-only");
}

TEST_CASE("loops and branches are checked", "[runtime][plan]") {
  auto refusal = [](const std::function<void(Plan&)>& change) {
    Plan plan = RichPlan();
    change(plan);
    return Message(VerifyPlan(plan, RichMetadata(), 16));
  };
  auto loop = [](Plan& plan) -> PlanLoop& { return std::get<PlanLoop>(plan.body[2].op); };
  CHECK(refusal([](Plan&) {}).empty());
  CHECK(refusal([](Plan& plan) { plan.body[1] = {PlanCopy{0, 7}}; }) ==
        "plan reads loop counter 0 outside its loop");
  CHECK(refusal([&](Plan& plan) { loop(plan).extent = SizeExpr::Variable(2); }) ==
        "plan reads loop counter 0 outside its loop");
  CHECK_FALSE(refusal([&](Plan& plan) { loop(plan).counter = 1; }).empty());
  CHECK_FALSE(refusal([&](Plan& plan) { loop(plan).body.push_back(plan.body[2]); }).empty());
  CHECK(refusal([&](Plan& plan) { loop(plan).condition = 5; }) ==
        "plan reads buffer 5 of 8 bytes as a scalar of 1");
  CHECK(refusal([&](Plan& plan) { loop(plan).trip_count = 6; }) ==
        "plan reads buffer 6 of 1 bytes as a scalar of 8");
  CHECK(refusal([&](Plan& plan) { loop(plan).swaps = {{2, 0}}; }) ==
        "plan swaps buffer 0; expected a fixed place in the arena");
  CHECK(refusal([&](Plan& plan) { loop(plan).swaps = {{2, 5}}; }) ==
        "plan swaps buffer 2 of 16 bytes with buffer 5 of 8");
  CHECK_FALSE(refusal([&](Plan& plan) { loop(plan).swaps = {{2, 7}}; }).empty());
  CHECK(refusal([](Plan& plan) { plan.body[3] = {PlanIf{2, {}, {}}}; }) ==
        "plan reads buffer 2 of 16 bytes as a scalar of 1");
  auto choice = [](Plan& plan) -> PlanSwitch& { return std::get<PlanSwitch>(plan.body[4].op); };
  CHECK(refusal([&](Plan& plan) { choice(plan).which = SizeExpr::Variable(2); }) ==
        "plan: switch: size expression reads variable 2; there are 2");
  CHECK(refusal([&](Plan& plan) { choice(plan).which = 2; }) ==
        "plan switches to body 2; there are 2");
  CHECK(refusal([&](Plan& plan) { choice(plan).bodies[1] = {{PlanCopy{9, 3}}}; }) ==
        "plan uses buffer 9; there are 8");
}

TEST_CASE("a let reads only what comes before it, and a call passes the sizes that a kernel takes",
          "[runtime][plan]") {
  auto refusal = [](const std::function<void(Plan&)>& change) {
    Plan plan = RichPlan();
    change(plan);
    return Message(VerifyPlan(plan, RichMetadata(), 16));
  };
  CHECK(refusal([](Plan& plan) { plan.lets[1] = SizeExpr::Variable(1); }) ==
        "plan: let 1: size expression reads variable 1; there are 1");
  CHECK(refusal([](Plan& plan) { plan.checks[0].holds = SizeExpr::Variable(2); }) ==
        "plan: check: size expression reads variable 2; there are 2");
  CHECK(refusal([](Plan& plan) { plan.checks[0].message = "a\nb"; }) ==
        "plan has a message that is not UTF-8 or holds control characters");
  CHECK(refusal([](Plan& plan) { plan.arena_bytes = SizeExpr::Variable(2); }) ==
        "plan: arena: size expression reads variable 2; there are 2");
  CHECK(refusal([](Plan& plan) { std::get<PlanCall>(plan.body[0].op).shape_args.clear(); }) ==
        "plan calls kernel 0 with 0 sizes; it takes 1");
}

TEST_CASE("nesting is bounded when a plan is read and when it is verified", "[runtime][plan]") {
  Artefact artefact = SampleArtefact();
  artefact.plan.counters = 64;
  artefact.plan.body = {Nested(64)};
  CHECK(Verify(artefact).ok());
  CHECK(ParsePlan(PlanBytes(artefact.plan)).ok());
  artefact.plan.body = {{PlanIf{0, {Nested(64)}, {}}}};
  StatusOr<Plan> plan = ParsePlan(PlanBytes(artefact.plan));
  CHECK(Message(plan.status()) == "plan nests Loop, If and Switch deeper than 64");
  CHECK_FALSE(Verify(artefact).ok());
}

TEST_CASE("a plan with parts that the runtime does not know is refused", "[runtime][plan]") {
  std::vector<uint8_t> bytes = PlanBytes(SampleArtefact().plan);
  bytes[0] = 5;
  CHECK(Message(ParsePlan(bytes).status()) ==
        "plan has parts 0x5, this runtime knows 0x0; it needs a newer runtime");
}

TEST_CASE("the calls of a plan come in the order in which a reader meets them", "[runtime][plan]") {
  auto call = [](uint32_t kernel) { return Instruction{PlanCall{kernel, {}, {}}}; };
  PlanLoop loop;
  loop.body = {call(1), {PlanIf{0, {call(2)}, {call(3)}}}};
  std::vector<uint32_t> kernels;
  const std::vector<Instruction> body = {call(0), {std::move(loop)}, {PlanCopy{0, 1}}, call(4)};
  for (const PlanCall* found : CallsIn(body)) kernels.push_back(found->kernel);
  CHECK(kernels == std::vector<uint32_t>{0, 1, 2, 3, 4});
}

TEST_CASE("unknown instructions are refused with their place", "[runtime][plan]") {
  Plan plan = SampleArtefact().plan;
  plan.body = {{PlanCopy{2, 3}}};
  std::vector<uint8_t> bytes = PlanBytes(plan);
  size_t code = bytes.size() - 9;
  REQUIRE(bytes[code] == 1);
  bytes[code] = 5;
  CHECK(ParsePlan(bytes).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(Message(ParsePlan(bytes).status()).starts_with("plan has unknown instruction 5 at byte "));
}

TEST_CASE("mutated and truncated plans are refused or verify, and never crash", "[runtime][plan]") {
  const std::vector<uint8_t> bytes = PlanBytes(RichPlan());
  const Metadata metadata = RichMetadata();
  for (size_t length = 0; length < bytes.size(); ++length) {
    CHECK_FALSE(ParsePlan(std::span(bytes).first(length)).ok());
  }
  Random random(11);
  int refused = 0;
  for (int i = 0; i < 30000; ++i) {
    std::vector<uint8_t> mutated = bytes;
    for (uint64_t k = random.Below(3) + 1; k > 0; --k) {
      uint8_t& byte = mutated[random.Below(mutated.size())];
      byte = static_cast<uint8_t>(random.OneIn(2) ? random.Below(8) : random.Next());
    }
    StatusOr<Plan> plan = ParsePlan(mutated);
    if (!plan.ok() || !VerifyPlan(*plan, metadata, 16).ok()) ++refused;
  }
  CHECK(refused > 10000);
}
