// What the host device cannot run, declared so that a use of it is refused by its own name.
#pragma once

namespace metal {
namespace detail {
template <class... T>
struct first {
  using type = int;
};
template <class T, class... U>
struct first<T, U...> {
  using type = T;
};
}  // namespace detail

// The error is of the generated code, not of a type: c10's helpers may name these as long as no kernel calls them.
#define PYMETAL_REFUSED(NAME, WHY)                                                        \
  template <class... A>                                                                   \
  __attribute__((error(#NAME " does not run on the host device: " WHY)))                  \
  typename detail::first<A...>::type NAME(A...);
#define PYMETAL_REFUSED_SIMD(NAME) PYMETAL_REFUSED(NAME, "its threads do not exchange values")
PYMETAL_REFUSED(threadgroup_barrier, "its threads run one after another, without barriers")
PYMETAL_REFUSED(simdgroup_barrier, "its threads run one after another, without barriers")
PYMETAL_REFUSED_SIMD(simd_sum)
PYMETAL_REFUSED_SIMD(simd_product)
PYMETAL_REFUSED_SIMD(simd_min)
PYMETAL_REFUSED_SIMD(simd_max)
PYMETAL_REFUSED_SIMD(simd_and)
PYMETAL_REFUSED_SIMD(simd_or)
PYMETAL_REFUSED_SIMD(simd_xor)
PYMETAL_REFUSED_SIMD(simd_all)
PYMETAL_REFUSED_SIMD(simd_any)
PYMETAL_REFUSED_SIMD(simd_broadcast)
PYMETAL_REFUSED_SIMD(simd_broadcast_first)
PYMETAL_REFUSED_SIMD(simd_is_first)
PYMETAL_REFUSED_SIMD(simd_shuffle)
PYMETAL_REFUSED_SIMD(simd_shuffle_up)
PYMETAL_REFUSED_SIMD(simd_shuffle_down)
PYMETAL_REFUSED_SIMD(simd_shuffle_xor)
PYMETAL_REFUSED_SIMD(simd_shuffle_rotate_up)
PYMETAL_REFUSED_SIMD(simd_shuffle_rotate_down)
PYMETAL_REFUSED_SIMD(simd_shuffle_and_fill_up)
PYMETAL_REFUSED_SIMD(simd_shuffle_and_fill_down)
PYMETAL_REFUSED_SIMD(simd_prefix_inclusive_sum)
PYMETAL_REFUSED_SIMD(simd_prefix_exclusive_sum)
PYMETAL_REFUSED_SIMD(simd_prefix_inclusive_product)
PYMETAL_REFUSED_SIMD(simd_prefix_exclusive_product)
PYMETAL_REFUSED_SIMD(quad_sum)
PYMETAL_REFUSED_SIMD(quad_broadcast)
PYMETAL_REFUSED_SIMD(quad_shuffle)
#undef PYMETAL_REFUSED_SIMD
#undef PYMETAL_REFUSED

// The one that returns a type of its own.
struct simd_vote {
  ulong bits_;
  explicit operator ulong() const { return bits_; }
};
template <class B>
__attribute__((error("simd_ballot does not run on the host device: its threads do not exchange values")))
simd_vote simd_ballot(B);
template <int = 0>
__attribute__((error("simd_active_threads_mask does not run on the host device: its threads do not exchange values")))
simd_vote simd_active_threads_mask();

}  // namespace metal
