#pragma once

#include <string>

#include "runtime/vdla/vdla_isa.h"

namespace tcc {

// Returns a program for people: a line for each instruction, its tokens in brackets, "<l" for a
// token from load, ">s" for one to store.
std::string ProgramText(const std::string& name, const VdlaProgram& program);

}  // namespace tcc
