#pragma once

// TCC_ADDRESS_SANITIZER is defined where the tests are built with AddressSanitizer: g++ says so by
// a macro, clang by a feature.
#if defined(__SANITIZE_ADDRESS__)
#define TCC_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TCC_ADDRESS_SANITIZER
#endif
#endif
