// Metal's keywords and scalar types. An address space is part of a type, so that overloads, conversions and
// diagnostics are Metal's; on a CPU every space is the same memory.
#pragma once

#define device __attribute__((opencl_global))
#define constant __attribute__((opencl_constant)) const
#define threadgroup __attribute__((opencl_local))
#define thread
#define kernel static inline __attribute__((always_inline))

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Float16 half;

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;
typedef long intptr_t;

static_assert(sizeof(long) == 8, "the host device needs a platform whose long has 64 bits, as Metal's has");

namespace metal {
using ::uchar;
using ::ushort;
using ::uint;
using ::ulong;
using ::half;
using ::int8_t;
using ::uint8_t;
using ::int16_t;
using ::uint16_t;
using ::int32_t;
using ::uint32_t;
using ::int64_t;
using ::uint64_t;
using ::size_t;
using ::ptrdiff_t;
}  // namespace metal

// Metal's char is a signed type of its own; torch's int8 is `char` in Metal text and int8_t is a synonym there.
