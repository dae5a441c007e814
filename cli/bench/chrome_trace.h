#pragma once

#include <string>

#include "cli/bench/profile.h"

namespace tcc {

// Returns a run in the format of Chrome's tracing, which Perfetto opens, too. Track 0 has the calls
// of kernels; on a CPU it is the calling thread, with its parts of their loops inside, and each
// other thread of the pool has a track with its own parts, to which flows lead. A counter shows the
// bytes of the arena that each call works on.
std::string ChromeTrace(const TracedRun& run, const Profile& profile, const Artefact& artefact);

}  // namespace tcc
