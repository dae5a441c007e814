#include "api/execution_plan.h"

#include <algorithm>
#include <map>

#include "ir/support/check.h"
#include "runtime/artefact/memory_plan.h"

namespace tcc {
namespace {

// Puts a graph's values into the buffers of a plan.
class PlanBuilder {
 public:
  PlanBuilder(const Graph& graph, const std::vector<Subgraph>& subgraphs, const KernelSet& kernels)
      : graph_(graph), subgraphs_(subgraphs), kernels_(kernels), root_(graph.values.size()) {
    for (size_t v = 0; v < root_.size(); ++v) root_[v] = static_cast<ValueId>(v);
    for (const Subgraph& subgraph : subgraphs_) {
      if (subgraph.kind == SubgraphKind::kView) {
        root_[subgraph.outputs[0]] = root_[graph_.nodes[subgraph.nodes[0]].inputs[0]];
      }
    }
  }

  StatusOr<ExecutionPlan> Build() {
    TCC_RETURN_IF_ERROR(MeasureValues());
    PlaceInputsAndOutputs();
    PlaceWeights();
    AddCalls();
    PlaceArena();
    AddOutputCopies();
    return std::move(result_);
  }

 private:
  Status MeasureValues() {
    for (const Value& value : graph_.values) {
      std::optional<std::vector<int64_t>> shape = StaticShape(value);
      // Values that nothing refers to any more may have no shape.
      bytes_.push_back(shape ? ByteCount(value.dtype, *shape).value_or(-1) : -1);
    }
    for (const Task& task : kernels_.tasks) {
      for (ValueId id : task.outputs) {
        if (bytes_[id] < 0) {
          return Unsupported("value '{}' has no static shape; bind its dimensions",
                             graph_.value(id).name);
        }
      }
    }
    return OkStatus();
  }

  BufferId AddBuffer(BufferKind kind, size_t index, int64_t offset, int64_t bytes) {
    PlanBuffer buffer;
    buffer.kind = kind;
    buffer.index = static_cast<uint32_t>(index);
    buffer.offset = offset;
    buffer.bytes = bytes;
    result_.plan.buffers.push_back(std::move(buffer));
    return static_cast<BufferId>(result_.plan.buffers.size() - 1);
  }

  // An output is written in place if a kernel computes it and no earlier output is the same value.
  void PlaceInputsAndOutputs() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      buffer_of_[graph_.inputs[i]] = AddBuffer(BufferKind::kInput, i, 0, bytes_[graph_.inputs[i]]);
    }
    std::vector<bool> computed(graph_.values.size(), false);
    for (const Task& task : kernels_.tasks) {
      for (ValueId id : task.outputs) computed[id] = true;
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      ValueId id = graph_.outputs[i];
      BufferId buffer = AddBuffer(BufferKind::kOutput, i, 0, bytes_[id]);
      bool in_place = computed[root_[id]] && !buffer_of_.contains(root_[id]);
      if (in_place) {
        buffer_of_[root_[id]] = buffer;
      } else {
        copied_outputs_.emplace_back(root_[id], buffer);
      }
    }
  }

  void PlaceWeights() {
    std::vector<Tensor> tensors;
    std::vector<ValueId> ids;
    auto add = [&](ValueId id) {
      if (!graph_.value(id).constant || buffer_of_.contains(id)) return;
      buffer_of_[id] = 0;  // replaced below, once offsets are known
      ids.push_back(id);
      tensors.push_back(*graph_.value(id).constant);
    };
    for (const Task& task : kernels_.tasks) {
      for (ValueId id : task.inputs) add(root_[id]);
    }
    for (const auto& [value, output] : copied_outputs_) add(value);
    PackedWeights packed = PackWeights(tensors);
    for (size_t i = 0; i < ids.size(); ++i) {
      buffer_of_[ids[i]] = AddBuffer(BufferKind::kWeight, 0, packed.offsets[i],
                                     static_cast<int64_t>(tensors[i].bytes.size()));
    }
    result_.weights = packed.bytes;
  }

  BufferId Use(ValueId value, int64_t instruction) {
    ValueId id = root_[value];
    auto found = buffer_of_.find(id);
    if (found == buffer_of_.end()) {
      found = buffer_of_.emplace(id, AddBuffer(BufferKind::kArena, 0, 0, bytes_[id])).first;
      arena_.push_back(found->second);
      live_.push_back({bytes_[id], instruction, instruction});
    }
    auto place = std::find(arena_.begin(), arena_.end(), found->second);
    if (place != arena_.end())
      live_[static_cast<size_t>(place - arena_.begin())].last = instruction;
    return found->second;
  }

  void AddCalls() {
    for (size_t t = 0; t < kernels_.tasks.size(); ++t) {
      const Task& task = kernels_.tasks[t];
      PlanCall call;
      call.kernel = static_cast<uint32_t>(kernels_.kernel_of_task[t]);
      auto now = static_cast<int64_t>(t);
      for (ValueId id : task.inputs) call.buffers.push_back(Use(id, now));
      for (ValueId id : task.outputs) call.buffers.push_back(Use(id, now));
      result_.plan.body.push_back({std::move(call)});
    }
    // What is copied to an output lives to the end.
    for (const auto& [value, output] : copied_outputs_) {
      Use(value, static_cast<int64_t>(kernels_.tasks.size()));
    }
  }

  void PlaceArena() {
    MemoryPlan memory = PlanMemory(live_);
    for (size_t i = 0; i < arena_.size(); ++i) {
      result_.plan.buffers[arena_[i]].offset = memory.offsets[i];
      result_.activation_bytes += live_[i].bytes;
    }
    result_.plan.arena_bytes = memory.arena_bytes;
  }

  void AddOutputCopies() {
    for (const auto& [value, output] : copied_outputs_) {
      result_.plan.body.push_back({PlanCopy{buffer_of_.at(value), output}});
    }
  }

  const Graph& graph_;
  const std::vector<Subgraph>& subgraphs_;
  const KernelSet& kernels_;
  std::vector<ValueId> root_;  // of each value: the value whose bytes it looks at
  std::vector<int64_t> bytes_;
  std::map<ValueId, BufferId> buffer_of_;  // of roots
  std::vector<std::pair<ValueId, BufferId>> copied_outputs_;
  std::vector<BufferId> arena_;
  std::vector<LiveBuffer> live_;  // of arena_
  ExecutionPlan result_;
};

}  // namespace

StatusOr<ExecutionPlan> BuildExecutionPlan(const Graph& graph,
                                           const std::vector<Subgraph>& subgraphs,
                                           const KernelSet& kernels) {
  return PlanBuilder(graph, subgraphs, kernels).Build();
}

}  // namespace tcc
