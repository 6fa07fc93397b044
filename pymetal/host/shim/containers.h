// <metal_array> and the few utilities of the Metal library that hold other values.
#pragma once

namespace metal {

template <class T, size_t N>
struct array {
  T elements_[N];

  template <class S>
  constexpr auto& operator[](this S&& s, size_t i) {
    return s.elements_[i];
  }
  template <class S>
  constexpr auto data(this S&& s) {
    return &s.elements_[0];
  }
  constexpr size_t size() const { return N; }
  constexpr bool empty() const { return N == 0; }
  template <class S>
  constexpr auto begin(this S&& s) {
    return &s.elements_[0];
  }
  template <class S>
  constexpr auto end(this S&& s) {
    return &s.elements_[0] + N;
  }
};

template <class T>
constexpr void swap(T& a, T& b) {
  T c = a;
  a = b;
  b = c;
}

}  // namespace metal
