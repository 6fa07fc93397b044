// <metal_integer>: the functions of integers, each for the eight integer types and their vectors.
#pragma once

namespace metal {
namespace detail {

template <class T>
using wide_t = __int128;
template <class T>
constexpr T low = numeric_limits<T>::lowest();
template <class T>
constexpr T high = numeric_limits<T>::max();
template <class T>
using bits_t = __make_unsigned(T);
template <class T>
constexpr int width = sizeof(T) * 8;

// The product of two ulong needs an unsigned type.
template <class T>
using product_t = conditional_t<__is_unsigned(T), unsigned __int128, __int128>;
template <class T, class V>
constexpr T saturated(V v) {
  return v < V(low<T>) ? low<T> : v > V(high<T>) ? high<T> : static_cast<T>(v);
}
template <class T>
constexpr T int_abs(T x) {
  return x < 0 ? static_cast<T>(bits_t<T>(0) - static_cast<bits_t<T>>(x)) : x;
}
template <class T>
constexpr bits_t<T> int_absdiff(T x, T y) {
  return x > y ? static_cast<bits_t<T>>(static_cast<bits_t<T>>(x) - static_cast<bits_t<T>>(y))
               : static_cast<bits_t<T>>(static_cast<bits_t<T>>(y) - static_cast<bits_t<T>>(x));
}
template <class T>
constexpr T int_clz(T x) {
  return x == 0 ? T(width<T>) : static_cast<T>(__builtin_clzll(static_cast<bits_t<T>>(x)) - (64 - width<T>));
}
template <class T>
constexpr T int_ctz(T x) {
  return x == 0 ? T(width<T>) : static_cast<T>(__builtin_ctzll(static_cast<bits_t<T>>(x)));
}
template <class T>
constexpr T int_popcount(T x) {
  return static_cast<T>(__builtin_popcountll(static_cast<bits_t<T>>(x)));
}
template <class T>
constexpr T int_reverse(T x) {
  if constexpr (sizeof(T) == 1) {
    return static_cast<T>(__builtin_bitreverse8(static_cast<bits_t<T>>(x)));
  } else if constexpr (sizeof(T) == 2) {
    return static_cast<T>(__builtin_bitreverse16(static_cast<bits_t<T>>(x)));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<T>(__builtin_bitreverse32(static_cast<bits_t<T>>(x)));
  } else {
    return static_cast<T>(__builtin_bitreverse64(static_cast<bits_t<T>>(x)));
  }
}
template <class T>
constexpr T int_rotate(T x, T by) {
  const auto u = static_cast<bits_t<T>>(x);
  const int k = static_cast<int>(static_cast<bits_t<T>>(by) & (width<T> - 1));
  return static_cast<T>(k == 0 ? u : static_cast<bits_t<T>>((u << k) | (u >> (width<T> - k))));
}
template <class T>
constexpr T int_mulhi(T x, T y) {
  if constexpr (__is_signed(T)) {
    return static_cast<T>((__int128(x) * __int128(y)) >> width<T>);
  } else {
    return static_cast<T>((static_cast<unsigned __int128>(x) * y) >> width<T>);
  }
}
template <class T>
constexpr T int_extract(T x, uint offset, uint count) {
  const auto u = static_cast<bits_t<T>>(x);
  if (count == 0 || offset >= uint(width<T>)) {
    return 0;
  }
  const uint n = count > uint(width<T>) - offset ? uint(width<T>) - offset : count;
  const auto top = static_cast<bits_t<T>>(u << (width<T> - offset - n));
  return static_cast<T>(static_cast<T>(top) >> (width<T> - n));
}
template <class T>
constexpr T int_insert(T base, T insert, uint offset, uint count) {
  if (count == 0 || offset >= uint(width<T>)) {
    return base;
  }
  const auto ones = static_cast<bits_t<T>>(count >= uint(width<T>) ? ~bits_t<T>(0) : (bits_t<T>(1) << count) - 1);
  const auto mask = static_cast<bits_t<T>>(ones << offset);
  return static_cast<T>((static_cast<bits_t<T>>(base) & ~mask) | ((static_cast<bits_t<T>>(insert) << offset) & mask));
}
// Only the low 24 bits of each factor count.
constexpr int low24(int x) { return static_cast<int>(static_cast<uint>(x) << 8) >> 8; }
constexpr uint low24(uint x) { return x & 0xFFFFFFu; }

template <class T>
concept whole = __is_integral(T) && !__is_same(T, bool);
}  // namespace detail

#define PYMETAL_INTEGER_OVERLOADS(T)                                                                        \
  constexpr T abs(T x) { return detail::int_abs<T>(x); }                                                    \
  constexpr auto absdiff(T x, T y) { return detail::int_absdiff<T>(x, y); }                                 \
  constexpr T addsat(T x, T y) { return detail::saturated<T>(detail::wide_t<T>(x) + y); }                   \
  constexpr T subsat(T x, T y) { return detail::saturated<T>(detail::wide_t<T>(x) - y); }                   \
  constexpr T min(T x, T y) { return y < x ? y : x; }                                                       \
  constexpr T max(T x, T y) { return x < y ? y : x; }                                                       \
  constexpr T min3(T x, T y, T z) { return min(x, min(y, z)); }                                             \
  constexpr T max3(T x, T y, T z) { return max(x, max(y, z)); }                                             \
  constexpr T median3(T x, T y, T z) { return max(min(x, y), min(max(x, y), z)); }                          \
  constexpr T clamp(T x, T low, T high) { return min(max(x, low), high); }                                  \
  constexpr T clz(T x) { return detail::int_clz<T>(x); }                                                    \
  constexpr T ctz(T x) { return detail::int_ctz<T>(x); }                                                    \
  constexpr T popcount(T x) { return detail::int_popcount<T>(x); }                                          \
  constexpr T reverse_bits(T x) { return detail::int_reverse<T>(x); }                                       \
  constexpr T rotate(T x, T by) { return detail::int_rotate<T>(x, by); }                                    \
  constexpr T mulhi(T x, T y) { return detail::int_mulhi<T>(x, y); }                                        \
  constexpr T madhi(T x, T y, T z) {                                                                        \
    return static_cast<T>(static_cast<detail::bits_t<T>>(mulhi(x, y)) + static_cast<detail::bits_t<T>>(z)); \
  }                                                                                                         \
  constexpr T hadd(T x, T y) { return static_cast<T>((detail::wide_t<T>(x) + y) >> 1); }                    \
  constexpr T rhadd(T x, T y) { return static_cast<T>((detail::wide_t<T>(x) + y + 1) >> 1); }               \
  constexpr T madsat(T x, T y, T z) { return detail::saturated<T>(detail::product_t<T>(x) * y + z); }       \
  constexpr T extract_bits(T x, uint offset, uint count) { return detail::int_extract<T>(x, offset, count); } \
  constexpr T insert_bits(T base, T insert, uint offset, uint count) {                                      \
    return detail::int_insert<T>(base, insert, offset, count);                                              \
  }
PYMETAL_INTEGER_OVERLOADS(char)
PYMETAL_INTEGER_OVERLOADS(uchar)
PYMETAL_INTEGER_OVERLOADS(short)
PYMETAL_INTEGER_OVERLOADS(ushort)
PYMETAL_INTEGER_OVERLOADS(int)
PYMETAL_INTEGER_OVERLOADS(uint)
PYMETAL_INTEGER_OVERLOADS(long)
PYMETAL_INTEGER_OVERLOADS(ulong)
#undef PYMETAL_INTEGER_OVERLOADS

constexpr int mul24(int x, int y) { return static_cast<int>(uint(detail::low24(x)) * uint(detail::low24(y))); }
constexpr uint mul24(uint x, uint y) { return detail::low24(x) * detail::low24(y); }
constexpr int mad24(int x, int y, int z) { return static_cast<int>(uint(mul24(x, y)) + uint(z)); }
constexpr uint mad24(uint x, uint y, uint z) { return mul24(x, y) + z; }

#define PYMETAL_VECTOR1(NAME)                                   \
  template <detail::whole T, int N>                             \
  constexpr auto NAME(vec<T, N> v) {                            \
    return vec<T, N>::map([](T p) { return NAME(p); }, v);      \
  }
#define PYMETAL_VECTOR2(NAME)                                             \
  template <detail::whole T, int N>                                       \
  constexpr auto NAME(vec<T, N> v, vec<T, N> w) {                         \
    return vec<T, N>::map([](T p, T q) { return NAME(p, q); }, v, w);     \
  }                                                                       \
  template <detail::whole T, int N>                                       \
  constexpr auto NAME(vec<T, N> v, detail::same_type<T> q) {              \
    return vec<T, N>::map([q](T p) { return NAME(p, q); }, v);            \
  }
#define PYMETAL_VECTOR3(NAME)                                                       \
  template <detail::whole T, int N>                                                 \
  constexpr auto NAME(vec<T, N> v, vec<T, N> w, vec<T, N> u) {                      \
    return vec<T, N>::map([](T p, T q, T r) { return NAME(p, q, r); }, v, w, u);    \
  }
PYMETAL_VECTOR1(abs)
PYMETAL_VECTOR1(clz)
PYMETAL_VECTOR1(ctz)
PYMETAL_VECTOR1(popcount)
PYMETAL_VECTOR1(reverse_bits)
PYMETAL_VECTOR2(absdiff)
PYMETAL_VECTOR2(addsat)
PYMETAL_VECTOR2(subsat)
PYMETAL_VECTOR2(hadd)
PYMETAL_VECTOR2(rhadd)
PYMETAL_VECTOR2(min)
PYMETAL_VECTOR2(max)
PYMETAL_VECTOR2(mulhi)
PYMETAL_VECTOR2(rotate)
PYMETAL_VECTOR3(clamp)
PYMETAL_VECTOR3(min3)
PYMETAL_VECTOR3(max3)
PYMETAL_VECTOR3(median3)
PYMETAL_VECTOR3(madhi)
PYMETAL_VECTOR3(madsat)
PYMETAL_VECTOR3(mad24)
PYMETAL_VECTOR2(mul24)
#undef PYMETAL_VECTOR1
#undef PYMETAL_VECTOR2
#undef PYMETAL_VECTOR3
template <detail::whole T, int N>
constexpr vec<T, N> extract_bits(vec<T, N> v, uint offset, uint count) {
  return vec<T, N>::map([=](T p) { return extract_bits(p, offset, count); }, v);
}
template <detail::whole T, int N>
constexpr vec<T, N> insert_bits(vec<T, N> base, vec<T, N> insert, uint offset, uint count) {
  return vec<T, N>::map([=](T p, T q) { return insert_bits(p, q, offset, count); }, base, insert);
}

}  // namespace metal
