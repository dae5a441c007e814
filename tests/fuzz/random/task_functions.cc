#include "tests/fuzz/random/task_functions.h"

#include <map>
#include <set>

#include "graph/passes/fuse_graph.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/variants/task.h"
#include "ir/analysis/canonical.h"
#include "models/zoo/zoo.h"
#include "support/check.h"
#include "tests/fuzz/random/random_model.h"

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
    for (size_t v = 0; v < task.variants.size(); ++v) {
      functions.push_back({task.name, task.variants[v].fn, v, ""});
    }
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

const std::vector<TaskFunction>& ZooTaskFunctions(Zoo zoo) {
  static auto* made = new std::map<Zoo, std::vector<TaskFunction>>;
  auto [found, fresh] = made->try_emplace(zoo);
  if (!fresh) return found->second;
  std::set<std::string> keys;
  for (const std::string& name : ZooNames()) {
    StatusOr<Graph> graph = BuildZoo(name, {.small = zoo == Zoo::kSmall});
    TCC_CHECK(graph.ok()) << Message(graph.status());
    StatusOr<std::vector<TaskFunction>> tasks = TasksOf(*std::move(graph));
    TCC_CHECK(tasks.ok()) << name << ": " << Message(tasks.status());
    for (TaskFunction& task : *tasks) {
      task.network = name;
      if (keys.insert(FunctionKey(task.fn)).second) found->second.push_back(std::move(task));
    }
  }
  return found->second;
}

StatusOr<std::vector<TaskFunction>> TasksOfModel(const std::string& bytes,
                                                 const ImportOptions& options) {
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnxBytes(onnx_bytes::AsSpan(bytes), options));
  return TasksOf(std::move(graph));
}

StatusOr<std::vector<TaskFunction>> RandomTaskFunctions(Random& random) {
  RandomModel model = MakeRandomModel(random);
  return TasksOfModel(model.bytes, {.shapes = model.shapes});
}

}  // namespace tcc
