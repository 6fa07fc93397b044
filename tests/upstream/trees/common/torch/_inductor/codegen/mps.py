class MetalOverrides(OpOverrides):
    @staticmethod
    def exp(x):
        return f"metal::exp({x})"

    @staticmethod
    def atan2(x, y):
        return f"::metal::atan2({x}, {y})"

    @classmethod
    def _initialize_special_ops(cls):
        # Unary special ops
        for name in [
            "erf",
            "i0",
        ]:
            setattr(cls, name, functools.partialmethod(cls._special_unary, name=name))

        # Unary special ops with forward in method name
        for name in [
            "bessel_j0",
        ]:
            setattr(cls, name, functools.partialmethod(cls._special_unary, name=name + "_forward"))

        # Binary special ops
        for name in [
            "polygamma",
        ]:
            setattr(cls, name, functools.partialmethod(cls._special_binary, name=name))
