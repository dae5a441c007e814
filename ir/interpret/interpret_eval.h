#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ir/interpret/interpret_code.h"
#include "ir/interpret/interpret_memory.h"
#include "ir/interpret/interpreter.h"

namespace tcc::interpret {

// The value of a variable; a vector at kLowered only.
struct Slot {
  int64_t integer = 0;
  double real = 0;
  std::vector<int64_t> integers;
  std::vector<double> reals;
};

struct PendingCopy {
  Cells* to = nullptr;
  const Cells* from = nullptr;  // null: zeros
  int64_t to_offset = 0;
  int64_t from_offset = 0;
  int count = 0;
};

// The state of one interpreted thread.
struct Context {
  std::vector<Slot> slots;
  std::vector<Cells*> buffers;
  int64_t hardware[3] = {0, 0, 0};
  int64_t thread = 0;  // number in the block, or iteration of the outermost parallel loop
  std::vector<PendingCopy> open;                 // copies since the last commit
  std::vector<std::vector<PendingCopy>> groups;  // in flight, the oldest first
};

// The report, limits and rounding of a run, one per real thread.
struct Monitor {
  Status error;
  InterpretReport report;
  int64_t max_instances = 0;
  bool detect_races = false;
  bool reads_garbage = false;
  std::optional<uint64_t> rounding_seed;
  uint64_t epoch = 1;  // of the race detector; 0 means never

  bool failed() const { return !error.ok(); }
  void Fail(const std::string& message) {
    if (error.ok()) error = absl::InternalError(message);
  }
  void CountIssued(int64_t instances) {
    report.instances_issued += instances;
    if (max_instances > 0 && report.instances_issued > max_instances && error.ok()) {
      error = absl::ResourceExhaustedError(
          fmt::format("more than {} block instances were issued", max_instances));
    }
  }
};

// The active lanes. Ids are unique in an Evaluator.
struct Mask {
  uint64_t id = 0;
  const Mask* parent = nullptr;
  bool full = true;
  std::vector<int> lanes;  // ascending; unused when full
};

// An evaluator of the nodes of one ExprCode. It keeps a value until a loop that the value depends
// on advances. It never evaluates under an empty mask.
class Evaluator {
 public:
  Evaluator(const ExprCode& code, Monitor& monitor, int max_lanes);

  // Starts a chunk of n lanes in `context` and drops every kept value.
  void Enter(Context& context, int n);
  // Notes that loop `depth` has a new value.
  void Advance(int depth);
  void set_lanes(int n) { lanes_ = n; }
  int lanes() const { return lanes_; }
  int64_t* lane_var(int index) { return lane_vars_[index].data(); }
  void AddLaneVar() { lane_vars_.emplace_back(max_lanes_); }

  void Evaluate(int node, const Mask& mask);
  bool uniform(int node) const { return states_[node].uniform; }
  const int64_t* integers(int node) const { return states_[node].integers.get(); }
  const double* reals(int node) const { return states_[node].reals.get(); }
  // Returns the value of a node that is uniform over lanes.
  int64_t Integer(int node) {
    Evaluate(node, full_);
    return states_[node].integers[0];
  }

  const Mask& full() const { return full_; }
  // Sets `mask` to the active lanes of `parent` where the evaluated bool `node` equals `wanted`.
  // Returns false if there are none.
  bool Refine(const Mask& parent, int node, bool wanted, Mask& mask);
  bool Covers(uint64_t id, const Mask& mask) const;
  bool IsKept(uint64_t stamp, int depth) const { return stamp >= epochs_[depth]; }
  uint64_t now() const { return now_; }

  bool Locate(int access, const Mask& mask, Offsets* at);
  void StoreTo(int access, int node, const Mask& mask);
  // Describes the lane for an error message: the values of its variables.
  std::function<std::string(int lane)> describe;

 private:
  struct State {
    uint64_t stamp = 0;
    uint64_t mask = 0;
    bool uniform = true;
    std::unique_ptr<int64_t[]> integers;
    std::unique_ptr<double[]> reals;
    uint64_t range_stamp = 0;
    int64_t low = 0;
    int64_t high = 0;
  };
  struct AccessState {
    uint64_t stamp = 0;
    const Cells* cells = nullptr;
    Offsets::Kind kind = Offsets::kUniform;
    std::vector<int64_t> lanes;
    // A bounds check that passed: in dimension `dim`, at the uniform part `first`, for the lanes of
    // `mask`.
    struct Inside {
      uint64_t mask = 0;
      int64_t first = 0;
      int dim = -1;
    };
    Inside inside[32];
  };

  void Compute(int id, const Mask& mask);
  void ComputeBinary(const Node& node, State& state, const Mask& mask);
  void ComputePartial(const Node& node, State& state, const Mask& mask);
  void ComputeLogic(const Node& node, State& state, const Mask& mask);
  void ComputeSelect(const Node& node, State& state, const Mask& mask);
  void ComputeAffineTest(const Node& node, State& state, const Mask& mask);
  void ComputeCast(const Node& node, State& state);
  void ComputeCall(const Node& node, State& state);
  void ComputeLoad(const Node& node, State& state, const Mask& mask);
  void CopyLanes(int from, State& to, const Mask& mask, bool real);
  const State& RangeOf(int node);

  bool LocateFixed(int access, const Mask& mask, Offsets* at);
  bool LocateMixed(int access, const Mask& mask, Offsets* at);
  void FixChunk(const AccessCode& access, const Cells& cells, AccessState& state);
  // Returns whether first + chunk lies in [0, size) in the active lanes.
  bool IsInside(AccessState& state, int dim, int chunk, int64_t first, int64_t size,
                const Mask& mask) const;
  bool LanesInside(int chunk, int64_t first, int64_t size, const Mask& mask) const;
  bool CheckLane(const AccessCode& access, const Cells& cells, int lane);
  int64_t IndexAt(const IndexCode& index, int lane);
  void FailAt(const AccessCode& access, int lane, const std::string& what);
  void NoteUses(const AccessCode& access, const Offsets& at, const Mask& mask, bool write);
  template <typename F>
  void ForActive(const Mask& mask, F&& f) const {
    if (mask.full) {
      for (int i = 0; i < lanes_; ++i) f(i);
    } else {
      for (int lane : mask.lanes) f(lane);
    }
  }

  const ExprCode& code_;
  Monitor& monitor_;
  int max_lanes_;
  int lanes_ = 1;
  Context* context_ = nullptr;
  uint64_t now_ = 1;
  uint64_t next_mask_ = 1;
  std::vector<uint64_t> epochs_;
  std::vector<State> states_;
  std::vector<AccessState> accesses_;
  std::vector<std::vector<int64_t>> lane_vars_;
  Mask full_;
};

// Apply f to `n` lanes; `a_one` means that a has one value for all lanes.
template <typename In, typename Out, typename F>
void ForLanes1(const In* a, Out* out, int n, F f) {
  for (int i = 0; i < n; ++i) out[i] = f(a[i]);
}
template <typename In, typename Out, typename F>
void ForLanes2(const In* a, bool a_one, const In* b, bool b_one, Out* out, int n, F f) {
  if (a_one) {
    const In x = a[0];
    for (int i = 0; i < n; ++i) out[i] = f(x, b[b_one ? 0 : i]);
  } else if (b_one) {
    const In y = b[0];
    for (int i = 0; i < n; ++i) out[i] = f(a[i], y);
  } else {
    for (int i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  }
}

}  // namespace tcc::interpret
