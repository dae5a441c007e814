#pragma once

#include "support/cuda/cuda_library.h"

namespace tcc::cupti {

// Opens CUPTI, sought as support/cuda/cuda_library.h says; the variable is TCC_CUPTI.
StatusOr<OpenedLibrary> OpenSharedLibrary();

}  // namespace tcc::cupti
