// <metal_type_traits>, from the compiler's own trait builtins.
#pragma once

struct bfloat;

namespace metal {

template <class T, int N>
struct vec;

template <class T, T V>
struct integral_constant {
  using value_type = T;
  using type = integral_constant;
  static constexpr T value = V;
  constexpr operator T() const { return V; }
};
template <bool B>
using bool_constant = integral_constant<bool, B>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool B, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};
template <bool B, class T = void>
using enable_if_t = typename enable_if<B, T>::type;

template <bool B, class T, class F>
struct conditional {
  using type = T;
};
template <class T, class F>
struct conditional<false, T, F> {
  using type = F;
};
template <bool B, class T, class F>
using conditional_t = typename conditional<B, T, F>::type;

template <class...>
using void_t = void;

// An address space is a qualifier, so each of these has to name the spaces that it strips.
template <class T>
struct remove_cv {
  using type = __remove_cv(T);
};
#define PYMETAL_REMOVE_CV(QUALIFIERS)  \
  template <class T>                   \
  struct remove_cv<QUALIFIERS T> {     \
    using type = __remove_cv(T);       \
  };
PYMETAL_REMOVE_CV(device)
PYMETAL_REMOVE_CV(const device)
PYMETAL_REMOVE_CV(constant)
PYMETAL_REMOVE_CV(threadgroup)
PYMETAL_REMOVE_CV(const threadgroup)
#undef PYMETAL_REMOVE_CV
template <class T>
using remove_cv_t = typename remove_cv<T>::type;

#define PYMETAL_TRANSFORMATION(NAME, ...)  \
  template <class T>                       \
  struct NAME {                            \
    using type = __VA_ARGS__;              \
  };                                       \
  template <class T>                       \
  using NAME##_t = typename NAME<T>::type;
PYMETAL_TRANSFORMATION(remove_reference, __remove_reference_t(T))
PYMETAL_TRANSFORMATION(remove_const, __remove_const(T))
PYMETAL_TRANSFORMATION(remove_volatile, __remove_volatile(T))
PYMETAL_TRANSFORMATION(remove_pointer, __remove_pointer(T))
PYMETAL_TRANSFORMATION(remove_extent, __remove_extent(T))
PYMETAL_TRANSFORMATION(decay, __decay(T))
PYMETAL_TRANSFORMATION(add_const, const T)
PYMETAL_TRANSFORMATION(make_signed, __make_signed(T))
PYMETAL_TRANSFORMATION(make_unsigned, __make_unsigned(T))
PYMETAL_TRANSFORMATION(underlying_type, __underlying_type(T))

template <class T>
T&& declval() noexcept;

template <class T>
constexpr T&& forward(remove_reference_t<T>& t) noexcept {
  return static_cast<T&&>(t);
}
template <class T>
constexpr remove_reference_t<T>&& move(T&& t) noexcept {
  return static_cast<remove_reference_t<T>&&>(t);
}

template <class... T>
struct common_type;
template <class T>
struct common_type<T> {
  using type = remove_cv_t<T>;
};
template <class T, class U>
struct common_type<T, U> {
  using type = remove_cv_t<decltype(true ? declval<T>() : declval<U>())>;
};
template <class... T>
using common_type_t = typename common_type<T...>::type;

namespace detail {
template <class T>
struct scalar_of {
  using type = T;
  static constexpr int size = 1;
};
template <class T, int N>
struct scalar_of<vec<T, N>> {
  using type = T;
  static constexpr int size = N;
};
template <class T>
using scalar_t = typename scalar_of<remove_cv_t<T>>::type;
template <class T>
constexpr bool is_vec = scalar_of<remove_cv_t<T>>::size > 1;
}  // namespace detail

#define PYMETAL_TRAIT(NAME, ...)                      \
  template <class T>                                  \
  struct NAME : bool_constant<(__VA_ARGS__)> {};      \
  template <class T>                                  \
  inline constexpr bool NAME##_v = (__VA_ARGS__);

// A vector has the kind of its components (true of is_floating_point_v<float2>), but is not a scalar.
PYMETAL_TRAIT(is_floating_point, __is_floating_point(detail::scalar_t<T>) || __is_same(detail::scalar_t<T>, ::bfloat))
PYMETAL_TRAIT(is_integral, __is_integral(detail::scalar_t<T>))
PYMETAL_TRAIT(is_signed, __is_signed(detail::scalar_t<T>) || __is_same(detail::scalar_t<T>, ::bfloat))
PYMETAL_TRAIT(is_unsigned, __is_unsigned(detail::scalar_t<T>))
PYMETAL_TRAIT(is_arithmetic, is_floating_point_v<T> || is_integral_v<T>)
PYMETAL_TRAIT(is_scalar, !detail::is_vec<T> && (__is_scalar(T) || __is_same(remove_cv_t<T>, ::bfloat)))
PYMETAL_TRAIT(is_fundamental, is_arithmetic_v<T> || __is_void(T))
PYMETAL_TRAIT(is_void, __is_void(T))
PYMETAL_TRAIT(is_pointer, __is_pointer(T))
PYMETAL_TRAIT(is_array, __is_array(T))
PYMETAL_TRAIT(is_enum, __is_enum(T))
PYMETAL_TRAIT(is_union, __is_union(T))
PYMETAL_TRAIT(is_class, __is_class(T) && !detail::is_vec<T> && !__is_same(remove_cv_t<T>, ::bfloat))
PYMETAL_TRAIT(is_function, __is_function(T))
PYMETAL_TRAIT(is_reference, __is_reference(T))
PYMETAL_TRAIT(is_lvalue_reference, __is_lvalue_reference(T))
PYMETAL_TRAIT(is_rvalue_reference, __is_rvalue_reference(T))
PYMETAL_TRAIT(is_const, __is_const(T))
PYMETAL_TRAIT(is_volatile, __is_volatile(T))
PYMETAL_TRAIT(is_empty, __is_empty(T))
PYMETAL_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))
PYMETAL_TRAIT(is_standard_layout, __is_standard_layout(T))
#undef PYMETAL_TRAIT

template <class T, class U>
struct is_same : bool_constant<__is_same(T, U)> {};
template <class T, class U>
inline constexpr bool is_same_v = __is_same(T, U);
template <class T, class U>
struct is_convertible : bool_constant<__is_convertible(T, U)> {};
template <class T, class U>
inline constexpr bool is_convertible_v = __is_convertible(T, U);
template <class T, class U>
struct is_base_of : bool_constant<__is_base_of(T, U)> {};
template <class T, class U>
inline constexpr bool is_base_of_v = __is_base_of(T, U);
template <class T, class... A>
inline constexpr bool is_constructible_v = __is_constructible(T, A...);
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
PYMETAL_TRANSFORMATION(make_scalar, detail::scalar_t<T>)
#undef PYMETAL_TRANSFORMATION

}  // namespace metal

// Reinterpretation of the bits of a value: a function of the language in Metal, hence global.
template <class To, class From>
constexpr To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From), "as_type needs two types of the same size");
  return __builtin_bit_cast(To, from);
}

namespace pymetal_host {
template <class T>
concept integer = __is_integral(T) || __is_enum(T);
template <class T>
concept arithmetic = __is_integral(T) || __is_floating_point(T);
template <class T, class U>
concept same = __is_same(T, U);
template <class... T>
inline constexpr bool never = false;
}  // namespace pymetal_host
