#pragma once

#include <string>

// Databases for tests of the embedding API, which see none of the compiler's own types.

// Makes a database that says of kernels of a small network of the zoo that another schedule than
// the constructed one is the fastest on this machine. Nothing is measured. Returns the number of
// kernels.
int PlantFasterSchedules(const std::string& network, const std::string& path);
