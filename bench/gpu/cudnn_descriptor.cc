#include "bench/gpu/cudnn_descriptor.h"

namespace tcc::cudnn {

StatusOr<Session> Session::Open(CudaStreamHandle stream) {
  Session session;
  TCC_ASSIGN_OR_RETURN(session.library_, OpenLibrary());
  TCC_RETURN_IF_ERROR(
      session.Expect(session.library_.create(&session.handle_), "cudnnCreate", "a handle"));
  TCC_RETURN_IF_ERROR(session.Expect(session.library_.set_stream(session.handle_, stream),
                                     "cudnnSetStream", "the handle"));
  return session;
}

Status Session::Expect(int result, const char* call, const char* what) const {
  if (result == 0) return OkStatus();
  return absl::InternalError(
      fmt::format("{} of {} fails: {}", call, what, library_.error_text(result)));
}

StatusOr<const Session*> SharedSession(CudaStreamHandle stream) {
  static const StatusOr<Session> session = Session::Open(stream);
  TCC_RETURN_IF_ERROR(session.status());
  return &*session;
}

Descriptor::Descriptor(const Session& session, DescriptorType type, const char* what)
    : session_(&session), what_(what) {
  status_ =
      session.Expect(session.library().make(type, &handle_), "cudnnBackendCreateDescriptor", what);
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : session_(other.session_),
      what_(other.what_),
      handle_(std::exchange(other.handle_, nullptr)),
      status_(std::move(other.status_)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(session_, other.session_);
  std::swap(what_, other.what_);
  std::swap(handle_, other.handle_);
  std::swap(status_, other.status_);
  return *this;
}

Descriptor::~Descriptor() {
  if (handle_ != nullptr) session_->library().destroy(handle_);
}

Descriptor& Descriptor::SetBytes(Attribute attribute, AttributeType type, int64_t count,
                                 const void* values) {
  if (!status_.ok()) return *this;
  status_ = session_->Expect(session_->library().set(handle_, attribute, type, count, values),
                             "cudnnBackendSetAttribute", what_);
  return *this;
}

Status Descriptor::Finalize() {
  TCC_RETURN_IF_ERROR(status_);
  return session_->Expect(session_->library().finalize(handle_), "cudnnBackendFinalize", what_);
}

StatusOr<int64_t> Descriptor::Get(Attribute attribute, AttributeType type, int64_t room,
                                  void* values) const {
  TCC_RETURN_IF_ERROR(status_);
  int64_t count = 0;
  TCC_RETURN_IF_ERROR(
      session_->Expect(session_->library().get(handle_, attribute, type, room, &count, values),
                       "cudnnBackendGetAttribute", what_));
  return count;
}

}  // namespace tcc::cudnn
