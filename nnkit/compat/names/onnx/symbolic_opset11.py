"""torch.onnx.symbolic_opset11: functions that are called while a file is written, which none is."""
