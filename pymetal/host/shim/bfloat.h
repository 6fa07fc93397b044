// Metal's bfloat: a class, because the compiler's __bf16 converts from float without being asked, which Metal refuses.
//
// Arithmetic goes through float with one rounding. Conversions as in Metal: implicit to float, implicit from integers,
// explicit otherwise. The device and constant overloads exist because an address space is part of a type.
#pragma once

struct bfloat {
  unsigned short bits_;

  bfloat() = default;
  bfloat(const bfloat&) = default;
  bfloat& operator=(const bfloat&) = default;
  template <int = 0>
  constexpr bfloat(const device bfloat& o) : bits_(o.bits_) {}
  template <int = 0>
  constexpr bfloat(constant bfloat& o) : bits_(o.bits_) {}
  template <int = 0>
  constexpr bfloat(const threadgroup bfloat& o) : bits_(o.bits_) {}
  template <int = 0>
  bfloat(const volatile bfloat& o) : bits_(o.bits_) {}

  template <class I>
    requires(__is_integral(I))
  constexpr bfloat(I i) : bits_(round(static_cast<float>(i))) {}
  template <pymetal_host::same<float> F>
  constexpr explicit bfloat(F f) : bits_(round(f)) {}
  template <int = 0>
  constexpr explicit bfloat(half h) : bits_(round(static_cast<float>(h))) {}

  // Round to nearest even; a NaN stays a NaN.
  static constexpr unsigned short round(float f) {
    const unsigned u = __builtin_bit_cast(unsigned, f);
    const unsigned rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
    const unsigned quiet = (u >> 16) | 0x40u;
    return static_cast<unsigned short>((u & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded);
  }
  constexpr float widen() const { return __builtin_bit_cast(float, static_cast<unsigned>(bits_) << 16); }

  // Only float is reached implicitly: a template, so that no standard conversion can follow it.
  template <pymetal_host::same<float> F>
  constexpr operator F() const {
    return widen();
  }
  template <pymetal_host::same<float> F>
  constexpr operator F(this const device bfloat& s) {
    return bfloat(s).widen();
  }
  template <pymetal_host::same<float> F>
  constexpr operator F(this constant bfloat& s) {
    return bfloat(s).widen();
  }
  template <class I>
    requires(__is_integral(I) || __is_same(I, half))
  constexpr explicit operator I() const {
    return static_cast<I>(widen());
  }
  template <class I>
    requires(__is_integral(I) || __is_same(I, half))
  constexpr explicit operator I(this const device bfloat& s) {
    return static_cast<I>(bfloat(s).widen());
  }
  template <class I>
    requires(__is_integral(I) || __is_same(I, half))
  constexpr explicit operator I(this constant bfloat& s) {
    return static_cast<I>(bfloat(s).widen());
  }

  template <int = 0>
  constexpr void operator=(this device bfloat& s, const bfloat& o) {
    s.bits_ = o.bits_;
  }
  template <int = 0>
  constexpr void operator=(this device bfloat& s, const device bfloat& o) {
    s.bits_ = o.bits_;
  }
  template <int = 0>
  constexpr void operator=(this device bfloat& s, constant bfloat& o) {
    s.bits_ = o.bits_;
  }
  template <int = 0>
  constexpr bfloat& operator=(const device bfloat& o) {
    bits_ = o.bits_;
    return *this;
  }
  template <int = 0>
  constexpr bfloat& operator=(constant bfloat& o) {
    bits_ = o.bits_;
    return *this;
  }
  template <int = 0>
  constexpr void operator=(this threadgroup bfloat& s, const bfloat& o) {
    s.bits_ = o.bits_;
  }

  friend constexpr bfloat operator+(bfloat a) { return a; }
  friend constexpr bfloat operator-(bfloat a) {
    a.bits_ = static_cast<unsigned short>(a.bits_ ^ 0x8000u);
    return a;
  }
  friend constexpr bool operator!(bfloat a) { return a.widen() == 0.0f; }
};

#define PYMETAL_BFLOAT_OP(OP, RESULT, FLOAT_RESULT)                                                            \
  constexpr RESULT operator OP(bfloat a, bfloat b) { return static_cast<RESULT>(a.widen() OP b.widen()); }     \
  template <class I>                                                                                           \
    requires(__is_integral(I))                                                                                 \
  constexpr RESULT operator OP(bfloat a, I b) {                                                                \
    return a OP bfloat(b);                                                                                     \
  }                                                                                                            \
  template <class I>                                                                                           \
    requires(__is_integral(I))                                                                                 \
  constexpr RESULT operator OP(I a, bfloat b) {                                                                \
    return bfloat(a) OP b;                                                                                     \
  }                                                                                                            \
  template <pymetal_host::same<float> F>                                                                       \
  constexpr FLOAT_RESULT operator OP(bfloat a, F b) {                                                          \
    return a.widen() OP b;                                                                                     \
  }                                                                                                            \
  template <pymetal_host::same<float> F>                                                                       \
  constexpr FLOAT_RESULT operator OP(F a, bfloat b) {                                                          \
    return a OP b.widen();                                                                                     \
  }
PYMETAL_BFLOAT_OP(+, bfloat, float)
PYMETAL_BFLOAT_OP(-, bfloat, float)
PYMETAL_BFLOAT_OP(*, bfloat, float)
PYMETAL_BFLOAT_OP(/, bfloat, float)
PYMETAL_BFLOAT_OP(==, bool, bool)
PYMETAL_BFLOAT_OP(!=, bool, bool)
PYMETAL_BFLOAT_OP(<, bool, bool)
PYMETAL_BFLOAT_OP(<=, bool, bool)
PYMETAL_BFLOAT_OP(>, bool, bool)
PYMETAL_BFLOAT_OP(>=, bool, bool)
#undef PYMETAL_BFLOAT_OP

#define PYMETAL_BFLOAT_ASSIGN(OP)                            \
  constexpr bfloat& operator OP##=(bfloat& a, bfloat b) {    \
    return a = a OP b;                                       \
  }                                                          \
  constexpr device bfloat& operator OP##=(device bfloat& a, bfloat b) { \
    a = bfloat(a) OP b;                                      \
    return a;                                                \
  }
PYMETAL_BFLOAT_ASSIGN(+)
PYMETAL_BFLOAT_ASSIGN(-)
PYMETAL_BFLOAT_ASSIGN(*)
PYMETAL_BFLOAT_ASSIGN(/)
#undef PYMETAL_BFLOAT_ASSIGN

constexpr bfloat& operator++(bfloat& a) { return a += bfloat(1); }
constexpr bfloat& operator--(bfloat& a) { return a -= bfloat(1); }
constexpr bfloat operator++(bfloat& a, int) {
  const bfloat old = a;
  ++a;
  return old;
}
constexpr bfloat operator--(bfloat& a, int) {
  const bfloat old = a;
  --a;
  return old;
}

static_assert(__is_trivially_copyable(bfloat) && sizeof(bfloat) == 2);

namespace metal {
using ::bfloat;
}
