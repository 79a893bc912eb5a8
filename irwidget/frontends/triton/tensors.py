"""Tensors on the CPU that say that they are on `cuda:0`: fake ones, or with values.

Fake ones have values when somebody reads them (see `reading`).
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode

from irwidget import private_torch
from irwidget import private_torch_library as library
from irwidget.devices import on_cpu, on_cpu_kwargs
from irwidget.frontends.triton import autocast, failures, histograms, literals, registered
from irwidget.frontends.triton.asserted import by_an_assert
from irwidget.frontends.triton.gpu import CUDA
from irwidget.frontends.triton.homes import Homes, asked
from irwidget.frontends.triton.ledger import LEDGER
from irwidget.frontends.triton.left_out import not_compared
from irwidget.frontends.triton.memory import NoValue
from irwidget.frontends.triton.narrow import with_statistics
from irwidget.frontends.triton.reading import Reader, Reading
from irwidget.frontends.triton.scopes import as_it_is, replaced
from irwidget.frontends.triton.tape import Tape
from irwidget.frontends.triton.user_lines import is_users_question
from irwidget.private_torch import DisableTorchFunction, FakeTensor, FakeTensorMode, TorchDispatchMode
from irwidget.toolchain import interrupts
from irwidget.trace import Location


class _Inside(threading.local):
    """How deep in torch's own code a tensor is asked, each thread for itself."""

    depth = 0
    dispatching = 0
    """How many dispatches are under way."""
    named = ""
    """The device that the call of torch names which is under way."""


LOCK = threading.RLock()
"""Held by the thread that computes without values, or launches."""


@private_torch.for_threads
class _FakeMode(FakeTensorMode):
    """A fake tensor mode that knows when it is at work itself, and keeps everything on the CPU."""

    supports_higher_order_operators = True  # flex_attention and others come by __torch_dispatch__, too

    def __init__(self) -> None:
        shapes = private_torch.ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False)
        super().__init__(allow_non_fake_inputs=True, shape_env=shapes, static_shapes=True)  # nested tensors want some
        self.reader = Reader(self)
        self.inside = _Inside()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function := library.custom_op_function(func):  # an operator of the user's, which launches kernels
            return self.outside(_Pretend(self), function, args, kwargs or {})
        if function := library.registered_for_cuda(func):
            mode = _Pretend(self)
            if not mode.homes.on_host(self.inside.named, args, kwargs or {}):
                return self.outside(mode, function, args, kwargs or {})
        given = on_cpu_kwargs(kwargs)
        with LOCK:
            if self.inside.dispatching:  # an operator's own operators
                return super().__torch_dispatch__(func, types, args, given)
            self.inside.depth += 1
            self.inside.dispatching += 1
            try:
                with interrupts.held():
                    return self._noted(func, types, args, given)
            finally:
                self.inside.depth -= 1
                self.inside.dispatching -= 1

    def _noted(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """What an operator gives, which the tape then has; read, where that takes values."""
        with DisableTorchFunction():
            step = self.reader.tape.before(func, args, kwargs)
        try:
            made = with_statistics(func, super().__torch_dispatch__(func, types, args, kwargs))
        except Exception as error:
            if not failures.needs_values(error):
                raise
            return self.reader.answer(step)
        with DisableTorchFunction():
            self.reader.tape.after(step, made)
        return made

    def __deepcopy__(self, memo: Any) -> _FakeMode:
        """Itself: copies of tensors stay in the mode, and a copy of what it holds by address would be freed twice."""
        return self

    def may_turn_const(self, t: torch.Tensor) -> bool:
        """Values are not kept beside tensors; see `tape`."""
        return False

    def outside(self, mode: AbstractContextManager[Any], function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Python of the user's, which torch calls, sees the same world as the cell."""
        inside = self.inside
        depth, dispatching = inside.depth, inside.dispatching
        inside.depth = inside.dispatching = 0
        try:
            with self, mode, interrupts.raised():
                return function(*args, **kwargs)
        finally:
            inside.depth, inside.dispatching = depth, dispatching


_fake: _FakeMode | None = None


def fake_mode() -> _FakeMode:
    """One mode for all captures: tensors of two modes do not mix, and a cell may use those of another."""
    global _fake
    if _fake is None:
        _fake = _FakeMode()
    return _fake


class _Pretend(TorchFunctionMode):
    """Tensors say that they are on the GPU; what asks for the GPU gets the CPU."""

    def __init__(self, fake: _FakeMode | None) -> None:
        """`fake` is the mode that tensors without values have."""
        super().__init__()
        self.values = fake is None
        self.inside = _Inside() if fake is None else fake.inside
        memories = LEDGER.memories if fake is None else fake.reader.tape.memories
        self.homes = Homes(memories, fake=not self.values)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.device or (func is torch.Tensor.to and not self.inside.depth):
            args, kwargs = _by_name(args, kwargs, 0 if func is torch.device else 1)
        if self.inside.depth or func is torch.device:
            return func(*args, **(kwargs or {}))
        if (place := _PLACES.get(func)) is not None:
            return place(self.shown(args[0]))
        answer = _ANSWERS.get(func)
        if answer is not None:
            return answer(*args, **(kwargs or {}))
        if func is torch.Tensor.cuda:
            func, kwargs = torch.Tensor.to, {"device": "cuda"}
            args = args[:1]
        elif func is torch.Tensor.pin_memory:  # a copy, of the CPU's
            func, args, kwargs = torch.Tensor.clone, args[:1], {}
        before, self.inside.named = self.inside.named, asked(args, kwargs or {})
        self.inside.depth += 1  # inside torch's Python functions tensors are where they really are
        try:
            args, kwargs = autocast.cast(func, args, kwargs or {})
            if not self.values:
                args, kwargs = literals.read(func, args, kwargs, _number)
            run = histograms.on_a_gpu(func, args)
            with _OnTheGPU(self) if self.values else contextlib.nullcontext():
                made = run(*[on_cpu(arg) for arg in args], **on_cpu_kwargs(kwargs))
            return self.homes.settle(func, args, kwargs, made)
        except Exception as error:
            frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
            if func not in _COMPARING or not failures.needs_values(error) or not by_an_assert(frame):
                raise
            place = Location(frame.f_code.co_filename, frame.f_lineno)
            fake_mode().reader.reading.tell(not_compared(place, error))
            return True
        finally:
            self.inside.depth -= 1
            self.inside.named = before

    def shown(self, tensor: torch.Tensor) -> torch.device:
        """The device that a tensor says it is on: the CPU where the user's code asks, which has said so."""
        if isinstance(tensor, FakeTensor):
            real = _fake_device(tensor)
        else:
            with DisableTorchFunction():
                real = tensor.device
        if self.inside.depth or real.type != "cpu":
            return real
        with as_it_is():
            says_cpu = self.homes.says_cpu(tensor)
        return real if says_cpu and is_users_question() else CUDA


_fake_device: Any = FakeTensor.device.fget  # pyright: ignore[reportFunctionMemberAccess, reportAttributeAccessIssue]


class _OnTheGPU(TorchDispatchMode):
    """Operators with functions of the user's for a GPU run these, on tensors that have values."""

    supports_higher_order_operators = True

    def __init__(self, mode: _Pretend) -> None:
        super().__init__()
        self.mode = mode

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        function = library.custom_op_function(func)
        if function is None and (function := library.registered_for_cuda(func)):
            function = None if self.mode.homes.on_host(self.mode.inside.named, args, kwargs) else function
        return func(*args, **kwargs) if function is None else _outside(self.mode, function)(*args, **kwargs)


def _unseen(mode: _Pretend, fake: _FakeMode | None) -> registered.Run:
    """How operators run that no mode has seen: by what a library has for CUDA, where their tensors are on the GPU."""

    def run(operator: Any, on_cpu: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if not any(isinstance(one, _FakeMode | _OnTheGPU) for one in private_torch.dispatch_modes()):
            return on_cpu(*args, **kwargs)  # not the cell's
        host = mode.homes.on_host(mode.inside.named, args, kwargs)
        function = library.before_modes(operator, host=host)
        if not host and function is None and library.has_numbers(operator, args):
            function = library.registered_for_cuda(operator)
        if function:
            return fake.outside(mode, function, args, kwargs) if fake else _outside(mode, function)(*args, **kwargs)
        return on_cpu(*args, **kwargs) if host else library.shown_to_modes(operator, *args, **kwargs)

    return run


_COMPARING = frozenset([torch.allclose, torch.equal, torch.Tensor.allclose, torch.Tensor.equal, torch.Tensor.__bool__])
"""What says yes or no of values: left out where an `assert` asks for it and tensors have none."""

_OF_DEVICES: dict[str, Callable[[torch.device], Any]] = {
    "device": lambda device: device,
    "is_cuda": lambda device: device.type == "cuda",
    "is_cpu": lambda device: device.type == "cpu",
}
"""What tensors say of the device that they are on."""

_PLACES: dict[Any, Callable[[torch.device], Any]] = {
    torch.Tensor.get_device: lambda device: 0 if device.type == "cuda" else -1,
    **{getattr(torch.Tensor, name).__get__: answer for name, answer in _OF_DEVICES.items()},
}

_ANSWERS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.data_ptr: lambda tensor: _address(tensor),
    torch.Tensor.__repr__: lambda tensor, *args, **kwargs: _text(tensor, *args, **kwargs),
    torch.Tensor.__format__: lambda tensor, form: _formatted(tensor, form),
    torch.Tensor.tolist: lambda tensor: _list(tensor),
    torch.Tensor.__reduce_ex__: lambda tensor, protocol: _reduced(tensor, protocol),
    torch.Tensor.numpy: lambda tensor, *args, **kwargs: _array("numpy", tensor, *args, **kwargs),
    torch.Tensor.__array__: lambda tensor, *args, **kwargs: _array("__array__", tensor, *args, **kwargs),
}


def _by_name(args: tuple[Any, ...], kwargs: Any, place: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with `cuda:0` for the number of a device, which there is none of: at a place, or called `device`."""

    def named(value: Any) -> Any:
        return torch.device("cuda", value) if type(value) is int else value

    kwargs = {key: named(value) if key == "device" else value for key, value in (kwargs or {}).items()}
    return (*args[:place], *map(named, args[place : place + 1]), *args[place + 1 :]), kwargs


def _moving(to: Callable[..., Any]) -> Callable[..., Any]:
    """Module.to that takes the number of a device."""

    def moved(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = _by_name(args, kwargs, 0)
        return to(module, *args, **kwargs)

    return moved


def _address(tensor: torch.Tensor) -> int:
    """Where a tensor is: one without values at an address of its own, by which launches find it."""
    fake = isinstance(tensor, FakeTensor) or isinstance(torch.empty(0), FakeTensor)
    with as_it_is():
        if fake:
            with contextlib.suppress(NoValue):
                return fake_mode().reader.tape.memories.address(tensor, fake_mode())
        LEDGER.all_written(tensor)
        return tensor.data_ptr()


def _array(how: str, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """A tensor as NumPy's, by its method `how`; what is written into the array is not seen here."""
    tensor = _with_values(tensor)
    LEDGER.all_written(tensor)
    with as_it_is():
        return getattr(tensor, how)(*args, **kwargs)


def _number(tensor: torch.Tensor) -> Any:
    """The value of a tensor of one element. Raises NoValue."""
    with as_it_is():
        return fake_mode().reader.tensor(tensor).item()


def _with_values(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor with the values that it has here. Raises NoValue."""
    reader = fake_mode().reader
    met = isinstance(tensor, FakeTensor) or reader.has_met(tensor)
    return reader.tensor(tensor) if met else tensor


def _text(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> str:
    """How a tensor shows itself; as one without values where it has none."""
    with contextlib.suppress(NoValue):
        tensor = _with_values(tensor)
    with as_it_is():
        return torch.Tensor.__repr__(tensor, *args, **kwargs)


def _formatted(tensor: torch.Tensor, form: str) -> str:
    """A tensor in an f-string: as a number where it is one. Raises NoValue where only a number has such a form."""
    try:
        value = _with_values(tensor)
    except NoValue:
        if form:
            raise
        return _text(tensor)
    with as_it_is():
        return format(value.item() if value.dim() == 0 else repr(value), form)


def _list(tensor: torch.Tensor) -> Any:
    tensor = _with_values(tensor)
    with as_it_is():
        return tensor.tolist()


_restored = torch.serialization.default_restore_location


def _loaded(storage: Any, location: str) -> Any:
    """Where `torch.load` puts memory: what goes to the GPU stays."""
    return storage if location.startswith("cuda") else _restored(storage, location)


def _load(load: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.load`, whose tensors have the values of the file."""

    def loaded(*args: Any, **kwargs: Any) -> Any:
        with as_it_is():
            return load(*args, **kwargs)

    return loaded


def _shared(tensor: torch.Tensor) -> torch.Tensor:
    """`copy.copy`, which shares memory."""
    made = tensor.detach()
    is_parameter = isinstance(tensor, torch.nn.Parameter)
    return torch.nn.Parameter(made, tensor.requires_grad) if is_parameter else made.requires_grad_(tensor.requires_grad)


def _reduced(tensor: torch.Tensor, protocol: Any) -> Any:
    """A tensor for `torch.save` and pickle. Raises NoValue."""
    value = _with_values(tensor)
    with as_it_is():
        return value.__reduce_ex__(protocol)


def _outside(mode: _Pretend, function: Callable[..., Any]) -> Callable[..., Any]:
    """Python of the user's that torch calls, as a backward function, sees the same world as the cell."""

    def apply(*args: Any, **kwargs: Any) -> Any:
        depth, mode.inside.depth = mode.inside.depth, 0
        try:
            with mode:
                return function(*args, **kwargs)
        finally:
            mode.inside.depth = depth

    return apply


def _starting(start: Callable[..., None], *modes: AbstractContextManager[Any]) -> Callable[..., None]:
    """Thread.start of threads that see the same world as the thread of the cell that starts them."""
    here = _Inside()
    here.depth = 1

    def started(thread: threading.Thread) -> None:
        run = thread.run

        def within() -> None:
            here.depth = 1
            with ExitStack() as stack:
                for mode in modes:
                    stack.enter_context(mode)
                run()

        if here.depth and not thread.name.startswith("irwidget-"):
            thread.run = within
        start(thread)

    return started


def _told(tape: Tape, function: Callable[..., Any], unknown: str) -> Callable[..., Any]:
    """A function of torch's that sets the random generator, of which the tape is told."""

    def setting(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        tape.seeded(None, unknown)
        return result

    return setting


def _apply(module: torch.nn.Module, function: Callable[[Any], Any], recurse: bool = True) -> torch.nn.Module:
    """Module._apply (`cuda`, `to`, `half` ...) for fake parameters, which cannot be changed in place."""
    for child in module.children() if recurse else ():
        _apply(child, function)
    for name, parameter in module.named_parameters(recurse=False):
        changed = torch.nn.Parameter(function(parameter.detach()), parameter.requires_grad)
        module.register_parameter(name, changed)
    for name, buffer in module.named_buffers(recurse=False):
        setattr(module, name, function(buffer))
    return module


def _shown_by(mode: _Pretend, answer: Callable[[torch.device], Any]) -> Callable[[torch.Tensor], Any]:
    """What a fake tensor says of its device."""
    return lambda tensor: answer(mode.shown(tensor))


@contextlib.contextmanager
def on_a_gpu(*, values: bool, reading: Reading | None = None) -> Generator[None]:
    """Within it, tensors say that they are on the GPU; with `values` they have some.

    `reading` is how those are read that have none.
    """
    fake = None if values else fake_mode()

    with ExitStack() as stack:
        mode = _Pretend(fake)

        stack.enter_context(autocast.as_on_a_gpu())
        stack.enter_context(replaced(*private_torch.of_wrapper_tensors(on_cpu)))
        stack.enter_context(replaced(torch.serialization, "default_restore_location", _loaded))
        stack.enter_context(replaced(torch, "load", _load(torch.load)))
        stack.enter_context(replaced(*private_torch.of_unpickled_tensors(as_it_is)))
        stack.enter_context(replaced(torch, "from_numpy", mode.homes.sharing(torch.from_numpy)))
        stack.enter_context(replaced(torch.nn.Module, "to", _moving(torch.nn.Module.to)))
        stack.enter_context(replaced(BackwardCFunction, "apply", _outside(mode, BackwardCFunction.apply)))
        if fake is not None:
            stack.enter_context(replaced(torch.nn.Module, "_apply", _apply))
            stack.enter_context(replaced(torch.Tensor, "__copy__", _shared))
            stack.enter_context(replaced(FakeTensor, "tolist", _list))  # by itself number by number
            for name, unknown in (
                ("manual_seed", ""),
                ("seed", ""),
                ("set_rng_state", "the random state was set"),
            ):
                told = _told(fake.reader.tape, getattr(torch, name), unknown)
                for home in (torch, torch.random):
                    stack.enter_context(replaced(home, name, told))
            stack.enter_context(fake.reader.used(reading or Reading()))
            for name, answer in _OF_DEVICES.items():
                stack.enter_context(replaced(FakeTensor, name, property(_shown_by(mode, answer))))
            stack.enter_context(fake)
        else:
            stack.callback(LEDGER.end)
            stack.enter_context(LEDGER)
        started = _starting(threading.Thread.start, fake or LEDGER, mode)
        stack.enter_context(replaced(threading.Thread, "start", started))
        stack.enter_context(registered.called(_unseen(mode, fake)))
        stack.enter_context(mode)
        yield
