#include "api/convert.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/executor/binding.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

// The API lists the same types as the compiler.
#define TCC_SAME_CODE(text, code, bits, kind) \
  static_assert(static_cast<int>(v1::DType::code) == static_cast<int>(DTypeCode::code));
TCC_DTYPES(TCC_SAME_CODE)
#undef TCC_SAME_CODE

#define TCC_ONE_MORE(text, code, bits, kind) +1
constexpr auto kLastDType = static_cast<v1::DType>(-1 TCC_DTYPES(TCC_ONE_MORE));
#undef TCC_ONE_MORE

v1::Code ToCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return v1::Code::kOk;
    case absl::StatusCode::kFailedPrecondition:
      return v1::Code::kUsage;
    case absl::StatusCode::kUnimplemented:
      return v1::Code::kUnsupported;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kOutOfRange:
      return v1::Code::kBadInput;
    case absl::StatusCode::kUnavailable:
      return v1::Code::kMissing;
    case absl::StatusCode::kResourceExhausted:
      return v1::Code::kNoMemory;
    case absl::StatusCode::kDeadlineExceeded:
      return v1::Code::kBudget;
    case absl::StatusCode::kCancelled:
      return v1::Code::kCancelled;
    default:
      return v1::Code::kInternal;  // the list of codes is Abseil's, which asks for a default
  }
}

// Returns the view for each of `infos`, after checking that every view has a valid type.
template <typename View>
StatusOr<std::vector<const View*>> Arrange(const std::string& kind,
                                           const std::vector<TensorInfo>& infos,
                                           std::span<const View> views) {
  std::vector<const View*> places(infos.size(), nullptr);
  for (size_t i = 0; i < views.size(); ++i) {
    const View& view = views[i];
    size_t place = i;
    if (!view.name.empty()) {
      auto found = std::ranges::find(infos, view.name, &TensorInfo::name);
      place = static_cast<size_t>(found - infos.begin());
      if (place == infos.size()) return InvalidInput("the model has no {} '{}'", kind, view.name);
    }
    if (place >= infos.size()) return InvalidInput("the model has {} {}s", infos.size(), kind);
    if (places[place]) return InvalidInput("{} '{}' is given twice", kind, infos[place].name);
    if (view.data == nullptr && view.bytes > 0) {
      return InvalidInput("{} '{}' has no memory", kind, infos[place].name);
    }
    if (!ToDType(view.dtype)) {
      return NoDType(view.dtype, fmt::format("{} '{}'", kind, infos[place].name));
    }
    places[place] = &view;
  }
  for (size_t i = 0; i < places.size(); ++i) {
    if (!places[i]) return InvalidInput("{} '{}' is missing", kind, infos[i].name);
  }
  return places;
}

// Makes a tensor of a view that Arrange has checked.
Tensor ViewOf(v1::DType dtype, std::vector<int64_t> shape, const void* data, size_t bytes) {
  return {*ToDType(dtype), std::move(shape), nullptr, {static_cast<const uint8_t*>(data), bytes}};
}

std::string_view FieldOf(Option option) {
  switch (option) {
    case Option::kDims:
      return "CompileOptions::dims";
    case Option::kRanges:
      return "CompileOptions::ranges";
    case Option::kShapes:
      return "CompileOptions::shapes";
    case Option::kBinds:
      return "CompileOptions::binds";
    case Option::kTarget:
      return "CompileOptions::target";
    case Option::kLinks:
      return "CompileOptions::follow_links";
  }
  return "";
}

template <typename View>
StatusOr<std::vector<Tensor>> ArrangeInputViews(const Metadata& metadata,
                                                std::span<const View> inputs) {
  TCC_ASSIGN_OR_RETURN(std::vector<const View*> places, Arrange("input", metadata.inputs, inputs));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < places.size(); ++i) {
    std::vector<int64_t> shape(places[i]->shape.begin(), places[i]->shape.end());
    if (shape.empty()) {
      std::optional<std::vector<int64_t>> declared = StaticShape(metadata.inputs[i]);
      if (!declared) {
        return InvalidInput("input '{}' is {}: its shape must be given", metadata.inputs[i].name,
                            TypeText(metadata.inputs[i], metadata));
      }
      shape = *declared;
    }
    tensors.push_back(
        ViewOf(places[i]->dtype, std::move(shape), places[i]->data, places[i]->bytes));
  }
  return tensors;
}

template <typename View>
StatusOr<std::vector<Tensor>> ArrangeOutputViews(const Metadata& metadata,
                                                 std::span<const std::vector<int64_t>> shapes,
                                                 std::span<const View> outputs) {
  TCC_ASSIGN_OR_RETURN(std::vector<const View*> places,
                       Arrange("output", metadata.outputs, outputs));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < places.size(); ++i) {
    const View& view = *places[i];
    std::vector<int64_t> shape(view.shape.begin(), view.shape.end());
    if (shape.empty()) shape = shapes[i];
    tensors.push_back(ViewOf(view.dtype, std::move(shape), view.data, view.bytes));
  }
  return tensors;
}

}  // namespace

v1::Status ToApi(const Status& status) {
  std::vector<std::string_view> fields;
  for (const WantedOption& wanted : WantedOptions(status)) {
    std::string_view field = FieldOf(wanted.option);
    if (std::ranges::count(fields, field) == 0) fields.push_back(field);
  }
  std::string message = Message(status);
  if (!fields.empty()) message += fmt::format(" ({})", fmt::join(fields, ", "));
  return {ToCode(status.code()), message};
}

std::optional<DType> ToDType(v1::DType dtype) {
  if (dtype > kLastDType) return std::nullopt;
  return DType(static_cast<DTypeCode>(dtype));
}

Status NoDType(v1::DType dtype, const std::string& what) {
  return InvalidInput("{} has DType {}; expected 0 to {}", what, static_cast<int>(dtype),
                      static_cast<int>(kLastDType));
}

v1::TensorInfo ToApi(const TensorInfo& info, const Metadata& metadata) {
  v1::TensorInfo result;
  result.name = info.name;
  result.dtype = static_cast<v1::DType>(info.dtype.code());
  std::vector<std::string> names = metadata.ShapeVariableNames();
  for (const SizeExpr& dim : info.shape) {
    std::optional<int64_t> size = dim.AsConstant();
    result.shape.push_back(size.value_or(-1));
    result.dim_names.push_back(size ? "" : ToString(dim, names));
  }
  if (std::optional<std::vector<int64_t>> shape = StaticShape(info)) {
    result.bytes = static_cast<size_t>(ByteCount(info.dtype, *shape).value_or(0));
  }
  return result;
}

v1::KernelInfo ToApi(const KernelInfo& info) {
  return {info.name, info.nodes, info.flops};
}

StatusOr<std::vector<Tensor>> ArrangeViews(const Metadata& metadata,
                                           std::span<const v1::Input> inputs) {
  return ArrangeInputViews(metadata, inputs);
}

StatusOr<std::vector<Tensor>> ArrangeViews(const Metadata& metadata,
                                           std::span<const v1::DeviceTensor> inputs) {
  return ArrangeInputViews(metadata, inputs);
}

StatusOr<std::vector<Tensor>> ArrangeViews(const Metadata& metadata,
                                           std::span<const std::vector<int64_t>> shapes,
                                           std::span<const v1::Output> outputs) {
  return ArrangeOutputViews(metadata, shapes, outputs);
}

StatusOr<std::vector<Tensor>> ArrangeViews(const Metadata& metadata,
                                           std::span<const std::vector<int64_t>> shapes,
                                           std::span<const v1::DeviceTensor> outputs) {
  return ArrangeOutputViews(metadata, shapes, outputs);
}

}  // namespace tcc
