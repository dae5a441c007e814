"""The backend of torch.compile: on PyTorch where it is installed (scripts/torch_backend.sh), and
everywhere on stand-ins for what it uses of PyTorch."""

import importlib.util
import itertools
import sys
import time
import types
import unittest
import warnings

import numpy as np
from onnx import TensorProto, helper

import tcc
from tcc import torch_backend
from tcc_package import PackageTest, cast_model, model, value

HAS_TORCH = importlib.util.find_spec("torch") is not None


class StandInTensor:
    """A tensor on top of a NumPy array."""

    places = itertools.count(1)

    def __init__(self, array, requires_grad=False, device="cpu"):
        self.array = array
        self.requires_grad = requires_grad
        self.device = types.SimpleNamespace(type=device)
        self.place = next(self.places)
        self._version = 0

    dtype = property(lambda self: self.array.dtype)
    shape = property(lambda self: self.array.shape)

    def detach(self):
        return self

    def contiguous(self):
        return self

    def data_ptr(self):
        return self.place

    def is_inference(self):
        return False

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Parameter(StandInTensor):
    pass


class Module:
    def register_buffer(self, name, tensor):
        setattr(self, name, tensor)


class StandIn(types.ModuleType):
    """Takes the place of PyTorch. `exports` has the arguments of each export, `exported` makes the
    model of them, `written` what the graph writes into."""

    def __init__(self, exported):
        super().__init__("torch")
        self.grad = False
        self.exported = exported
        self.exports = []
        self.written = {}
        self.float32, self.int32 = np.dtype("float32"), np.dtype("int32")
        self.nn = types.SimpleNamespace(Parameter=Parameter, Module=Module)
        self.export = types.SimpleNamespace(export=self.export_program)
        self.onnx = types.SimpleNamespace(export=self.export_onnx)

    def is_grad_enabled(self):
        return self.grad

    def is_tensor(self, value):
        return isinstance(value, StandInTensor)

    def empty(self, shape, dtype):
        return StandInTensor(np.empty(shape, dtype))

    def no_grad(self):
        return warnings.catch_warnings()  # any context will do

    def export_program(self, module, tensors, strict):
        self.exports.append((module, tensors))
        signature = types.SimpleNamespace(buffers_to_mutate=self.written, user_inputs_to_mutate={})
        program = types.SimpleNamespace(graph_signature=signature, module=module, tensors=tensors)
        program.run_decompositions = lambda table: program
        return program

    def export_onnx(self, program, dynamo, verbose):
        return types.SimpleNamespace(model_proto=self.exported(program.module, program.tensors))


def product(module, tensors):
    """x w, where w is the graph's first input and a constant."""
    weights = module.constant_0.array
    rows = tensors[0].shape[0]
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])],
                 [value("x", [rows, weights.shape[0]])], [value("y", [rows, weights.shape[1]])],
                 [("w", weights)])


class OnStandIns(PackageTest):
    def setUp(self):
        super().setUp()
        self.by_torch = 0
        self.weights = Parameter(np.arange(20, dtype=np.float32).reshape(4, 5), True)

    def graph(self, weights, rows, x):
        self.by_torch += 1
        return (StandInTensor(x.array @ weights.array),)

    def compiled(self, exported=product, **settings):
        before = sys.modules.get("torch")
        self.torch = sys.modules["torch"] = StandIn(exported)
        self.addCleanup(sys.modules.__setitem__ if before else sys.modules.pop, "torch",
                        *([before] if before else [None]))
        return torch_backend.backend(self.graph, [self.weights, 3, self.input(3)], **settings)

    def input(self, rows, **keywords):
        return StandInTensor(np.ones((rows, 4), np.float32), **keywords)

    def check(self, function, rows, **keywords):
        (y,) = function(self.weights, rows, self.input(rows, **keywords))
        np.testing.assert_array_equal(y.array, np.ones((rows, 4)) @ self.weights.array)

    def test_a_graph_is_exported_once_for_each_shape_of_its_inputs(self):
        function = self.compiled()
        for rows in (3, 2, 3, 2):
            self.check(function, rows)
        self.assertEqual((len(self.torch.exports), self.by_torch), (2, 0))
        module, tensors = self.torch.exports[0]
        self.assertIs(module.constant_0, self.weights)
        self.assertEqual([tensor.shape for tensor in tensors], [(3, 4)])
        module.forward(*tensors)  # calls the graph with all of its inputs
        self.assertEqual(self.by_torch, 1)

    def test_parameters_that_change_are_constants_anew(self):
        function = self.compiled()
        self.check(function, 3)
        self.weights.array *= 2
        self.weights._version += 1
        self.check(function, 3)
        self.assertEqual((len(self.torch.exports), self.by_torch), (2, 0))

    def leaves_to_torch(self, function, reason, **keywords):
        with self.assertWarnsRegex(UserWarning, f"(?s)tcc leaves a graph to PyTorch: .*{reason}"):
            self.check(function, 3, **keywords)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.check(function, 3, **keywords)  # warned once
        self.assertEqual(self.by_torch, 2)

    def test_what_needs_gradients_runs_by_pytorch(self):
        function = self.compiled()
        self.torch.grad = True
        self.leaves_to_torch(function, "computes no gradients; expected torch.no_grad")
        self.torch.grad = False
        self.check(function, 3)
        self.assertEqual(self.by_torch, 2)

    def test_what_cannot_be_exported_or_compiled_runs_by_pytorch(self):
        def fail(module, tensors):
            raise KeyError("aten.strange")

        def unknown(module, tensors):
            return model([helper.make_node("Frobnicate", ["x"], ["y"])], [value("x", [3, 4])],
                         [value("y", [3, 5])])

        def strange(module, tensors):
            return cast_model(TensorProto.FLOAT, TensorProto.FLOAT8E5M2, (3, 4))

        for exported, reason in ((fail, "cannot be exported to ONNX: 'aten.strange'"),
                                 (unknown, "Frobnicate"), (strange, "f8e5m2")):
            with self.subTest(reason=reason):
                self.by_torch = 0
                self.leaves_to_torch(self.compiled(exported), reason)

    def test_what_writes_into_buffers_or_is_on_a_gpu_runs_by_pytorch(self):
        function = self.compiled()
        self.torch.written = {"constant_0": "weights"}
        self.leaves_to_torch(function, "writes into its inputs or buffers")
        self.by_torch = 0
        self.leaves_to_torch(self.compiled(), "device .*expected the CPU", device="cuda")

    def test_more_shapes_or_changes_than_pay_run_by_pytorch(self):
        function = self.compiled()
        for rows in range(1, torch_backend.MOST_SHAPES + 1):
            self.check(function, rows)
        with self.assertWarnsRegex(UserWarning, "more than 8 shapes"):
            self.check(function, 20)
        function = self.compiled()
        with self.assertWarnsRegex(UserWarning, "changed more than 8 times"):
            for _ in range(torch_backend.MOST_CHANGES + 1):
                self.weights._version += 1
                self.check(function, 3)

    def test_options_are_keywords_and_a_mode_is_refused(self):
        with self.assertRaises(tcc.UsageError):
            self.check(self.compiled(options={"target": "vax"}), 3)
        with self.assertRaisesRegex(tcc.UsageError, "mode 'max-autotune'"):
            self.compiled(mode="max-autotune")


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed; scripts/torch_backend.sh installs it")
class OnPyTorch(PackageTest):
    def setUp(self):
        super().setUp()
        import torch
        self.torch = torch
        torch.manual_seed(0)

    def modules(self):
        """Ten models and their inputs."""
        nn, torch = self.torch.nn, self.torch

        class Residual(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8),
                                           nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))

            def forward(self, x):
                return torch.relu(x + self.inner(x))

        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.project = nn.Linear(32, 96)

            def forward(self, x):
                parts = self.project(x).reshape(*x.shape[:2], 3, 4, 8).permute(2, 0, 3, 1, 4)
                y = nn.functional.scaled_dot_product_attention(*parts)
                return y.transpose(1, 2).reshape(x.shape)

        class TwoOutputs(nn.Module):
            def forward(self, x):
                return x.max(dim=1).values, torch.softmax(x, dim=1)

        image = torch.randn(2, 8, 14, 14)
        return {
            "layers": (nn.Sequential(nn.Linear(20, 40), nn.GELU(), nn.Linear(40, 10)),
                       torch.randn(3, 20)),
            "convolution": (nn.Sequential(nn.Conv2d(8, 16, 3, stride=2), nn.BatchNorm2d(16),
                                          nn.ReLU()), image),
            "depthwise": (nn.Sequential(nn.Conv2d(8, 8, 3, groups=8), nn.Hardswish(),
                                        nn.Conv2d(8, 24, 1)), image),
            "residual": (Residual(), image),
            "transposed": (nn.ConvTranspose2d(8, 4, 4, stride=2, padding=1), image),
            "pools": (nn.Sequential(nn.MaxPool2d(3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
                      image),
            "norms": (nn.Sequential(nn.GroupNorm(2, 8), nn.SiLU()), image),
            "attention": (Attention(), torch.randn(2, 9, 32)),
            "words": (nn.Sequential(nn.Embedding(50, 16), nn.LayerNorm(16), nn.Linear(16, 4)),
                      torch.randint(0, 50, (2, 7))),
            "two outputs": (TwoOutputs(), torch.randn(4, 6)),
        }

    def test_ten_modules_compute_what_they_do_without_it(self):
        for name, (module, x) in self.modules().items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.filterwarnings("error", "tcc leaves")
                module, graphs = module.eval(), []
                self.torch._dynamo.reset()  # it gives up after eight modules of a class

                def noted(graph, inputs):
                    graphs.append(torch_backend.backend(graph, inputs))
                    return graphs[-1]

                function = self.torch.compile(module, backend=noted)
                with self.torch.no_grad():
                    self.torch.testing.assert_close(function(x), module(x), rtol=1e-4, atol=1e-5)
                    self.tell(name, {"eager": lambda: module(x), "tcc": lambda: function(x)})
                self.assertEqual([len(graph._modules) for graph in graphs], [1])

    def tell(self, name, calls):
        """Prints the least time of each call, taken in turns."""
        least = dict.fromkeys(calls, float("inf"))
        for _ in range(30):
            for which, call in calls.items():
                begin = time.perf_counter()
                call()
                least[which] = min(least[which], time.perf_counter() - begin)
        print(name, ", ".join(f"{which} {1e6 * time:.0f} us" for which, time in least.items()))

    def test_shapes_weights_and_gradients_may_change(self):
        torch = self.torch
        module, x = self.modules()["convolution"]
        module = module.eval()
        function = torch.compile(module, backend=torch_backend.backend)

        def check(x):
            torch.testing.assert_close(function(x), module(x), rtol=1e-4, atol=1e-5)

        with torch.no_grad():
            for batch in (1, 2, 3, 1):
                check(torch.randn(batch, *x.shape[1:]))
            module[0].weight.mul_(2)
            check(x)
        with torch.inference_mode():
            check(x)
        with self.assertWarnsRegex(UserWarning, "computes no gradients"):
            check(x)
        function(x).sum().backward()
        self.assertGreater(float(module[0].weight.grad.abs().sum()), 0)

    def test_statistics_of_training_are_written(self):
        module, x = self.modules()["convolution"]
        function = self.torch.compile(module.train(), backend=torch_backend.backend)
        before = module[1].running_mean.clone()
        with self.torch.no_grad(), self.assertWarnsRegex(UserWarning, "writes into"):
            function(x)
        self.assertFalse(self.torch.equal(before, module[1].running_mean))
