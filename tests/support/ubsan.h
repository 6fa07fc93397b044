// Prints what UndefinedBehaviorSanitizer finds, once for each place, as `line:kind`: the sanitizer's own runtime is
// not a part of every compiler.
struct ubsan_place {
  const char* file;
  unsigned line;
  unsigned column;
};
extern "C" int dprintf(int, const char*, ...);
#define UBSAN_HANDLER(KIND)                                                                                   \
  extern "C" __attribute__((no_sanitize("undefined"), noinline, visibility("hidden"))) void                   \
      __ubsan_handle_##KIND(ubsan_place* place, ...) {                                                        \
    if (__atomic_exchange_n(&place->column, 0u, __ATOMIC_RELAXED) != 0u) {                                    \
      dprintf(2, "ubsan:%s:%u:%s\n", place->file ? place->file : "?", place->line, #KIND);                     \
    }                                                                                                         \
  }
UBSAN_HANDLER(add_overflow)
UBSAN_HANDLER(sub_overflow)
UBSAN_HANDLER(mul_overflow)
UBSAN_HANDLER(negate_overflow)
UBSAN_HANDLER(divrem_overflow)
UBSAN_HANDLER(shift_out_of_bounds)
UBSAN_HANDLER(out_of_bounds)
UBSAN_HANDLER(float_cast_overflow)
UBSAN_HANDLER(load_invalid_value)
UBSAN_HANDLER(pointer_overflow)
UBSAN_HANDLER(type_mismatch_v1)
UBSAN_HANDLER(builtin_unreachable)
UBSAN_HANDLER(missing_return)
UBSAN_HANDLER(nonnull_arg)
UBSAN_HANDLER(invalid_builtin)
#undef UBSAN_HANDLER
