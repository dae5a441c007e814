#include "cli/bench/chrome_trace.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/kernel_facts.h"

namespace tcc {
namespace {

using Json = nlohmann::ordered_json;

// Makes an event of the format's phase `ph` on the track of a thread.
Json Event(const char* phase, const std::string& name, int thread) {
  return {{"name", name}, {"ph", phase}, {"pid", 0}, {"tid", thread}};
}

Json Slice(const std::string& name, const char* category, int thread, double start_us,
           double microseconds) {
  Json event = Event("X", name, thread);
  event["cat"] = category;
  event["ts"] = start_us;
  event["dur"] = microseconds;
  return event;
}

void AddNames(const TracedRun& run, const Artefact& artefact, Json& events) {
  Json process = Event("M", "process_name", 0);
  process["args"] = {{"name", "tcc bench " + artefact.metadata.model}};
  events.push_back(std::move(process));
  for (int thread = 0; thread < run.threads; ++thread) {
    bool is_device = run.threads == 1 && artefact.device != "cpu";
    Json name = Event("M", "thread_name", thread);
    name["args"] = {{"name", is_device     ? artefact.device
                             : thread == 0 ? "thread 0, the caller"
                                           : fmt::format("thread {}", thread)}};
    events.push_back(std::move(name));
    Json order = Event("M", "thread_sort_index", thread);
    order["args"] = {{"sort_index", thread}};
    events.push_back(std::move(order));
  }
}

void AddCalls(const TracedRun& run, const Profile& profile, const Artefact& artefact,
              Json& events) {
  std::vector<KernelBound> bounds = BoundsOf(artefact, profile.peaks);
  for (const ProfiledCall& call : run.calls) {
    const KernelInfo& kernel = artefact.metadata.kernels[call.kernel];
    const KernelBound& bound = bounds[call.kernel];
    double percent = call.microseconds > 0 ? bound.seconds * 1e8 / call.microseconds : 0;
    Json event = Slice(kernel.name, "kernel", 0, call.start_us, call.microseconds);
    event["args"] = {{"nodes", kernel.nodes},
                     {"flops", kernel.flops},
                     {"peak", bound.of},
                     {"percent_of_peak", percent}};
    if (!profile.counters.empty() && profile.counters[call.kernel]) {
      event["args"].update(CountersJson(*profile.counters[call.kernel]));
    }
    events.push_back(std::move(event));
  }
}

// Adds an arrow from a call to a part on another thread. The format binds each end to the slice
// that encloses it; "bp" says so of the arrow's head.
void AddFlow(const ProfiledCall& call, const ProfiledPart& part, int id, Json& events) {
  for (const char* phase : {"s", "f"}) {
    bool is_head = *phase == 'f';
    Json event = Event(phase, "part", is_head ? part.thread : 0);
    event["cat"] = "flow";
    event["id"] = id;
    event["ts"] = is_head ? part.start_us : call.start_us;
    if (is_head) event["bp"] = "e";
    events.push_back(std::move(event));
  }
}

// Adds the parts of loops, and a flow to the first part that a thread takes of a call.
void AddParts(const TracedRun& run, const Metadata& metadata, Json& events) {
  std::set<std::pair<size_t, int>> reached;  // calls and threads
  int flows = 0;
  for (const ProfiledPart& part : run.parts) {
    const ProfiledCall& call = run.calls[part.call];
    const std::string& name = metadata.kernels[call.kernel].name;
    Json event = Slice(name, "part", part.thread, part.start_us, part.microseconds);
    event["args"] = {{"begin", part.begin}, {"end", part.end}};
    events.push_back(std::move(event));
    if (part.thread > 0 && reached.emplace(part.call, part.thread).second) {
      AddFlow(call, part, ++flows, events);
    }
  }
}

// Returns the bytes of the arena that a call's buffers cover; those whose places depend on sizes or
// loops are left out.
int64_t ArenaBytes(const PlanCall& call, const Plan& plan) {
  std::map<int64_t, int64_t> ranges;  // ends by beginnings
  for (BufferId id : call.buffers) {
    const PlanBuffer& buffer = plan.buffers[id];
    std::optional<int64_t> offset = buffer.offset.AsConstant(), bytes = buffer.bytes.AsConstant();
    if (buffer.kind != BufferKind::kArena || !offset || !bytes) continue;
    int64_t& end = ranges[*offset];
    end = std::max(end, *offset + *bytes);
  }
  int64_t covered = 0, reached = 0;
  for (const auto& [begin, end] : ranges) {
    covered += std::max<int64_t>(0, end - std::max(begin, reached));
    reached = std::max(reached, end);
  }
  return covered;
}

void AddArenaCounter(const TracedRun& run, const Plan& plan, Json& events) {
  // A kernel's calls have buffers of equal sizes: the first one in the plan stands for all.
  std::map<size_t, int64_t> bytes;
  for (const PlanCall* call : CallsIn(plan.body))
    bytes.emplace(call->kernel, ArenaBytes(*call, plan));
  auto add = [&](double time, int64_t value) {
    Json event = Event("C", "arena bytes of the call", 0);
    event["ts"] = time;
    event["args"] = {{"bytes", value}};
    events.push_back(std::move(event));
  };
  for (const ProfiledCall& call : run.calls) add(call.start_us, bytes[call.kernel]);
  if (!run.calls.empty()) add(run.calls.back().start_us + run.calls.back().microseconds, 0);
}

}  // namespace

std::string ChromeTrace(const TracedRun& run, const Profile& profile, const Artefact& artefact) {
  Json events = Json::array();
  AddNames(run, artefact, events);
  AddCalls(run, profile, artefact, events);
  AddParts(run, artefact.metadata, events);
  AddArenaCounter(run, artefact.plan, events);
  Json trace = {{"traceEvents", events},
                {"displayTimeUnit", "ms"},
                {"otherData", {{"model", artefact.metadata.model}, {"timer", profile.timer}}}};
  return trace.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace tcc
