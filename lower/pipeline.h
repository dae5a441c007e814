#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "ir/expr/function.h"
#include "support/status.h"

namespace tcc {

struct PipelineOptions {
  // Whether to verify after every pass; a failure is an internal error that names the pass.
  bool verify = false;
  // Called with the result of each pass: its position in the list from 1, its name and the
  // function.
  std::function<void(int number, std::string_view pass, const Function& fn)> after_pass;
  // The position of the last pass to run, for bisecting a miscompilation.
  int last_pass = 1000;
  // Requests a stop. RunPipeline then returns Cancelled between two passes.
  std::stop_token stop = {};
};

struct Pass {
  std::string_view name;
  Function (*run)(const Function&);
  std::string_view holds_after;
  std::string_view why_here;
};

// Returns all passes in their order.
std::span<const Pass> Pipeline();

// Lowers a function from kTensor or kScheduled, with no free Tile variable, to kLowered. Error:
// `fn` itself does not verify (with options.verify), or a pass broke it.
StatusOr<Function> RunPipeline(const Function& fn, const PipelineOptions& options = {});

}  // namespace tcc
