// Integer division, remainder and shifts with a value for every operand.
//
// Metal leaves x / 0, x % 0 and INT_MIN / -1 undefined; on x86 they would kill the process. Here they have the values
// that AArch64's own instructions give: x / 0 is 0, x % 0 is x, INT_MIN / -1 is INT_MIN and INT_MIN % -1 is 0.
// Shift counts are masked, as Metal's compiler does: by 63 for 64-bit operands and by 31 otherwise.
//
// The translator turns `a / b` into `a * pymetal_div / b`: the two operators have the precedence and the associativity
// of the one that they replace, so no expression has to be parsed. Likewise `a << b` becomes `a << pymetal_shift << b`,
// and `a /= b` becomes `a->*pymetal_assign /= b`.
#pragma once

namespace pymetal_host {

template <class A, class B>
constexpr auto divide(A a, B b) {
  if constexpr (integer<A> && integer<B>) {
    using C = decltype(a / b);
    const C x = static_cast<C>(a), y = static_cast<C>(b);
    if constexpr (__is_signed(C)) {
      const bool special = y == 0 || y == -1;
      const C q = x / (special ? C(1) : y);
      // -x, which wraps.
      return y == 0 ? C(0) : y == -1 ? static_cast<C>(0ul - static_cast<unsigned long>(x)) : q;
    } else {
      const C q = x / (y == 0 ? C(1) : y);
      return y == 0 ? C(0) : q;
    }
  } else {
    return a / b;
  }
}

template <class A, class B>
constexpr auto modulo(A a, B b) {
  if constexpr (integer<A> && integer<B>) {
    using C = decltype(a % b);
    const C x = static_cast<C>(a), y = static_cast<C>(b);
    if constexpr (__is_signed(C)) {
      const bool special = y == 0 || y == -1;
      const C r = x % (special ? C(1) : y);
      return y == 0 ? x : r;
    } else {
      const C r = x % (y == 0 ? C(1) : y);
      return y == 0 ? x : r;
    }
  } else {
    return a % b;
  }
}

template <class A, class B>
constexpr auto shift_left(A a, B b) {
  if constexpr (integer<A> && integer<B>) {
    using C = decltype(a << 1);
    return static_cast<C>(static_cast<C>(a) << (static_cast<unsigned long>(b) & (sizeof(C) * 8 - 1)));
  } else {
    return a << b;
  }
}

template <class A, class B>
constexpr auto shift_right(A a, B b) {
  if constexpr (integer<A> && integer<B>) {
    using C = decltype(a >> 1);
    return static_cast<C>(static_cast<C>(a) >> (static_cast<unsigned long>(b) & (sizeof(C) * 8 - 1)));
  } else {
    return a >> b;
  }
}

struct div_mark {};
struct shift_mark {};
struct assign_mark {};
template <class A>
struct div_lhs {
  A a;
};
template <class A>
struct shift_lhs {
  A a;
};
template <class A>
struct assign_lhs {
  A& a;
};

template <class A>
constexpr div_lhs<A> operator*(A a, div_mark) {
  return {a};
}
template <class A, class B>
constexpr auto operator/(div_lhs<A> l, B b) {
  return divide(l.a, b);
}
template <class A, class B>
constexpr auto operator%(div_lhs<A> l, B b) {
  return modulo(l.a, b);
}
template <class A>
constexpr shift_lhs<A> operator<<(A a, shift_mark) {
  return {a};
}
template <class A>
constexpr shift_lhs<A> operator>>(A a, shift_mark) {
  return {a};
}
template <class A, class B>
constexpr auto operator<<(shift_lhs<A> l, B b) {
  return shift_left(l.a, b);
}
template <class A, class B>
constexpr auto operator>>(shift_lhs<A> l, B b) {
  return shift_right(l.a, b);
}
template <class A>
constexpr assign_lhs<A> operator->*(A& a, assign_mark) {
  return {a};
}

// The plain value of an lvalue in any address space.
template <class A>
constexpr auto value(A a) {
  return a;
}
#define PYMETAL_GUARDED_ASSIGN(OP, FUNCTION)                                    \
  template <class A, class B>                                                   \
  constexpr A& operator OP(assign_lhs<A> l, B b) {                              \
    using V = decltype(value(l.a));                                             \
    if constexpr (integer<V> && integer<B>) {                                   \
      l.a = static_cast<V>(FUNCTION(value(l.a), b));                            \
    } else {                                                                    \
      l.a OP b;                                                                 \
    }                                                                           \
    return l.a;                                                                 \
  }
PYMETAL_GUARDED_ASSIGN(/=, divide)
PYMETAL_GUARDED_ASSIGN(%=, modulo)
PYMETAL_GUARDED_ASSIGN(<<=, shift_left)
PYMETAL_GUARDED_ASSIGN(>>=, shift_right)
#undef PYMETAL_GUARDED_ASSIGN

}  // namespace pymetal_host

inline constexpr pymetal_host::div_mark pymetal_div{};
inline constexpr pymetal_host::shift_mark pymetal_shift{};
inline constexpr pymetal_host::assign_mark pymetal_assign{};
