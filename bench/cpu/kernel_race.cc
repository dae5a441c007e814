#include "bench/cpu/kernel_race.h"

#include <algorithm>

#include "bench/cpu/peers.h"
#include "runtime/cpu/cpu_rates.h"

namespace tcc {
namespace {

bool IsWanted(const RaceOptions& options, const Peer& peer) {
  return options.peers.empty() || std::ranges::count(options.peers, peer.name) > 0;
}

}  // namespace

StatusOr<RaceTimes> RunRace(const BenchKernel& kernel, const KernelCase& example,
                            std::span<const Racer> racers, const RaceOptions& options) {
  ThreadPool pool({.threads = options.threads});
  RaceTimes times;
  double operations = 0;
  std::vector<std::function<void()>> contestants = {[&] { operations = RunFmaLoop(pool); }};
  for (const Racer& racer : racers) {
    contestants.emplace_back([&] { racer.kernel.Run(pool); });
    TCC_RETURN_IF_ERROR(example.Check(racer.name, contestants.back()));
  }
  for (const Peer& peer : Peers()) {
    if (!IsWanted(options, peer)) continue;
    std::function<void()> run = peer.make(kernel, example.arguments(), options.threads);
    if (!run) continue;
    TCC_RETURN_IF_ERROR(example.Check(std::string(peer.name), run));
    times.peers.emplace_back(peer.name, 0);
    contestants.push_back(std::move(run));
  }
  std::vector<double> seconds = LeastSeconds(contestants, options.rounds);
  times.peak_gflops = operations / seconds[0] / 1e9;
  auto next = seconds.begin() + 1;
  for (size_t i = 0; i < racers.size(); ++i) times.ours.push_back(*next++ * 1e6);
  for (auto& [name, microseconds] : times.peers) microseconds = *next++ * 1e6;
  return times;
}

Status ExpectPeers(std::span<const std::string> names) {
  for (const std::string& name : names) {
    bool known = name == "none" ||
                 std::ranges::any_of(Peers(), [&](const Peer& peer) { return peer.name == name; });
    if (!known) return UsageError("no peer '{}'; there are onednn and openblas", name);
  }
  return OkStatus();
}

}  // namespace tcc
