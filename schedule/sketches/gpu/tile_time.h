#pragma once

#include <cstdint>

#include "support/device_profile.h"

namespace tcc {

// The work of one launch of a tiled contraction or window: what SecondsOf needs to know of a tile.
struct TileWork {
  int64_t blocks = 1;
  int64_t threads = 1;        // of a block
  int64_t steps = 1;          // of the reduction, between two barriers
  int64_t multiply_adds = 1;  // of a thread in a step
  double loads = 0;           // of a thread in a step, from shared memory, in vectors
  double load_cycles = 0;     // that they occupy shared memory, per warp
  double copies = 0;          // of a thread in a step, to shared memory, in vectors
  double copied_bytes = 0;    // of a block in a step
  int64_t registers = 0;      // of a thread
  int64_t shared_bytes = 0;   // of a block, in all stages
};

// Returns the seconds that the launch is expected to take beyond its start: the root of the sum of
// squares of four bounds, so that the largest one counts most.
//   issue    the busiest multiprocessor issues all instructions of its blocks
//   shared   it reads their operands from shared memory
//   alone    it runs its blocks in turns of those that are resident at a time, each as fast as a
//            warp is that nothing else delays
//   l2       all blocks copy their operands from L2
// The constants (kTile... in gpu_thresholds.h) were fitted to 1,665 points of an H200 and to four
// large products besides. They order 0.88 of the pairs of these points right, and 0.87 of an
// H100's; the point that they expect to be the fastest one takes 1.16 times the best one of its
// kernel, in geometric mean, on both.
double SecondsOf(const TileWork& work, const GpuProfile& gpu);

// Returns the seconds that the last blocks take to add up the parts of `results` results; a launch
// is the measure of their meeting.
double SecondsOfParts(int64_t parts, int64_t results, const GpuProfile& gpu);

}  // namespace tcc
