#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "codegen_cuda/emulator/driver.h"
#include "runtime/measure/measure_protocol.h"
#include "runtime/measure/serve_measurements.h"
#include "support/check.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"
#include "tests/runtime/socket_pair.h"

namespace tcc::test {

// A worker in a forked child, over the emulated driver as a library.
class GpuWorker {
 public:
  explicit GpuWorker(const HelloMessage& hello, const char* driver = TCC_EMULATED_CUDA,
                     const std::string& fault = "") {
    child_ = fork();
    TCC_CHECK(child_ >= 0);
    if (child_ == 0) {
      sockets_.CloseEnd(0);
      for (int number : {SIGSEGV, SIGABRT, SIGTERM}) std::signal(number, SIG_DFL);
      TCC_CHECK(freopen("/dev/null", "w", stderr) != nullptr);
      alarm(60);
      setenv("TCC_CUDA_DRIVER", driver, 1);
      setenv("TCC_EMULATED_FAULT", fault.c_str(), 1);
      unsetenv("TCC_EMULATED_SM");
      _exit(ServeMeasurements(sockets_.end(1), sockets_.end(1)));
    }
    sockets_.CloseEnd(1);
    Send(FrameKind::kHello, Encode(hello));
  }
  GpuWorker(const GpuWorker&) = delete;
  GpuWorker& operator=(const GpuWorker&) = delete;
  ~GpuWorker() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    ExitCode();
  }

  void Send(FrameKind kind, const std::vector<uint8_t>& payload) {
    WriteFrame(sockets_.end(0), kind, payload).IgnoreError();
  }
  StatusOr<MeasureFrame> Read() { return ReadFrame(sockets_.end(0), In(std::chrono::seconds(60))); }
  // Waits for the worker's end; -1: it was killed.
  int ExitCode() {
    int status = 0;
    waitpid(std::exchange(child_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  Measurement Measure(const Artefact& artefact) {
    Send(FrameKind::kMeasure, Encode(MeasureMessage{.id = 1, .artefact = ArtefactBytes(artefact)}));
    StatusOr<MeasureFrame> frame = Read();
    TCC_CHECK(frame.ok()) << Message(frame.status());
    return DecodeMeasured(frame->payload).value().measurement;
  }

 private:
  SocketPair sockets_;
  pid_t child_ = 0;
};

inline HelloMessage CudaHello() {
  return {.threads = 1,
          .device = "cuda",
          .ordinal = static_cast<uint32_t>(emulator::EmulatedOrdinal(kSm))};
}

}  // namespace tcc::test
