#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ir/interpret/interpret_code.h"
#include "ir/interpret/interpret_memory.h"
#include "ir/interpret/interpreter.h"

namespace tcc::interpret {

// The value of a variable; vectors at kLowered only.
struct Slot {
  int64_t integer = 0;
  double real = 0;
  std::vector<int64_t> integers;
  std::vector<double> reals;
};

struct PendingCopy {
  Cells* to = nullptr;
  const Cells* from = nullptr;
  int64_t to_offset = 0;
  int64_t from_offset = 0;
  int count = 0;
};

// What one thread sees.
struct Context {
  std::vector<Slot> slots;
  std::vector<Cells*> buffers;
  int64_t hardware[3] = {0, 0, 0};
  int64_t thread = 0;  // its number in the block, or the iteration of the outermost parallel loop
  std::vector<PendingCopy> open;                 // copies since the last commit
  std::vector<std::vector<PendingCopy>> groups;  // in flight, the oldest first
};

// What a run reports, when it stops and how it rounds; one a real thread.
struct Monitor {
  Status error;
  InterpretReport report;
  int64_t max_instances = 0;
  bool detect_races = false;
  std::optional<uint64_t> rounding_seed;
  uint64_t epoch = 1;  // of the race detector; 0 stands for never

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

// The lanes that take part. Ids are never used twice in one Evaluator.
struct Mask {
  uint64_t id = 0;
  const Mask* parent = nullptr;
  bool full = true;
  std::vector<int> lanes;  // ascending; unused when full
};

// Values of the nodes of one ExprCode. A value is kept until a loop that it depends on advances.
// Nothing is ever evaluated under an empty mask.
class Evaluator {
 public:
  Evaluator(const ExprCode& code, Monitor& monitor, int max_lanes);

  // A new chunk of n lanes in `context`; every kept value is dropped.
  void Enter(Context& context, int n);
  // Loop `depth` has a new value.
  void Advance(int depth);
  void set_lanes(int n) { lanes_ = n; }
  int lanes() const { return lanes_; }
  int64_t* lane_var(int index) { return lane_vars_[index].data(); }
  void AddLaneVar() { lane_vars_.emplace_back(max_lanes_); }

  void Evaluate(int node, const Mask& mask);
  bool uniform(int node) const { return states_[node].uniform; }
  const int64_t* integers(int node) const { return states_[node].integers.get(); }
  const double* reals(int node) const { return states_[node].reals.get(); }
  // Of a node that is the same in all lanes.
  int64_t Integer(int node) {
    Evaluate(node, full_);
    return states_[node].integers[0];
  }

  const Mask& full() const { return full_; }
  // Active lanes of `parent` where the bool `node` (evaluated) is true; `mask` is overwritten.
  // False where none is.
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
    // Checks that passed: in dimension `dim`, at the uniform part `first`, for the lanes of `mask`.
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
  // Whether first + chunk lies in [0, size) in the active lanes.
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

// The kernels, over `n` lanes; `a_one` says that a has one value for all.
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
