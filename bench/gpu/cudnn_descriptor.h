#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bench/gpu/cudnn_library.h"

namespace tcc::cudnn {

// A handle of cuDNN's on a stream. It stays open until the process ends.
class Session {
 public:
  static StatusOr<Session> Open(CudaStreamHandle stream);

  const Library& library() const { return library_; }
  void* handle() const { return handle_; }
  // Turns an error into "cudnnBackendFinalize of a tensor fails: BAD_PARAM".
  Status Expect(int result, const char* call, const char* what) const;

 private:
  Library library_;
  void* handle_ = nullptr;
};

// Returns the session of the process, on the stream of its first caller.
StatusOr<const Session*> SharedSession(CudaStreamHandle stream);

// A backend descriptor. Its attributes are set, then it is finalized and others can use it. The
// first error stays; Finalize returns it.
class Descriptor {
 public:
  // `what` names it in messages.
  Descriptor(const Session& session, DescriptorType type, const char* what);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  void* get() const { return handle_; }

  template <typename T>
  Descriptor& Set(Attribute attribute, AttributeType type, std::span<const T> values) {
    return SetBytes(attribute, type, static_cast<int64_t>(values.size()), values.data());
  }
  template <typename T>
  Descriptor& Set(Attribute attribute, AttributeType type, T value) {
    return SetBytes(attribute, type, 1, static_cast<const void*>(&value));
  }
  // Sets the attribute to another descriptor, which is finalized.
  Descriptor& Set(Attribute attribute, const Descriptor& value) {
    return Set(attribute, kTypeDescriptor, value.get());
  }
  Descriptor& Set(Attribute attribute, std::span<const int64_t> values) {
    return Set(attribute, kTypeInt64, values);
  }

  Status Finalize();

  // Reads at most `room` values and returns how many there are.
  StatusOr<int64_t> Get(Attribute attribute, AttributeType type, int64_t room, void* values) const;

 private:
  Descriptor& SetBytes(Attribute attribute, AttributeType type, int64_t count, const void* values);

  const Session* session_;
  const char* what_;
  void* handle_ = nullptr;
  Status status_;
};

}  // namespace tcc::cudnn
