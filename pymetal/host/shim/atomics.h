// <metal_atomic>: real atomic operations, because the threads of one launch run on several CPU threads.
#pragma once

namespace metal {

enum memory_order { memory_order_relaxed };
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
enum thread_scope { thread_scope_thread, thread_scope_simdgroup, thread_scope_threadgroup, thread_scope_device };

template <class T>
struct atomic {
  T value_;
};
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_bool = atomic<bool>;
using atomic_float = atomic<float>;
using atomic_ulong = atomic<ulong>;

template <class T>
T atomic_load_explicit(const volatile device atomic<T>* p, memory_order) {
  T v;
  __atomic_load((T*)&p->value_, &v, __ATOMIC_RELAXED);
  return v;
}
template <class T>
void atomic_store_explicit(volatile device atomic<T>* p, detail::same_type<T> v, memory_order) {
  __atomic_store((T*)&p->value_, &v, __ATOMIC_RELAXED);
}
template <class T>
T atomic_exchange_explicit(volatile device atomic<T>* p, detail::same_type<T> v, memory_order) {
  T old;
  __atomic_exchange((T*)&p->value_, &v, &old, __ATOMIC_RELAXED);
  return old;
}
template <class T>
bool atomic_compare_exchange_weak_explicit(volatile device atomic<T>* p, T* expected, detail::same_type<T> desired,
                                           memory_order, memory_order) {
  return __atomic_compare_exchange((T*)&p->value_, expected, &desired, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
#define PYMETAL_FETCH(NAME, VALUE)                                                                           \
  template <class T>                                                                                         \
  T atomic_fetch_##NAME##_explicit(volatile device atomic<T>* p, detail::same_type<T> v, memory_order order) { \
    T old = atomic_load_explicit(p, order);                                                                  \
    while (!atomic_compare_exchange_weak_explicit(p, &old, static_cast<T>(VALUE), order, order)) {           \
    }                                                                                                        \
    return old;                                                                                              \
  }
PYMETAL_FETCH(add, old + v)
PYMETAL_FETCH(sub, old - v)
PYMETAL_FETCH(and, old & v)
PYMETAL_FETCH(or, old | v)
PYMETAL_FETCH(xor, old ^ v)
PYMETAL_FETCH(min, v < old ? v : old)
PYMETAL_FETCH(max, old < v ? v : old)
#undef PYMETAL_FETCH

}  // namespace metal
