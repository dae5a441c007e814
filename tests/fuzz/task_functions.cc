#include "tests/fuzz/task_functions.h"

#include <set>

#include "ir/canonical.h"
#include "ir/support/check.h"
#include "lower/graph/fuse_graph.h"
#include "lower/graph/graph_pipeline.h"
#include "lower/task.h"
#include "models/import_onnx.h"
#include "models/zoo.h"
#include "tests/fuzz/random_model.h"

namespace tcc {
namespace {

Status AddTasks(const Graph& graph, const std::vector<Subgraph>& subgraphs,
                std::vector<TaskFunction>& functions) {
  for (const Subgraph& subgraph : subgraphs) {
    for (size_t b = 0; b < subgraph.bodies.size(); ++b) {
      const Node& node = graph.nodes[subgraph.nodes[0]];
      TCC_RETURN_IF_ERROR(AddTasks(node.bodies[b], subgraph.bodies[b], functions));
    }
    if (subgraph.kind != SubgraphKind::kKernel) continue;
    TCC_ASSIGN_OR_RETURN(Task task, BuildTask(graph, subgraph));
    for (const Function& fn : task.variants) functions.push_back({task.name, fn});
  }
  return OkStatus();
}

StatusOr<std::vector<TaskFunction>> TasksOf(Graph graph) {
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph));
  std::vector<TaskFunction> functions;
  TCC_RETURN_IF_ERROR(AddTasks(graph, FuseGraph(graph), functions));
  return functions;
}

}  // namespace

const std::vector<TaskFunction>& ZooTaskFunctions() {
  static const auto* functions = [] {
    auto* unique = new std::vector<TaskFunction>;
    std::set<std::string> keys;
    for (const std::string& name : ZooNames()) {
      StatusOr<Graph> graph = BuildZoo(name, {.small = true});
      TCC_CHECK(graph.ok()) << Message(graph.status());
      StatusOr<std::vector<TaskFunction>> tasks = TasksOf(*std::move(graph));
      TCC_CHECK(tasks.ok()) << name << ": " << Message(tasks.status());
      for (TaskFunction& task : *tasks) {
        if (keys.insert(FunctionKey(task.fn)).second) unique->push_back(std::move(task));
      }
    }
    return unique;
  }();
  return *functions;
}

StatusOr<std::vector<TaskFunction>> RandomTaskFunctions(Random& random) {
  RandomModel model = MakeRandomModel(random);
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnxBytes(onnx_bytes::AsSpan(model.bytes)));
  return TasksOf(std::move(graph));
}

}  // namespace tcc
