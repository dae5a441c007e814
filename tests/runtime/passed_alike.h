#pragma once

#include <type_traits>

namespace tcc::test {

// Handles and enumerations have other names in NVIDIA's headers than in ours, so parameters are
// compared by what a call passes: how many, how wide, pointer or not.
template <typename Ours, typename Theirs>
constexpr bool kPassedAlike =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
    std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
template <>
inline constexpr bool kPassedAlike<void, void> = true;

// What a pointer leads to is as wide, where both know it.
template <typename Ours, typename Theirs>
constexpr bool LeadAlike() {
  using O = std::remove_pointer_t<Ours>;
  using T = std::remove_pointer_t<Theirs>;
  if constexpr (!std::is_pointer_v<Ours> || std::is_void_v<O> || std::is_void_v<T> ||
                std::is_class_v<O> || std::is_class_v<T> || std::is_function_v<O>) {
    return true;
  } else {
    return sizeof(O) == sizeof(T);
  }
}

template <typename Ours, typename Theirs>
struct Alike : std::false_type {};
template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct Alike<OurResult (*)(Ours...), TheirResult (*)(Theirs...)>
    : std::bool_constant<kPassedAlike<OurResult, TheirResult> &&
                         (kPassedAlike<Ours, Theirs> && ...) &&
                         (LeadAlike<Ours, Theirs>() && ...)> {};

constexpr bool Same(auto ours, auto theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

}  // namespace tcc::test
