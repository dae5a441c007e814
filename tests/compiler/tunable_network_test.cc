#include "compiler/tunable_network.h"
#include "compiler/kernels.h"
#include "compiler/make_backend.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <variant>

#include "compiler/check/compare_tensors.h"
#include "compiler/check/random_inputs.h"
#include "models/zoo/zoo.h"
#include "runtime/executor/executor.h"
#include "runtime/measure/bound_network.h"
#include "search/candidate/build_candidates.h"
#include "search/measure/local_network.h"
#include "search/space/task_space.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

constexpr const char* kNetworks[] = {"dqn", "mobilenet_v2", "bert_base", "lstm_lm"};

CompileOptions NativeOptions() {
  CompileOptions options;
  options.target = *FindTarget("native");
  options.threads = 2;
  return options;
}

TunableNetwork TunableOf(const Graph& graph) {
  StatusOr<TunableNetwork> network = TunableNetworkOf(graph, NativeOptions());
  INFO(network.status());
  REQUIRE(network.ok());
  return *std::move(network);
}

// Calls of a plan, with how many loops and branches they stand in.
struct NestedCall {
  PlanCall call;
  int depth = 0;
};

void AddCalls(const std::vector<Instruction>& body, int depth, std::vector<NestedCall>& calls) {
  for (const Instruction& instruction : body) {
    if (const auto* call = std::get_if<PlanCall>(&instruction.op)) calls.push_back({*call, depth});
    if (const auto* loop = std::get_if<PlanLoop>(&instruction.op)) {
      AddCalls(loop->body, depth + 1, calls);
    }
    if (const auto* branch = std::get_if<PlanIf>(&instruction.op)) {
      AddCalls(branch->then_body, depth + 1, calls);
      AddCalls(branch->else_body, depth + 1, calls);
    }
  }
}

std::vector<NestedCall> CallsOf(const Plan& plan) {
  std::vector<NestedCall> calls;
  AddCalls(plan.body, 0, calls);
  return calls;
}

bool HasNesting(const std::vector<NestedCall>& calls) {
  return std::ranges::any_of(calls, [](const NestedCall& call) { return call.depth > 0; });
}

// The artefact of what is compiled of a workload without a search: the first start that builds.
std::vector<uint8_t> ConstructedArtefact(const Workload& workload, Backend& backend) {
  const Target target = *FindTarget("native");
  TaskSpace space(workload, target);
  Status first;
  for (size_t sketch = 0; sketch < space.size(); ++sketch) {
    std::optional<SearchPoint> start = space.Start(sketch);
    if (!start) continue;
    Candidate candidate = space.ToCandidate(*start);
    BuiltCandidate built =
        BuildCandidates(workload, {&candidate, 1}, {.target = target, .backend = &backend})[0];
    if (built.status.ok()) return built.artefact;
    if (first.ok()) first = built.status;
  }
  FAIL("'" << workload.name << "' has no start that builds: " << first);
  return {};
}

// The network with constructed candidates in slot 0 of all kernels.
std::unique_ptr<BoundNetwork> BoundOf(TunableNetwork tunable) {
  std::vector<std::vector<OperandRole>> roles;
  for (size_t task : tunable.task_of_kernel) roles.push_back(RolesOf(tunable.workloads[task]));
  auto pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 2});
  StatusOr<std::unique_ptr<BoundNetwork>> network =
      BoundNetwork::Create(std::move(tunable.skeleton), roles, pool, 3);
  INFO(network.status());
  REQUIRE(network.ok());
  StatusOr<std::unique_ptr<Backend>> backend = MakeBackend(*FindTarget("native"));
  REQUIRE(backend.ok());
  std::vector<std::vector<uint8_t>> artefacts;
  for (const Workload& workload : tunable.workloads) {
    artefacts.push_back(ConstructedArtefact(workload, **backend));
  }
  for (size_t kernel = 0; kernel < tunable.task_of_kernel.size(); ++kernel) {
    Status bound = (*network)->Bind(kernel, 0, artefacts[tunable.task_of_kernel[kernel]]);
    INFO(tunable.workloads[tunable.task_of_kernel[kernel]].name << ": " << bound);
    REQUIRE(bound.ok());
  }
  return *std::move(network);
}

void CopyInputs(std::span<const Tensor> from, std::span<Tensor> to) {
  REQUIRE(from.size() == to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    std::span<uint8_t> bytes = MutableBytes(to[i]);
    REQUIRE(from[i].bytes.size() == bytes.size());
    if (!bytes.empty()) std::memcpy(bytes.data(), from[i].bytes.data(), bytes.size());
  }
}

}  // namespace

TEST_CASE("a tunable network's skeleton calls kernels with all parameters", "[compiler][tunable]") {
  for (const char* name : kNetworks) {
    INFO(name);
    TunableNetwork network = TunableOf(*BuildZoo(name, {.small = true}));
    Status valid = VerifyArtefact(network.skeleton);
    INFO(valid);
    REQUIRE(valid.ok());
    CHECK(network.skeleton.kernels.bytes.empty());
    REQUIRE(network.task_of_kernel.size() == network.skeleton.metadata.kernels.size());
    for (size_t task : network.task_of_kernel) REQUIRE(task < network.workloads.size());
    for (const auto& [call, depth] : CallsOf(network.skeleton.plan)) {
      REQUIRE(call.kernel < network.task_of_kernel.size());
      const Workload& workload = network.workloads[network.task_of_kernel[call.kernel]];
      INFO(workload.name);
      CHECK(call.shape_args.empty());
      std::vector<OperandRole> roles = RolesOf(workload);
      REQUIRE(call.buffers.size() == workload.variants[0].params.size());
      for (size_t i = 0; i < roles.size(); ++i) {
        INFO("parameter " << i);
        const BufferKind kind = network.skeleton.plan.buffers[call.buffers[i]].kind;
        if (roles[i] == OperandRole::kConstant) CHECK(kind == BufferKind::kWeight);
        if (roles[i] == OperandRole::kOutput) {
          CHECK((kind == BufferKind::kArena || kind == BufferKind::kOutput));
        }
      }
    }
  }
}

TEST_CASE("a tunable network's tasks are different and count their calls", "[compiler][tunable]") {
  bool any_nesting = false;
  for (const char* name : kNetworks) {
    INFO(name);
    TunableNetwork network = TunableOf(*BuildZoo(name, {.small = true}));
    std::vector<NestedCall> calls = CallsOf(network.skeleton.plan);
    std::vector<double> outside(network.workloads.size(), 0), inside(network.workloads.size(), 0);
    for (const auto& [call, depth] : calls) {
      (depth == 0 ? outside : inside)[network.task_of_kernel[call.kernel]] += 1;
    }
    std::set<std::string> keys;
    for (size_t task = 0; task < network.workloads.size(); ++task) {
      const Workload& workload = network.workloads[task];
      INFO(workload.name);
      CHECK(keys.insert(workload.key).second);
      CHECK(outside[task] + inside[task] > 0);
      if (inside[task] == 0) CHECK(workload.runs == outside[task]);
      if (inside[task] > 0) CHECK(workload.runs > outside[task]);
    }
    any_nesting |= HasNesting(calls);
  }
  CHECK(any_nesting);
}

TEST_CASE("kernels belong to the task of their workload, in the order of the first ones",
          "[compiler][tunable]") {
  bool any_repeated = false;
  for (const char* name : kNetworks) {
    INFO(name);
    Graph graph = *BuildZoo(name, {.small = true});
    TunableNetwork network = TunableOf(graph);
    StatusOr<KernelSet> kernels = KernelsOf(graph, NativeOptions());
    REQUIRE(kernels.ok());
    REQUIRE(kernels->kernels.size() == network.task_of_kernel.size());
    size_t next = 0;
    for (size_t k = 0; k < kernels->kernels.size(); ++k) {
      const KernelStages& kernel = kernels->kernels[k];
      const size_t task = network.task_of_kernel[k];
      INFO(kernel.symbol);
      CHECK(WorkloadOf(kernel).key == network.workloads[task].key);
      CHECK(network.skeleton.metadata.kernels[k].name == kernel.symbol);
      CHECK(task <= next);
      if (task == next) ++next;
    }
    CHECK(next == network.workloads.size());
    for (const Workload& workload : network.workloads) any_repeated |= workload.runs > 1;
  }
  CHECK(any_repeated);
}

TEST_CASE("a network of constructed candidates computes what the compiled one does",
          "[compiler][tunable]") {
  for (const char* name : kNetworks) {
    INFO(name);
    Graph graph = *BuildZoo(name, {.small = true});
    std::unique_ptr<BoundNetwork> network = BoundOf(TunableOf(graph));
    Module module = Loaded(Compiled(graph, "native", 2));
    Executor executor(module);
    std::vector<std::string> names;
    for (const TensorInfo& info : module.metadata().outputs) names.push_back(info.name);
    for (uint64_t seed : {1, 2}) {
      CopyInputs(*RandomInputs(module.metadata(), seed), network->inputs());
      StatusOr<std::vector<Tensor>> expected = executor.Run(network->inputs());
      REQUIRE(expected.ok());
      StatusOr<NetworkRun> run = network->Run(std::vector<uint8_t>(network->kernels(), 0));
      INFO(run.status());
      REQUIRE(run.ok());
      for (double seconds : run->kernel_seconds) CHECK(seconds > 0);
      std::vector<Tensor> got(network->outputs().begin(), network->outputs().end());
      Status same = CompareOutputs(got, *expected, names, {.rtol = 1e-4, .atol = 1e-5});
      INFO(same);
      CHECK(same.ok());
    }
  }
}

TEST_CASE("a network with a free batch is tuned at its usual batch", "[compiler][tunable]") {
  auto keys = [](const Graph& graph) {
    std::vector<std::string> result;
    for (const Workload& workload : TunableOf(graph).workloads) result.push_back(workload.key);
    return result;
  };
  Graph bound = *BuildZoo("dqn", {.small = true});
  std::vector<Expr>& dims = bound.values[static_cast<size_t>(bound.inputs[0])].shape;
  dims[0] = 4;
  Graph graph = bound;
  Var batch = ShapeVar("batch", 1, 8, 4);
  graph.shape_vars = {batch};
  graph.values[static_cast<size_t>(graph.inputs[0])].shape[0] = batch;
  CHECK(keys(graph) == keys(bound));
}

TEST_CASE("a tunable network has the errors of compiling", "[compiler][tunable][error]") {
  Graph graph = *BuildZoo("dqn", {.small = true});
  graph.values[static_cast<size_t>(graph.inputs[0])].shape[1] = Expr(7);  // channels
  Status status = TunableNetworkOf(graph, NativeOptions()).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(Message(status).find("channels") != std::string::npos);
}

TEST_CASE("consumers of a task are those that read what it makes", "[compiler][tunable]") {
  TunableNetwork network = TunableOf(*BuildZoo("mobilenet_v2", {.small = true}));
  REQUIRE(network.consumers.size() == network.workloads.size());
  auto of = [&](const std::string& name) {
    auto found = std::ranges::find(network.workloads, name, &Workload::name);
    REQUIRE(found != network.workloads.end());
    return static_cast<size_t>(found - network.workloads.begin());
  };
  CHECK(network.consumers[of("stem_clip")] == std::set<size_t>{of("block1_depthwise_clip")});
  CHECK(network.consumers[of("block1_depthwise_clip")] == std::set<size_t>{of("block1_project")});
  CHECK(network.consumers[of("classifier")].empty());
  // All that is made is read, but for outputs.
  size_t unread = 0;
  for (const std::set<size_t>& consumers : network.consumers) unread += consumers.empty();
  CHECK(unread == 1);
}

}  // namespace tcc
