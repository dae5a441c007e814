#pragma once

#include "runtime/artefact/artefact.h"
#include "support/status.h"

namespace tcc {

// Moves the weights of an artefact that ReadArtefact mapped into memory of huge pages, if the
// system has such pages and the weights fill several of them; leaves them mapped otherwise, also
// where memory is short. A file's pages have 4 KiB: a kernel that streams weights then misses the
// TLB every 64 cache lines, and which cache sets they share is left to chance. The mapping's pages
// are given back while they are copied, so that the peak stays one copy.
void MoveWeightsToHugePages(Artefact& artefact);

}  // namespace tcc
