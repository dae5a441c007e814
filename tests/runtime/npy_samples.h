#pragma once

#include <string_view>

#include "support/dtype.h"

// Files that numpy.save (NumPy 2.4.6) wrote.
namespace tcc {

using namespace std::string_view_literals;

struct NumpySample {
  DTypeCode dtype;
  std::string_view file;
};

// [[1, 2, 3], [100, 5, 6]]; [[1, 0, 1], [0, 1, 1]] of bool.
inline constexpr NumpySample kNumpyMatrices[] = {
    {DTypeCode::kBool,
     "\223NUMPY\001\000v\000{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), }       "
     "                                                   \012\001\000\001\000\001\001"sv},
    {DTypeCode::kInt8,
     "\223NUMPY\001\000v\000{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3), }       "
     "                                                   \012\001\002\003d\005\006"sv},
    {DTypeCode::kInt16,
     "\223NUMPY\001\000v\000{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }       "
     "                                                   \012\001\000\002\000\003\000d\000\005"
     "\000\006\000"sv},
    {DTypeCode::kInt32,
     "\223NUMPY\001\000v\000{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }       "
     "                                                   \012\001\000\000\000\002\000\000\000"
     "\003\000\000\000d\000\000\000\005\000\000\000\006\000\000\000"sv},
    {DTypeCode::kInt64,
     "\223NUMPY\001\000v\000{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3), }       "
     "                                                   \012\001\000\000\000\000\000\000\000"
     "\002\000\000\000\000\000\000\000\003\000\000\000\000\000\000\000d\000\000\000\000\000"
     "\000\000\005\000\000\000\000\000\000\000\006\000\000\000\000\000\000\000"sv},
    {DTypeCode::kUInt8,
     "\223NUMPY\001\000v\000{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }       "
     "                                                   \012\001\002\003d\005\006"sv},
    {DTypeCode::kUInt16,
     "\223NUMPY\001\000v\000{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }       "
     "                                                   \012\001\000\002\000\003\000d\000\005"
     "\000\006\000"sv},
    {DTypeCode::kUInt32,
     "\223NUMPY\001\000v\000{'descr': '<u4', 'fortran_order': False, 'shape': (2, 3), }       "
     "                                                   \012\001\000\000\000\002\000\000\000"
     "\003\000\000\000d\000\000\000\005\000\000\000\006\000\000\000"sv},
    {DTypeCode::kUInt64,
     "\223NUMPY\001\000v\000{'descr': '<u8', 'fortran_order': False, 'shape': (2, 3), }       "
     "                                                   \012\001\000\000\000\000\000\000\000"
     "\002\000\000\000\000\000\000\000\003\000\000\000\000\000\000\000d\000\000\000\000\000"
     "\000\000\005\000\000\000\000\000\000\000\006\000\000\000\000\000\000\000"sv},
    {DTypeCode::kFloat16,
     "\223NUMPY\001\000v\000{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }       "
     "                                                   \012\000<\000@\000B@V\000E\000F"sv},
    {DTypeCode::kFloat32,
     "\223NUMPY\001\000v\000{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }       "
     "                                                   \012\000\000\200?\000\000\000@\000"
     "\000@@\000\000\310B\000\000\240@\000\000\300@"sv},
    {DTypeCode::kFloat64,
     "\223NUMPY\001\000v\000{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }       "
     "                                                   \012\000\000\000\000\000\000\360?\000"
     "\000\000\000\000\000\000@\000\000\000\000\000\000\010@\000\000\000\000\000\000Y@\000\000"
     "\000\000\000\000\024@\000\000\000\000\000\000\030@"sv},
};

// numpy.arange(24, dtype="i1").reshape(2, 3, 4) in Fortran order.
inline constexpr std::string_view kNumpyFortranOrder =
    "\223NUMPY\001\000v\000{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3, 4), }     "
    "                                                   \012\000\014\004\020\010\024\001\015"
    "\005\021\011\025\002\016\006\022\012\026\003\017\007\023\013\027"sv;

// numpy.array(2.5, "f4")
inline constexpr std::string_view kNumpyScalar =
    "\223NUMPY\001\000v\000{'descr': '<f4', 'fortran_order': False, 'shape': (), }           "
    "                                                   \012\000\000 @"sv;

// numpy.zeros((0, 3), "f4")
inline constexpr std::string_view kNumpyEmpty =
    "\223NUMPY\001\000v\000{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }       "
    "                                                   \012"sv;

// numpy.array([7], "u1") in format version 2.0.
inline constexpr std::string_view kNumpyVersion2 =
    "\223NUMPY\002\000t\000\000\000{'descr': '|u1', 'fortran_order': False, 'shape': (1,), } "
    "                                                         \012\007"sv;

}  // namespace tcc
