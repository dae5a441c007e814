#pragma once

namespace tcc {

// The conditions of a run.
struct RunSettings {
  int threads = 1;
  bool cold_weights = false;      // the caches hold no constants when a run begins
  bool cold_activations = false;  // nor any other data
};

}  // namespace tcc
