#include "lower/pipeline.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "ir/analysis/verifier.h"
#include "ir/text/printer.h"
#include "tests/lower/pass_check.h"
#include "tests/programs/spike_programs.h"

using namespace tcc;

TEST_CASE("every pass says what holds after it and why it stands there", "[lower][pipeline]") {
  std::set<std::string_view> names;
  for (const Pass& pass : Pipeline()) {
    INFO(pass.name);
    CHECK(names.insert(pass.name).second);
    CHECK_FALSE(pass.holds_after.empty());
    CHECK_FALSE(pass.why_here.empty());
  }
}

TEST_CASE("after_pass sees each pass's result in the order of the list", "[lower][pipeline]") {
  std::vector<std::string> seen;
  std::string last;
  PipelineOptions options;
  options.after_pass = [&](int number, std::string_view pass, const Function& fn) {
    seen.push_back(fmt::format("{} {}", number, pass));
    last = Print(fn);
  };
  StatusOr<Function> lowered = RunPipeline(MatmulFunction(3, 4, 5), options);
  REQUIRE(lowered.ok());
  REQUIRE(seen.size() == Pipeline().size());
  for (size_t i = 0; i < seen.size(); ++i) {
    CHECK(seen[i] == fmt::format("{} {}", i + 1, Pipeline()[i].name));
  }
  CHECK(Print(*lowered) == last);
}

TEST_CASE("last_pass stops where it says, with the result of that pass", "[lower][pipeline]") {
  std::vector<std::string> texts = {Print(MatmulFunction(3, 4, 5))};
  PipelineOptions all;
  all.after_pass = [&](int, std::string_view, const Function& fn) { texts.push_back(Print(fn)); };
  REQUIRE(RunPipeline(MatmulFunction(3, 4, 5), all).ok());
  for (size_t stop = 0; stop < texts.size(); ++stop) {
    PipelineOptions options;
    options.last_pass = static_cast<int>(stop);
    StatusOr<Function> fn = RunPipeline(MatmulFunction(3, 4, 5), options);
    REQUIRE(fn.ok());
    CHECK(Print(*fn) == texts[stop]);
  }
}

TEST_CASE("a function that does not verify is refused before the first pass", "[lower][pipeline]") {
  Function broken = MatmulFunction(3, 4, 5);
  broken.params.pop_back();
  PipelineOptions options;
  options.verify = true;
  int passes = 0;
  options.after_pass = [&](int, std::string_view, const Function&) { ++passes; };
  StatusOr<Function> lowered = RunPipeline(broken, options);
  CHECK(Message(lowered.status()) == Message(Verify(broken)));
  CHECK_FALSE(lowered.ok());
  CHECK(passes == 0);
}

TEST_CASE("every intermediate function computes the same", "[lower][pipeline]") {
  for (size_t index = 0; index < SpikeCount(); ++index) {
    Random random(index);
    SpikeProgram spike = BuildSpike(index, random);
    Decisions decisions;
    for (const FreeSize& size : spike.trace.sizes) decisions[size.var->name] = 3;
    StatusOr<Function> fn = Replay(spike.fn, spike.trace, decisions);
    INFO(spike.name << fn.status());
    REQUIRE(fn.ok());
    // Without barriers threads mean nothing yet.
    std::span<const Pass> passes = Pipeline();
    auto barriers = std::ranges::find_if(
        passes, [](const Pass& pass) { return pass.name == "insert_barriers"; });
    auto first = static_cast<int>(barriers - passes.begin()) + 1;
    for (int stop = first; stop <= static_cast<int>(passes.size()); ++stop) {
      PipelineOptions options;
      options.verify = true;
      options.last_pass = stop;
      StatusOr<Function> lowered = RunPipeline(*fn, options);
      INFO(lowered.status());
      REQUIRE(lowered.ok());
      // From flatten_buffers to the mark, parameters are flat before the level says so.
      bool flat = lowered->params[0].rank() != spike.fn.params[0].rank();
      if (!flat || lowered->level == Level::kLowered) CheckSameResult(*lowered, spike.fn);
    }
  }
}
