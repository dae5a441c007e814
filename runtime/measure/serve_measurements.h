#pragma once

namespace tcc {

// Answers the frames of a tuner, which come from `input`, on `output` until the tuner closes its
// end; both may be the same socket. This is the whole of a worker process. Kernels run in this
// process, so that their faults end it. The process takes limits of its own (no core files, the
// address space that the tuner says) and ends at once when the tuner goes away in the middle of a
// kernel. Returns the exit code: 0, or 2 for a frame that makes no sense, which a line on stderr
// reports. The process exits with 3 after it has told of a fault that no later call of the GPU's
// driver survives, with 4 after it has told of a kernel that does not end.
int ServeMeasurements(int input, int output);

}  // namespace tcc
