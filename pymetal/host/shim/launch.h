// Runs a kernel over a part of its grid: one loop around the inlined kernel, which the compiler may vectorise.
#pragma once

namespace pymetal_host {

using word = unsigned long;

struct grid {
  word threads[3];
  word group[3];
};

struct position {
  unsigned x, y, z;
};

// Where a parameter comes from: a buffer index, or one of these.
enum source {
  position_in_grid = -1,
  threads_in_grid = -2,
  group_position = -3,
  position_in_group = -4,
  index_in_group = -5,
  threads_in_group = -6,
  groups_in_grid = -7,
  index_in_simdgroup = -8,
  simdgroup_in_group = -9,
  threads_in_simdgroup = -10,
  simdgroups_in_group = -11,
  nominal_threads_in_group = -12,
  grid_origin = -13,
};

constexpr unsigned simd_width = 32;

constexpr word at(const word (&v)[3], int axis) { return v[axis]; }
constexpr unsigned at(position p, int axis) { return axis == 0 ? p.x : axis == 1 ? p.y : p.z; }
// The threads of this thread's group: fewer than the nominal count at the edge of the grid.
constexpr unsigned extent(const grid& g, position p, int axis) {
  const word first = at(p, axis) / g.group[axis] * g.group[axis];
  const word left = g.threads[axis] - first;
  return static_cast<unsigned>(left < g.group[axis] ? left : g.group[axis]);
}
constexpr unsigned linear(const grid& g, position p) {
  const unsigned x = p.x % g.group[0], y = p.y % g.group[1], z = p.z % g.group[2];
  return (z * extent(g, p, 1) + y) * extent(g, p, 0) + x;
}

template <int S>
constexpr unsigned builtin_value(const grid& g, position p, int axis) {
  if constexpr (S == position_in_grid) {
    return at(p, axis);
  } else if constexpr (S == threads_in_grid) {
    return static_cast<unsigned>(g.threads[axis]);
  } else if constexpr (S == group_position) {
    return static_cast<unsigned>(at(p, axis) / g.group[axis]);
  } else if constexpr (S == position_in_group) {
    return static_cast<unsigned>(at(p, axis) % g.group[axis]);
  } else if constexpr (S == index_in_group) {
    return linear(g, p);
  } else if constexpr (S == threads_in_group) {
    return extent(g, p, axis);
  } else if constexpr (S == groups_in_grid) {
    return static_cast<unsigned>((g.threads[axis] + g.group[axis] - 1) / g.group[axis]);
  } else if constexpr (S == index_in_simdgroup) {
    return linear(g, p) % simd_width;
  } else if constexpr (S == simdgroup_in_group) {
    return linear(g, p) / simd_width;
  } else if constexpr (S == threads_in_simdgroup) {
    return simd_width;
  } else if constexpr (S == simdgroups_in_group) {
    return (extent(g, p, 0) * extent(g, p, 1) * extent(g, p, 2) + simd_width - 1) / simd_width;
  } else if constexpr (S == nominal_threads_in_group) {
    return static_cast<unsigned>(g.group[axis]);
  } else {
    return 0;
  }
}

// The type of a kernel's parameter `constant T&`: see translate.py.
template <class T>
using constant_ref = metal::conditional_t<metal::is_class_v<T>, const T&, constant T&>;

// What one parameter of type P holds during a launch. `kind` tells the binding rules how to check an argument.
enum kind { kind_builtin = 0, kind_pointer = 1, kind_reference = 2 };

template <int S, class P>
struct slot;

template <class T>
constexpr long size_of() {
  if constexpr (__is_void(T)) {
    return 0;
  } else {
    return sizeof(T);
  }
}

// What sort of number a buffer holds: 1 floating point, 2 integer or bool, 0 anything else.
template <class T>
constexpr long number_of() {
  using U = __remove_cv(T);
  return metal::is_floating_point_v<U> && metal::is_scalar_v<U> ? 1 : __is_integral(U) ? 2 : 0;
}

#define PYMETAL_SLOT(SPACE, MARK, KIND, WRITABLE, VALUE)                            \
  template <int S, class T>                                                         \
  struct slot<S, SPACE T MARK> {                                                    \
    SPACE T* p;                                                                     \
    static constexpr long info[4] = {KIND, number_of<T>(), WRITABLE, size_of<T>()}; \
    slot(void* const* a) : p((SPACE T*)a[S]) {}                                     \
    SPACE T MARK get(const grid&, position) const { return VALUE; }                 \
  };
PYMETAL_SLOT(device, *, kind_pointer, 1, p)
PYMETAL_SLOT(const device, *, kind_pointer, 0, p)
PYMETAL_SLOT(constant, *, kind_pointer, 0, p)
PYMETAL_SLOT(device, &, kind_reference, 1, *p)
PYMETAL_SLOT(const device, &, kind_reference, 0, *p)
#undef PYMETAL_SLOT

// A copy, so that the compiler knows that no store of the kernel changes it.
#define PYMETAL_COPY_SLOT(SPACE)                                                  \
  template <int S, class T>                                                       \
  struct slot<S, SPACE T&> {                                                      \
    alignas(T) unsigned char copy[sizeof(T)];                                     \
    static constexpr long info[4] = {kind_reference, number_of<T>(), 0, sizeof(T)}; \
    slot(void* const* a) { __builtin_memcpy(copy, a[S], sizeof(T)); }             \
    SPACE T& get(const grid&, position) const { return *(SPACE T*)copy; }         \
  };
PYMETAL_COPY_SLOT(constant)
PYMETAL_COPY_SLOT(const)
#undef PYMETAL_COPY_SLOT

template <int S, class T>
  requires(__is_integral(T))
struct slot<S, T> {
  static constexpr long info[4] = {kind_builtin, 0, 0, sizeof(T)};
  slot(void* const*) {}
  T get(const grid& g, position p) const { return static_cast<T>(builtin_value<S>(g, p, 0)); }
};
template <int S, class T, int N>
struct slot<S, metal::vec<T, N>> {
  static constexpr long info[4] = {kind_builtin, 0, 0, sizeof(T)};
  slot(void* const*) {}
  metal::vec<T, N> get(const grid& g, position p) const {
    const T x = static_cast<T>(builtin_value<S>(g, p, 0)), y = static_cast<T>(builtin_value<S>(g, p, 1));
    if constexpr (N == 2) {
      return metal::vec<T, 2>(x, y);
    } else {
      return metal::vec<T, 3>(x, y, static_cast<T>(builtin_value<S>(g, p, 2)));
    }
  }
};
template <int S, class T>
struct slot<S, const T> : slot<S, T> {
  using slot<S, T>::slot;
};

template <bool Dense, auto F, class... Slots>
struct runner : Slots... {
  runner(void* const* a) : Slots(a)... {}

  // The threads begin <= i < end, counted along x, then y, then z.
  void run(const grid& whole, word begin, word end) const {
    const grid g = whole;
    while (begin < end) {
      const word row = begin / g.threads[0];
      const unsigned first = static_cast<unsigned>(begin - row * g.threads[0]);
      const word left = end - begin, room = g.threads[0] - first;
      const unsigned last = static_cast<unsigned>(first + (left < room ? left : room));
      const unsigned y = static_cast<unsigned>(row % g.threads[1]), z = static_cast<unsigned>(row / g.threads[1]);
      if constexpr (Dense) {
        // The threads of a grid are unordered, so no dependence between iterations needs to be kept.
#pragma clang loop vectorize(assume_safety) interleave(enable)
        for (unsigned x = first; x < last; ++x) {
          F(Slots::get(g, position{x, y, z})...);
        }
      } else {
        for (unsigned x = first; x < last; ++x) {
          F(Slots::get(g, position{x, y, z})...);
        }
      }
      begin += last - first;
    }
  }
};

// Apple's GPUs flush float subnormals, as arguments and as results; half ones are kept. The control word is set around
// the call of a function that is never inlined, so that no arithmetic of the loop can be moved out of its reach.
struct float_environment {
#if PYMETAL_HOST_FLUSH && defined(__x86_64__)
  unsigned saved = __builtin_ia32_stmxcsr();
  float_environment() { __builtin_ia32_ldmxcsr(saved | 0x8040u); }
  ~float_environment() { __builtin_ia32_ldmxcsr(saved); }
#elif defined(__x86_64__)
  unsigned saved = __builtin_ia32_stmxcsr();
  float_environment() { __builtin_ia32_ldmxcsr(saved & ~0x8040u); }
  ~float_environment() { __builtin_ia32_ldmxcsr(saved); }
#elif defined(__aarch64__)
  unsigned long saved;
  float_environment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved));
    const unsigned long flush = 1ul << 24;
    const unsigned long mode = PYMETAL_HOST_FLUSH ? saved | flush : saved & ~flush;
    asm volatile("msr fpcr, %0" : : "r"(mode));
  }
  ~float_environment() { asm volatile("msr fpcr, %0" : : "r"(saved)); }
#endif
};

template <class Signature>
struct launcher;
template <class... P>
struct launcher<void (*)(P...)> {
  template <bool Dense, auto F, int... S>
  struct of {
    static constexpr long parameters = sizeof...(P);
    static constexpr long info[sizeof...(P) == 0 ? 1 : sizeof...(P)][4] = {
        {slot<S, P>::info[0], slot<S, P>::info[1], slot<S, P>::info[2], slot<S, P>::info[3]}...};

    __attribute__((noinline)) static void body(void* const* a, const grid& g, word begin, word end) {
      const runner<Dense, F, slot<S, P>...> r(a);
      r.run(g, begin, end);
    }
    static void run(void* const* a, const word* g, word begin, word end) {
      const grid whole{{g[0], g[1], g[2]}, {g[3], g[4], g[5]}};
      const float_environment environment;
      body(a, whole, begin, end);
    }
    // The whole of a one-dimensional grid with the default threads of a group.
    template <class... A>
    static void direct(word threads, A... addresses) {
      void* const a[] = {addresses..., nullptr};
      const grid whole{{threads, 1, 1}, {threads < 1024 ? threads : 1024, 1, 1}};
      const float_environment environment;
      body(a, whole, 0, threads);
    }
  };
};

}  // namespace pymetal_host

#define PYMETAL_EXPORT extern "C" __attribute__((visibility("default"), used))
