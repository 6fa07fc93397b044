// Metal's vector types. A class and not the compiler's ext_vector_type, which does not accept `float2(a, b)`.
//
// Swizzles of several components are rewritten by the translator: `v.zw` becomes `v.template swizzle<2, 3>()`, and
// `v.zw = x` becomes `v.template swizzle_ref<2, 3>() = x`.
#pragma once

namespace metal {
namespace detail {

template <class T, int N>
struct components;
template <class T>
struct alignas(2 * sizeof(T)) components<T, 2> {
  union { T x; T r; };
  union { T y; T g; };
};
template <class T>
struct alignas(4 * sizeof(T)) components<T, 3> {
  union { T x; T r; };
  union { T y; T g; };
  union { T z; T b; };
};
template <class T>
struct alignas(4 * sizeof(T)) components<T, 4> {
  union { T x; T r; };
  union { T y; T g; };
  union { T z; T b; };
  union { T w; T a; };
};

template <int I, class S>
constexpr auto& component(S& s) {
  if constexpr (I == 0) {
    return s.x;
  } else if constexpr (I == 1) {
    return s.y;
  } else if constexpr (I == 2) {
    return s.z;
  } else {
    return s.w;
  }
}

// An assignable selection of the components of one vector.
template <class T, class S, int... I>
struct selection {
  S& s;
  using V = vec<T, sizeof...(I)>;
  constexpr operator V() const { return V(component<I>(s)...); }
  constexpr void assign(V v) {
    int at = 0;
    ((component<I>(s) = v.at(at++)), ...);
  }
  constexpr void operator=(V v) { assign(v); }
  constexpr void operator+=(V v) { assign(V(*this) + v); }
  constexpr void operator-=(V v) { assign(V(*this) - v); }
  constexpr void operator*=(V v) { assign(V(*this) * v); }
  constexpr void operator/=(V v) { assign(V(*this) / v); }
};

// A scalar that becomes a vector of T with no cast.
template <class U, class T>
concept splats = (pymetal_host::arithmetic<U> || __is_same(U, ::bfloat)) && __is_convertible(U, T);
}  // namespace detail

template <class T, int N>
struct vec : detail::components<T, N> {
  using value_type = T;

  vec() = default;
  vec(const vec&) = default;
  vec& operator=(const vec&) = default;

#define PYMETAL_COPY(TO, FROM)         \
  TO x = static_cast<T>(FROM.x);       \
  TO y = static_cast<T>(FROM.y);       \
  if constexpr (N > 2) {               \
    TO z = static_cast<T>(FROM.z);     \
  }                                    \
  if constexpr (N > 3) {               \
    TO w = static_cast<T>(FROM.w);     \
  }
  template <int = 0>
  constexpr vec(const device vec& o) {
    PYMETAL_COPY(this->, o)
  }
  template <int = 0>
  constexpr vec(constant vec& o) {
    PYMETAL_COPY(this->, o)
  }
  template <int = 0>
  constexpr vec(const threadgroup vec& o) {
    PYMETAL_COPY(this->, o)
  }
  template <int = 0>
  constexpr vec& operator=(const device vec& o) {
    PYMETAL_COPY(this->, o)
    return *this;
  }
  template <int = 0>
  constexpr vec& operator=(constant vec& o) {
    PYMETAL_COPY(this->, o)
    return *this;
  }
#define PYMETAL_STORE(TO, FROM)                      \
  template <int = 0>                                 \
  constexpr void operator=(this TO vec& s, FROM o) { \
    PYMETAL_COPY(s., o)                              \
  }
  PYMETAL_STORE(device, const vec&)
  PYMETAL_STORE(device, const device vec&)
  PYMETAL_STORE(device, constant vec&)
  PYMETAL_STORE(threadgroup, const vec&)
#undef PYMETAL_STORE

  template <detail::splats<T> U>
  constexpr vec(U s) : vec(convert, static_cast<T>(s)) {}
  // From a vector of another component type: only when asked for.
  template <class U>
    requires(!__is_same(U, T))
  constexpr explicit vec(vec<U, N> o) {
    PYMETAL_COPY(this->, o)
  }
#undef PYMETAL_COPY
  constexpr vec(T a, T b)
    requires(N == 2)
      : detail::components<T, N>{{a}, {b}} {}
  constexpr vec(T a, T b, T c)
    requires(N == 3)
      : detail::components<T, N>{{a}, {b}, {c}} {}
  constexpr vec(T a, T b, T c, T d)
    requires(N == 4)
      : detail::components<T, N>{{a}, {b}, {c}, {d}} {}
  constexpr vec(vec<T, 2> p, T c)
    requires(N == 3)
      : vec(p.x, p.y, c) {}
  constexpr vec(T a, vec<T, 2> p)
    requires(N == 3)
      : vec(a, p.x, p.y) {}
  constexpr vec(vec<T, 3> p, T d)
    requires(N == 4)
      : vec(p.x, p.y, p.z, d) {}
  constexpr vec(T a, vec<T, 3> p)
    requires(N == 4)
      : vec(a, p.x, p.y, p.z) {}
  constexpr vec(vec<T, 2> p, vec<T, 2> q)
    requires(N == 4)
      : vec(p.x, p.y, q.x, q.y) {}
  constexpr vec(vec<T, 2> p, T c, T d)
    requires(N == 4)
      : vec(p.x, p.y, c, d) {}
  constexpr vec(T a, vec<T, 2> p, T d)
    requires(N == 4)
      : vec(a, p.x, p.y, d) {}
  constexpr vec(T a, T b, vec<T, 2> p)
    requires(N == 4)
      : vec(a, b, p.x, p.y) {}

  constexpr T at(int i) const {
    if constexpr (N == 2) {
      return i == 0 ? this->x : this->y;
    } else if constexpr (N == 3) {
      return i == 0 ? this->x : i == 1 ? this->y : this->z;
    } else {
      return i == 0 ? this->x : i == 1 ? this->y : i == 2 ? this->z : this->w;
    }
  }
  template <class S>
  constexpr auto& operator[](this S&& s, int i) {
    return (&s.x)[i];
  }
  template <int... I, class S>
  constexpr vec<T, sizeof...(I)> swizzle(this S&& s) {
    return vec<T, sizeof...(I)>(detail::component<I>(s)...);
  }
  template <int... I, class S>
  constexpr auto swizzle_ref(this S& s) {
    return detail::selection<T, S, I...>{s};
  }

  // f of each component of some vectors.
  template <class F, class... V>
  static constexpr auto map(F f, V... v) {
    using R = vec<decltype(f(v.x...)), N>;
    if constexpr (N == 2) {
      return R(f(v.x...), f(v.y...));
    } else if constexpr (N == 3) {
      return R(f(v.x...), f(v.y...), f(v.z...));
    } else {
      return R(f(v.x...), f(v.y...), f(v.z...), f(v.w...));
    }
  }

#define PYMETAL_BINARY(OP, RESULT, EXPRESSION)                                                 \
  friend constexpr RESULT operator OP(vec a, vec b) {                                          \
    return map([](T p, T q) { return static_cast<typename RESULT::value_type>(EXPRESSION); }, a, b); \
  }
  using truths = vec<bool, N>;
  PYMETAL_BINARY(+, vec, p + q)
  PYMETAL_BINARY(-, vec, p - q)
  PYMETAL_BINARY(*, vec, p * q)
  PYMETAL_BINARY(/, vec, pymetal_host::divide(p, q))
  PYMETAL_BINARY(%, vec, pymetal_host::modulo(p, q))
  PYMETAL_BINARY(&, vec, p & q)
  PYMETAL_BINARY(|, vec, p | q)
  PYMETAL_BINARY(^, vec, p ^ q)
  PYMETAL_BINARY(<<, vec, pymetal_host::shift_left(p, q))
  PYMETAL_BINARY(>>, vec, pymetal_host::shift_right(p, q))
  PYMETAL_BINARY(==, truths, p == q)
  PYMETAL_BINARY(!=, truths, p != q)
  PYMETAL_BINARY(<, truths, p < q)
  PYMETAL_BINARY(<=, truths, p <= q)
  PYMETAL_BINARY(>, truths, p > q)
  PYMETAL_BINARY(>=, truths, p >= q)
  PYMETAL_BINARY(&&, truths, p && q)
  PYMETAL_BINARY(||, truths, p || q)
#undef PYMETAL_BINARY
  friend constexpr vec operator+(vec a) { return a; }
  friend constexpr vec operator-(vec a) {
    return map([](T p) { return static_cast<T>(-p); }, a);
  }
  friend constexpr vec operator~(vec a) {
    return map([](T p) { return static_cast<T>(~p); }, a);
  }
  friend constexpr truths operator!(vec a) {
    return map([](T p) { return !p; }, a);
  }
#define PYMETAL_ASSIGN(OP)                                          \
  friend constexpr vec& operator OP##=(vec& a, vec b) {             \
    return a = a OP b;                                              \
  }                                                                 \
  friend constexpr device vec& operator OP##=(device vec& a, vec b) { \
    a = vec(a) OP b;                                                \
    return a;                                                       \
  }
  PYMETAL_ASSIGN(+)
  PYMETAL_ASSIGN(-)
  PYMETAL_ASSIGN(*)
  PYMETAL_ASSIGN(/)
  PYMETAL_ASSIGN(%)
  PYMETAL_ASSIGN(&)
  PYMETAL_ASSIGN(|)
  PYMETAL_ASSIGN(^)
  PYMETAL_ASSIGN(<<)
  PYMETAL_ASSIGN(>>)
#undef PYMETAL_ASSIGN

 private:
  enum convert_tag { convert };
  constexpr vec(convert_tag, T s) {
    this->x = s;
    this->y = s;
    if constexpr (N > 2) {
      this->z = s;
    }
    if constexpr (N > 3) {
      this->w = s;
    }
  }
};

// Vectors with no padding and the alignment of one component.
template <class T, int N>
struct packed_vec {
  T v[N];
  packed_vec() = default;
  constexpr packed_vec(vec<T, N> o) {
    for (int i = 0; i < N; ++i) {
      v[i] = o.at(i);
    }
  }
  template <class... U>
    requires(sizeof...(U) == N)
  constexpr packed_vec(U... u) : v{static_cast<T>(u)...} {}
  template <class S>
  constexpr operator vec<T, N>(this S&& s) {
    if constexpr (N == 2) {
      return vec<T, N>(s.v[0], s.v[1]);
    } else if constexpr (N == 3) {
      return vec<T, N>(s.v[0], s.v[1], s.v[2]);
    } else {
      return vec<T, N>(s.v[0], s.v[1], s.v[2], s.v[3]);
    }
  }
  template <int = 0>
  constexpr void operator=(this device packed_vec& s, const packed_vec& o) {
    for (int i = 0; i < N; ++i) {
      s.v[i] = o.v[i];
    }
  }
  template <class S>
  constexpr auto& operator[](this S&& s, int i) {
    return s.v[i];
  }
};

}  // namespace metal

#define PYMETAL_VECTORS(NAME, T)             \
  using NAME##2 = metal::vec<T, 2>;          \
  using NAME##3 = metal::vec<T, 3>;          \
  using NAME##4 = metal::vec<T, 4>;          \
  using packed_##NAME##2 = metal::packed_vec<T, 2>; \
  using packed_##NAME##3 = metal::packed_vec<T, 3>; \
  using packed_##NAME##4 = metal::packed_vec<T, 4>; \
  namespace metal {                          \
  using ::NAME##2, ::NAME##3, ::NAME##4;     \
  using ::packed_##NAME##2, ::packed_##NAME##3, ::packed_##NAME##4; \
  }
PYMETAL_VECTORS(bool, bool)
PYMETAL_VECTORS(char, char)
PYMETAL_VECTORS(uchar, uchar)
PYMETAL_VECTORS(short, short)
PYMETAL_VECTORS(ushort, ushort)
PYMETAL_VECTORS(int, int)
PYMETAL_VECTORS(uint, uint)
PYMETAL_VECTORS(long, long)
PYMETAL_VECTORS(ulong, ulong)
PYMETAL_VECTORS(half, half)
PYMETAL_VECTORS(bfloat, bfloat)
PYMETAL_VECTORS(float, float)
#undef PYMETAL_VECTORS
