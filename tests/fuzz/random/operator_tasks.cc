#include "tests/fuzz/random/operator_tasks.h"

#include "graph/passes/graph_pipeline.h"
#include "graph/variants/interpret_graph.h"
#include "ir/interpret/interpreter.h"
#include "models/onnx/import_onnx.h"

namespace tcc {

StatusOr<OperatorTasks> MakeOperatorTasks(const OperatorRow& row, Random& random, DTypeCode real) {
  for (;;) {
    OperatorTasks made{.model = MakeOperatorModel(row, random, real), .graph = {}, .tasks = {}};
    TCC_ASSIGN_OR_RETURN(made.graph, ImportOnnxBytes(onnx_bytes::AsSpan(made.model.bytes)));
    TCC_RETURN_IF_ERROR(RunGraphPasses(made.graph));
    int64_t most = 0;
    auto keep = [&](const Task& task, std::vector<Tensor>& arguments) -> Status {
      TaskWithArguments& kept = made.tasks.emplace_back(TaskWithArguments{task, {}});
      for (const Tensor& t : arguments) {
        kept.arguments.push_back(MakeTensor(t.dtype, t.shape, t.bytes));
      }
      TCC_ASSIGN_OR_RETURN(InterpretReport report, Interpret(task.variants[0].fn, arguments));
      if (report.instances_issued >= most) made.largest = made.tasks.size() - 1;
      most = std::max(most, report.instances_issued);
      return OkStatus();
    };
    TCC_RETURN_IF_ERROR(InterpretGraph(made.graph, made.model.inputs, {.run_task = keep}).status());
    if (!made.tasks.empty()) return made;
  }
}

}  // namespace tcc
