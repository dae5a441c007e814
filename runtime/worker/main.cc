// tcc-worker: measures kernels for a tuner, which starts it with a socket as its descriptor 3.
#include <sys/stat.h>

#include <cstdio>

#include "runtime/measure/serve_measurements.h"

int main() {
  constexpr int kSocket = 3;
  struct stat found{};
  if (fstat(kSocket, &found) != 0 || !S_ISSOCK(found.st_mode)) {
    std::fputs("tcc-worker: descriptor 3 is no socket; a tuner starts this program\n", stderr);
    return 2;
  }
  return tcc::ServeMeasurements(kSocket);
}
