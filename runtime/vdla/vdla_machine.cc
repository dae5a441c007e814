#include "runtime/vdla/vdla_machine.h"

#include <algorithm>
#include <deque>
#include <string>

#include "runtime/vdla/vdla_accesses.h"
#include "runtime/vdla/vdla_chip.h"
#include "runtime/vdla/vdla_facts.h"
#include "runtime/vdla/vdla_program.h"
#include "support/check.h"
#include "support/integer_division.h"
#include "support/random.h"

namespace tcc {
namespace {

// The longest delay, as a multiple of an instruction's cycles.
constexpr uint64_t kMaxDelay = 8;

// Tokens between neighbouring units, first in first out. Each carries what its unit knew when it
// pushed, so that races show whatever the timing; the machine itself only counts them.
class TokenQueues {
 public:
  // Returns the neighbour of `unit` whose token an instruction with these flags lacks, if any.
  std::optional<int> Missing(int unit, const VdlaTokens& flags) const {
    if (flags.pop_previous && queues_[Index(unit - 1, unit)].empty()) return unit - 1;
    if (flags.pop_next && queues_[Index(unit + 1, unit)].empty()) return unit + 1;
    return std::nullopt;
  }

  // Adds to `known` what the tokens tell.
  void Pop(int unit, const VdlaTokens& flags, VdlaClock& known) {
    if (flags.pop_previous) Pop(queues_[Index(unit - 1, unit)], known);
    if (flags.pop_next) Pop(queues_[Index(unit + 1, unit)], known);
  }

  void Push(int unit, const VdlaTokens& flags, const VdlaClock& known) {
    if (flags.push_previous) queues_[Index(unit, unit - 1)].push_back(known);
    if (flags.push_next) queues_[Index(unit, unit + 1)].push_back(known);
  }

  // Returns an error that names the first queue that is not empty.
  Status CheckEmpty() const {
    for (int unit = 0; unit + 1 < kVdlaUnits; ++unit) {
      TCC_RETURN_IF_ERROR(CheckEmpty(unit, unit + 1));
      TCC_RETURN_IF_ERROR(CheckEmpty(unit + 1, unit));
    }
    return OkStatus();
  }

 private:
  static size_t Index(int from, int to) { return 2 * std::min(from, to) + (from > to ? 1 : 0); }

  static void Pop(std::deque<VdlaClock>& queue, VdlaClock& known) {
    for (size_t unit = 0; unit < known.size(); ++unit) {
      known[unit] = std::max(known[unit], queue.front()[unit]);
    }
    queue.pop_front();
  }

  Status CheckEmpty(int from, int to) const {
    const size_t left = queues_[Index(from, to)].size();
    if (left == 0) return OkStatus();
    return UsageError("vdla tokens left over: {} from {} to {}", left,
                      NameOf(static_cast<VdlaUnit>(from)), NameOf(static_cast<VdlaUnit>(to)));
  }

  std::array<std::deque<VdlaClock>, 4> queues_;
};

// One run of a verified program. Time jumps from event to event: the end of an instruction, or the
// fetch of one that its unit is free for.
class Machine {
 public:
  // Without operands, no data move.
  Machine(const VdlaProgram& program, const VdlaConfig& config,
          std::optional<std::span<const std::span<uint8_t>>> operands,
          std::optional<uint64_t> delays)
      : program_(program), config_(config), operands_(operands), accesses_(program, config) {
    if (operands) chip_.emplace(config, delays.value_or(0));
    if (delays) delays_.emplace(*delays);
  }

  StatusOr<VdlaCounts> Run();

 private:
  struct Fetched {
    size_t instruction = 0;
    int64_t at = 0;
  };
  struct Unit {
    std::deque<Fetched> queue;
    std::optional<size_t> running;
    int64_t end = 0;  // of the instruction that runs, or of the last one
    VdlaClock known = {-1, -1, -1};
  };

  void LoadMicroOps();
  void Fetch();
  Status BeginIfReady(int unit);
  void EndIfDone(int unit);
  std::optional<int64_t> NextEvent() const;
  int64_t CyclesOf(const VdlaInstruction& instruction);
  void Count(const VdlaInstruction& instruction);
  Status CheckFinished() const;
  std::string StateOf(int unit) const;

  const VdlaProgram& program_;
  const VdlaConfig& config_;
  std::optional<std::span<const std::span<uint8_t>>> operands_;
  std::optional<VdlaChip> chip_;
  std::optional<Random> delays_;
  VdlaAccesses accesses_;
  TokenQueues tokens_;
  std::array<Unit, kVdlaUnits> units_;
  int64_t now_ = 0;
  int64_t memory_free_ = 0;    // when the last copy that has begun will end
  size_t next_fetch_ = 0;      // the instruction that is fetched next
  int64_t fetch_free_ = 0;     // when it can be fetched at the earliest
  bool fetch_stalls_ = false;  // its queue is full
  VdlaCounts counts_;
};

int64_t CopyCycles(int64_t bytes, const VdlaConfig& config) {
  return config.memory_latency + CeilDivision(bytes, config.bytes_per_cycle);
}

void Machine::LoadMicroOps() {
  if (program_.micro_ops.empty()) return;
  const int64_t bytes = static_cast<int64_t>(program_.micro_ops.size()) * kVdlaMicroOpBytes;
  now_ = memory_free_ = fetch_free_ = CopyCycles(bytes, config_);
  counts_.loaded_bytes += bytes;
}

// Fetches ahead of time, until a queue is full: entries say when they come in.
void Machine::Fetch() {
  for (; next_fetch_ < program_.instructions.size(); ++next_fetch_) {
    const VdlaUnit unit = UnitOf(program_.instructions[next_fetch_]);
    std::deque<Fetched>& queue = units_[static_cast<size_t>(unit)].queue;
    const bool is_full = static_cast<int64_t>(queue.size()) >= config_.queue_depth;
    if (fetch_stalls_ && !is_full) fetch_free_ = std::max(fetch_free_, now_);
    fetch_stalls_ = is_full;
    if (is_full) return;
    queue.push_back({next_fetch_, fetch_free_++});
  }
}

int64_t Machine::CyclesOf(const VdlaInstruction& instruction) {
  const auto* copy = std::get_if<VdlaCopy>(&instruction.work);
  const int64_t cycles =
      copy != nullptr
          ? CopyCycles(MemoryBytes(program_, *copy) + OutputBytes(program_, *copy), config_)
          : config_.issue_cycles + StepsOf(std::get<VdlaGemm>(instruction.work));
  return delays_ ? cycles * delays_->Between(1, kMaxDelay) : cycles;
}

void Machine::Count(const VdlaInstruction& instruction) {
  if (const auto* gemm = std::get_if<VdlaGemm>(&instruction.work)) {
    if (!gemm->reset) counts_.multiply_cycles += StepsOf(*gemm);
    return;
  }
  const auto& copy = std::get<VdlaCopy>(instruction.work);
  const bool stores = UnitOf(instruction) == VdlaUnit::kStore;
  (stores ? counts_.stored_bytes : counts_.loaded_bytes) += MemoryBytes(program_, copy);
  counts_.loaded_bytes += OutputBytes(program_, copy);
}

Status Machine::BeginIfReady(int unit) {
  Unit& state = units_[unit];
  if (state.running || state.queue.empty() || state.queue.front().at > now_) return OkStatus();
  const size_t index = state.queue.front().instruction;
  const VdlaInstruction& instruction = program_.instructions[index];
  if (tokens_.Missing(unit, instruction.tokens)) return OkStatus();
  tokens_.Pop(unit, instruction.tokens, state.known);
  state.queue.pop_front();

  const bool is_copy = std::holds_alternative<VdlaCopy>(instruction.work);
  const int64_t start = is_copy ? std::max(now_, memory_free_) : now_;
  const int64_t cycles = CyclesOf(instruction);
  counts_.waiting[unit] += start - state.end;
  counts_.busy[unit] += cycles;
  Count(instruction);
  state.running = index;
  state.end = start + cycles;
  if (is_copy) memory_free_ = state.end;
  return accesses_.Add(index, state.known);
}

void Machine::EndIfDone(int unit) {
  Unit& state = units_[unit];
  if (!state.running || state.end > now_) return;
  const VdlaInstruction& instruction = program_.instructions[*state.running];
  if (chip_) chip_->Run(program_, instruction, *operands_);
  state.known[unit] = static_cast<int64_t>(*state.running);
  tokens_.Push(unit, instruction.tokens, state.known);
  state.running.reset();
}

std::optional<int64_t> Machine::NextEvent() const {
  std::optional<int64_t> next;
  for (const Unit& unit : units_) {
    std::optional<int64_t> event;
    if (unit.running) {
      event = unit.end;
    } else if (!unit.queue.empty() && unit.queue.front().at > now_) {
      event = unit.queue.front().at;
    }
    if (event) next = std::min(next.value_or(*event), *event);
  }
  return next;
}

// Says what a unit that does not run waits for.
std::string Machine::StateOf(int unit) const {
  const std::string name = NameOf(static_cast<VdlaUnit>(unit));
  if (!units_[unit].queue.empty()) {
    const size_t head = units_[unit].queue.front().instruction;
    const int other = tokens_.Missing(unit, program_.instructions[head].tokens).value();
    return fmt::format("{} waits at instruction {} for a token from {}", name, head,
                       NameOf(static_cast<VdlaUnit>(other)));
  }
  for (size_t i = next_fetch_; i < program_.instructions.size(); ++i) {
    if (UnitOf(program_.instructions[i]) != static_cast<VdlaUnit>(unit)) continue;
    return fmt::format("{} waits for the fetch of instruction {}", name, i);
  }
  return fmt::format("{} has ended", name);
}

Status Machine::CheckFinished() const {
  const bool idle = std::ranges::all_of(units_, [](const Unit& u) { return u.queue.empty(); });
  if (idle) return tokens_.CheckEmpty();
  return UsageError("vdla deadlock: {}; {}; {}", StateOf(0), StateOf(1), StateOf(2));
}

StatusOr<VdlaCounts> Machine::Run() {
  LoadMicroOps();
  Fetch();
  while (true) {
    for (int unit = 0; unit < kVdlaUnits; ++unit) TCC_RETURN_IF_ERROR(BeginIfReady(unit));
    Fetch();
    const std::optional<int64_t> next = NextEvent();
    if (!next) break;
    now_ = *next;
    for (int unit = 0; unit < kVdlaUnits; ++unit) EndIfDone(unit);
  }
  TCC_RETURN_IF_ERROR(CheckFinished());
  counts_.cycles = now_;
  return counts_;
}

void CheckConfig(const VdlaConfig& config) {
  TCC_CHECK(config.bytes_per_cycle >= 1) << config.bytes_per_cycle;
  TCC_CHECK(config.memory_latency >= 1) << config.memory_latency;
  TCC_CHECK(config.issue_cycles >= 0) << config.issue_cycles;
  TCC_CHECK(config.queue_depth >= 1) << config.queue_depth;
}

// Checks that the output stage's operands have a number for every channel.
Status CheckOutputOperands(const VdlaProgram& program,
                           std::span<const std::span<uint8_t>> operands) {
  for (const VdlaOutput& output : program.outputs) {
    for (const VdlaOutputStep& step : output.steps) {
      if (!step.is_by_channel) continue;
      const size_t bytes = operands[step.buffer].size();
      if (output.channels * sizeof(int32_t) <= bytes) continue;
      return InvalidInput(
          "an output stage reads numbers of {} channels from buffer {}; it has {} bytes",
          output.channels, step.buffer, bytes);
    }
  }
  return OkStatus();
}

// Checks that every copy lies within its operand.
Status CheckOperands(const VdlaProgram& program, std::span<const std::span<uint8_t>> operands) {
  if (operands.size() != program.buffers) {
    return InvalidInput("a vdla program of {} buffers is given {} operands", program.buffers,
                        operands.size());
  }
  TCC_RETURN_IF_ERROR(CheckOutputOperands(program, operands));
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const auto* copy = std::get_if<VdlaCopy>(&program.instructions[i].work);
    if (copy == nullptr) continue;
    const int64_t end = MemoryEnd(*copy) * ElementBytes(program, *copy);
    const size_t bytes = operands[copy->buffer].size();
    if (static_cast<size_t>(end) <= bytes) continue;
    return InvalidInput("instruction {} ({}) accesses buffer {} up to byte {}; it has {}", i,
                        NameOf(UnitOf(program.instructions[i])), copy->buffer, end, bytes);
  }
  return OkStatus();
}

}  // namespace

StatusOr<VdlaCounts> RunVdla(const VdlaProgram& program, const VdlaConfig& config,
                             std::span<const std::span<uint8_t>> operands,
                             std::optional<uint64_t> delays) {
  CheckConfig(config);
  TCC_RETURN_IF_ERROR(VerifyVdlaProgram(program, config));
  TCC_RETURN_IF_ERROR(CheckOperands(program, operands));
  return Machine(program, config, operands, delays).Run();
}

StatusOr<VdlaCounts> TimeVdla(const VdlaProgram& program, const VdlaConfig& config) {
  CheckConfig(config);
  TCC_RETURN_IF_ERROR(VerifyVdlaProgram(program, config));
  return Machine(program, config, std::nullopt, std::nullopt).Run();
}

}  // namespace tcc
