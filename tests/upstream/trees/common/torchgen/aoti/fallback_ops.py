inductor_fallback_ops = {
    "aten.exp.default": {},
    "aten.gcd.default": {},
}
