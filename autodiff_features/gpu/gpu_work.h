#pragma once

#include <span>
#include <string>
#include <vector>

#include "autodiff_features/counts/operation_counts.h"
#include "autodiff_features/gpu/warp_access.h"
#include "schedule/space/resources.h"
#include "support/target.h"

namespace tcc {

// The counts of a leaf block of a launch, as f64 formulas over the free sizes: per run of its
// straight-line code in one warp, unless said otherwise. Every thread is taken to run all of its
// loops: guards leave out single instructions, rarely whole warps.
struct WarpSite {
  Site site;
  Expr warps;                     // of a block, that run the site; on average over the blocks
  Expr runs;                      // of the straight-line code in a warp
  Expr multiply_adds;             // instructions
  Expr instructions;              // all
  Expr special;                   // exponentials, reciprocals, roots
  Expr mma;                       // multiply-adds on tensor cores
  bool by_group = false;          // by four warps together, which is faster
  Expr passes;                    // of shared memory and L1
  Expr sectors;                   // that come from L2 or go there
  bool waits_for_memory = false;  // reads memory that no copy has fetched ahead
  bool waits_for_shared = false;
  bool fills_from_memory = false;  // copies it to shared memory: waited for without copies ahead
  Expr exchanges;                  // sums over threads, in all runs
  bool exact = true;
};

// A nest at the root of a function: one launch.
struct LaunchWork {
  std::string name;
  NestResources resources;
  std::vector<WarpSite> sites;
  Expr blocks;  // an integer
  Expr warps;   // of a block
  // How often the threads of a block wait for each other to fill shared memory, and how many steps
  // ahead copies are under way, 0: none.
  Expr steps;
  Expr ahead;
  Expr memory_bytes;    // different bytes of memory that the launch touches
  Expr constant_bytes;  // of them weights
  int64_t accesses = 0;
  std::vector<std::string> without_box = {};  // accesses without a box, as "mm of A"
};

// Count every launch of `fn` (kScheduled, sizes free or known) that runs with the kernel, in order.
// `resources` are ResourcesOf the function.
std::vector<LaunchWork> LaunchesOf(const Function& fn, const Target& target);
std::vector<LaunchWork> LaunchesOf(const Function& fn, std::span<const NestResources> resources);

}  // namespace tcc
