#!/usr/bin/env python3
"""Quantizes a network to bytes, as an accelerator takes them.

    quantize.py MODEL.onnx OUT.onnx [--unsigned] [--samples 4] [--seed 0]

ONNX Runtime's static quantizer: QDQ, int8 weights by channel, int8 data, both symmetric. With
--unsigned, data are uint8 with zero points. Ranges are those of random inputs between -1 and 1, so results say nothing about accuracy."""
import argparse
import pathlib
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                      quant_pre_process, quantize_static)


class RandomInputs(CalibrationDataReader):
    """Random tensors for every input of a model; its free dimensions are 1."""

    def __init__(self, model, samples, seed):
        rng = np.random.default_rng(seed)
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        shapes = {i.name: [d if isinstance(d, int) else 1 for d in i.shape]
                  for i in session.get_inputs()}
        self.left = [{name: rng.uniform(-1, 1, shape).astype(np.float32)
                      for name, shape in shapes.items()} for _ in range(samples)]

    def get_next(self):
        return self.left.pop() if self.left else None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--unsigned", action="store_true")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        whole = str(pathlib.Path(folder) / "whole.onnx")
        onnx.save(onnx.load(args.model), whole)  # with the weights of other files
        prepared = str(pathlib.Path(folder) / "prepared.onnx")
        quant_pre_process(whole, prepared, skip_symbolic_shape=True)
        quantize_static(prepared, args.out, RandomInputs(prepared, args.samples, args.seed),
                        quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8 if args.unsigned else QuantType.QInt8,
                        weight_type=QuantType.QInt8,
                        extra_options={"ActivationSymmetric": not args.unsigned,
                                       "WeightSymmetric": True})
    onnx.checker.check_model(args.out)


if __name__ == "__main__":
    main()
