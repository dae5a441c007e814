#pragma once

#include <memory>
#include <string>

#include "runtime/opencl/opencl_context.h"
#include "support/status.h"

namespace tcc {

// Builds the text of kernels for the context's device. What the driver makes of it is kept in
// `cache_folder` ("": nowhere), under a hash of the text, the options, the device and the driver; a
// file there that is damaged or that the driver refuses is made anew. InvalidArgument ends with the
// compiler's log. `what` names the text in messages.
StatusOr<OpenClModule> BuildOpenClText(const std::shared_ptr<const OpenClContext>& context,
                                       const std::string& text, const std::string& cache_folder,
                                       const std::string& what);

}  // namespace tcc
