// <metal_geometric>: functions that mix the components of a vector.
#pragma once

namespace metal {

template <detail::real T, int N>
constexpr T dot(vec<T, N> v, vec<T, N> w) {
  T sum = v.x * w.x;
  for (int i = 1; i < N; ++i) {
    sum = sum + v.at(i) * w.at(i);
  }
  return sum;
}
template <detail::real T, int N>
constexpr T length_squared(vec<T, N> v) {
  return dot(v, v);
}
template <detail::real T, int N>
constexpr T length(vec<T, N> v) {
  return sqrt(dot(v, v));
}
template <detail::real T, int N>
constexpr T distance(vec<T, N> v, vec<T, N> w) {
  return length(v - w);
}
template <detail::real T, int N>
constexpr T distance_squared(vec<T, N> v, vec<T, N> w) {
  return length_squared(v - w);
}
template <detail::real T, int N>
constexpr vec<T, N> normalize(vec<T, N> v) {
  return v * rsqrt(dot(v, v));
}
template <detail::real T>
constexpr vec<T, 3> cross(vec<T, 3> v, vec<T, 3> w) {
  return vec<T, 3>(v.y * w.z - v.z * w.y, v.z * w.x - v.x * w.z, v.x * w.y - v.y * w.x);
}
template <detail::real T, int N>
constexpr vec<T, N> faceforward(vec<T, N> n, vec<T, N> i, vec<T, N> reference) {
  return dot(reference, i) < T(0) ? n : -n;
}
template <detail::real T, int N>
constexpr vec<T, N> reflect(vec<T, N> i, vec<T, N> n) {
  return i - T(2) * dot(n, i) * n;
}

namespace precise {
using metal::distance, metal::dot, metal::length, metal::normalize;
}
namespace fast {
using metal::distance, metal::dot, metal::length, metal::normalize;
}

}  // namespace metal
