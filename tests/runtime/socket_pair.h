#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <span>

#include "runtime/measure/measure_protocol.h"
#include "support/check.h"

namespace tcc {

// Both ends of a stream socket.
class SocketPair {
 public:
  SocketPair() { TCC_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) == 0); }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;
  ~SocketPair() {
    CloseEnd(0);
    CloseEnd(1);
  }
  int end(int which) const { return ends_[which]; }
  void CloseEnd(int which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  int ends_[2];
};

inline Deadline In(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

inline void SendBytes(int socket, std::span<const uint8_t> bytes) {
  TCC_CHECK(send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) == std::ssize(bytes));
}

}  // namespace tcc
