from torch.testing._internal.opinfo.core import BinaryUfuncInfo, DecorateInfo, OpInfo, UnaryUfuncInfo

op_db = [
    UnaryUfuncInfo(
        "sgn",
        dtypes=all_types(),
    ),
    BinaryUfuncInfo(
        "atan2",
        aliases=("arctan2",),
        decorators=(DecorateInfo(expectedFailureMPS, "TestCommon", "test_out"),),
        skips=(
            DecorateInfo(unittest.expectedFailure, "TestCommon", "test_dtypes", device_type="mps"),
            DecorateInfo(unittest.expectedFailure, "TestCommon", "test_dtypes", device_type="cuda"),
        ),
    ),
    BinaryUfuncInfo("div", variant_test_name="floor_rounding"),
    UnaryUfuncInfo("special.airy_ai", skips=(DecorateInfo(unittest.skip("slow"), device_type="mps"),)),
    OpInfo("nn.functional.hardshrink", aten_name="hardshrink"),
]
