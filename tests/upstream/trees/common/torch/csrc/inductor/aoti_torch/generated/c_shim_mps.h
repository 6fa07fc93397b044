#pragma once

AOTI_TORCH_EXPORT AOTITorchError aoti_torch_mps_exp(AtenTensorHandle self, AtenTensorHandle* ret0);
