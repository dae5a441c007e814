#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/execution_plan.h"
#include "compiler/kernels.h"
#include "ir/graph/graph.h"

// The compiler's record of how it made an artefact: the section *notes*. It is one JSON document,
// packed by zstd, with sorted keys and neither times nor paths: the same compilation gives the same
// bytes. Nothing runs by it; it is for people and for what explains an artefact to them.
// docs/artefact.md describes the document.
namespace tcc {

struct NodeNotes;

// A graph or a body.
struct GraphNotes {
  std::vector<std::string> inputs, outputs;
  std::vector<NodeNotes> nodes;
  std::map<std::string, std::string> types;  // "f32[1x64x56x56]" by value; empty before the passes

  friend bool operator==(const GraphNotes&, const GraphNotes&) = default;
};

struct NodeNotes {
  std::string name, op;
  std::vector<std::string> inputs, outputs;  // names of values; "" for one that is absent
  std::vector<GraphNotes> bodies;

  friend bool operator==(const NodeNotes&, const NodeNotes&) = default;
};

struct PassNotes {
  std::string name;
  int64_t nodes_before = 0, nodes_after = 0;  // with the nodes of bodies

  friend bool operator==(const PassNotes&, const PassNotes&) = default;
};

// How a kernel came to its schedule; see KernelStages.
struct KernelNotes {
  std::string name, sketch;
  size_t choice = 0, variant = 0;
  bool tuned = false;
  std::string schedule;  // as text
  std::string record;    // the key of the tuned workload in the database; "" if it was not tuned

  friend bool operator==(const KernelNotes&, const KernelNotes&) = default;
};

// A computed value that a call reads or writes, and where its elements are in the operand's buffer.
struct OperandNotes {
  size_t operand = 0;
  std::string value;
  std::vector<int64_t> shape;      // as it is stored, at the usual sizes
  std::vector<int64_t> strides;    // in elements; empty: one after another
  std::optional<DType> type = {};  // that it is stored in, if not the graph's; of 16-bit floats

  friend bool operator==(const OperandNotes&, const OperandNotes&) = default;
};

struct CallNotes {
  size_t kernel = 0;
  size_t graph = 0;  // the number of the listed size
  int64_t step = 0;
  std::vector<std::string> nodes;
  std::vector<BodyPlace> within;
  std::vector<OperandNotes> reads, writes;  // constants are not among them
  bool writes_all = true;                   // see PlannedCall

  friend bool operator==(const CallNotes&, const CallNotes&) = default;
};

// The model at one size.
struct SizeNotes {
  GraphNotes before, after;  // the graph passes
  std::vector<PassNotes> passes;
  std::vector<ArenaValue> arena;

  friend bool operator==(const SizeNotes&, const SizeNotes&) = default;
};

// The notes of an artefact. The base has the first listed size, the only one, or all that are not
// listed.
struct Notes : SizeNotes {
  std::vector<KernelNotes> kernels;  // in the order of the metadata
  std::vector<CallNotes> calls;      // in the order of the plan's Calls
  std::vector<SizeNotes> others;     // the further listed sizes

  // Returns the notes of a listed size by its number. Expects that there is one.
  const SizeNotes& AtSize(size_t number) const { return number == 0 ? *this : others[number - 1]; }

  friend bool operator==(const Notes&, const Notes&) = default;
};

// Describes an imported graph, whose types are not known everywhere.
GraphNotes DescribeImported(const Graph& graph);
// Describes a graph after the passes.
GraphNotes DescribeOptimized(const Graph& graph);
// Returns the number of nodes, including the nodes of bodies.
int64_t CountNodes(const Graph& graph);

// Describes the compilation once the plan is made. `sizes` has for each graph what was noted of it
// before it was fused.
Notes DescribeCompilation(std::span<const FusedGraph> graphs, std::vector<SizeNotes> sizes,
                          const KernelSet& kernels, const ExecutionPlan& plan);

// Returns the content of the section.
std::vector<uint8_t> NotesBytes(const Notes& notes);
// Reads the content of the section. Error (InvalidArgument): it is not the document that NotesBytes
// writes, or larger than kMostNotesBytes once it is unpacked.
inline constexpr size_t kMostNotesBytes = size_t{128} << 20;
StatusOr<Notes> ReadNotes(std::span<const uint8_t> section);

// Returns the notes of an artefact. Error: FailedPrecondition if it has none, ReadNotes',
// InvalidArgument if they tell of other kernels, calls or memory than the artefact has.
StatusOr<Notes> NotesOf(const Artefact& artefact);
// Names the file that the artefact is from in errors.
StatusOr<Notes> NotesOf(const Artefact& artefact, const std::string& file);

}  // namespace tcc
