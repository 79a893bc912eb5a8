"""Autotuners: every configuration is launched once, and what measuring them would do to tensors is done."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

from irwidget.frontends.triton.launches import Launches, named_config
from irwidget.frontends.triton.measuring import Unmeasured
from irwidget.frontends.triton.tensors import LOCK
from irwidget.toolchain import triton_private
from irwidget.trace import Diagnostic

_MEASURED: weakref.WeakKeyDictionary[Any, set[tuple[Any, ...]]] = weakref.WeakKeyDictionary()
"""For which architectures and keys autotuners would have measured their configurations, and not do so again."""


def tune(launches: Launches, original: Callable[..., Any]) -> Callable[..., Any]:
    """Autotuner.run that launches every configuration once: without a GPU none is the fastest."""

    def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        with LOCK:
            tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
            try:
                configs = tuner.prune_configs(kwargs) if len(tuner.configs) > 1 else tuner.configs
                with launches.tuned():
                    return _Call(launches, tuner, args, kwargs).launched(configs)
            finally:
                tuner.nargs = None

    return run


class _Call:
    """One call of an autotuner."""

    def __init__(self, launches: Launches, tuner: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self._launches, self._tuner, self._args, self._kwargs = launches, tuner, args, kwargs
        self._first: Any = None
        """What the first gives, whose TTIR says what all write: the others are compiled when looked at."""

    def launched(self, configs: list[Any]) -> Any:
        """What the first configuration gives that compiles, and what happens last: its hooks, its launch."""
        launches, tuner = self._launches, self._tuner
        if len(configs) == 1:
            tuner.best_config = configs[0]
            return self._launch(configs[0])
        done = _MEASURED.setdefault(tuner, set())
        key = (launches.arch.name, *_key(tuner, self._kwargs))
        measures = key not in done and not self._kwargs.get("warmup")  # which launches nothing
        launches.trying = True
        result: Any = None
        for config in configs:
            made = self._tried(config, measures, last=config is configs[-1])
            if result is None and made is not None:
                result, tuner.best_config, launches.later = made, config, True
        launches.trying = launches.later = False
        if measures:
            done.add(key)
            tuner.bench_time, tuner.configs_timings = Unmeasured(), {one: [Unmeasured()] * 3 for one in configs}
            tuner.pre_hook(self._named(tuner.best_config), reset_only=True)
        self._launch(tuner.best_config)
        return result

    def _named(self, config: Any) -> dict[str, Any]:
        return {**self._tuner.nargs, **self._kwargs, **config.all_kwargs()}

    def _tried(self, config: Any, measures: bool, *, last: bool) -> Any:
        """A launch that is noted only; None, and a note, where the kernel says itself that it does not compile."""
        try:
            return self._measured(config) if measures else self._launch(config)
        except triton_private.failed_assertion() as error:  # the real autotuner skips it too
            if last and not self._launches.later:
                raise
            note = f"{self._tuner.base_fn.__name__} does not compile with {named_config(config)}: {error}"
            self._launches.diagnostics.append(Diagnostic("remark", note))
            return None

    def _measured(self, config: Any) -> Any:
        """The same, with what measuring does to tensors."""
        tuner, named = self._tuner, self._named(config)
        try:
            made = self._launch(config, tuner.pre_hook)
        except Exception as error:
            tuner.post_hook(named, exception=error)
            raise
        self._first = self._first or made
        self._launches.measured(self._first, named)
        tuner.post_hook(named, exception=None)
        return made

    def _launch(self, config: Any, *hooks: Callable[[dict[str, Any]], Any]) -> Any:
        if conflicts := self._kwargs.keys() & config.kwargs.keys():
            raise ValueError(
                f"Conflicting meta-parameters: {', '.join(sorted(conflicts))}. "
                "Make sure that you don't re-define auto-tuned symbols."
            )
        named = self._named(config)
        for hook in filter(None, (config.pre_hook, *hooks)):
            hook(named)
        self._launches.config = named_config(config)
        return self._tuner.fn.run(*self._args, **self._kwargs, **config.all_kwargs())


def _key(tuner: Any, kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """That under which Triton keeps the best configuration."""
    given = {name: value for name, value in {**tuner.nargs, **kwargs}.items() if name in tuner.arg_names}
    dtypes = (str(value.dtype) for value in given.values() if hasattr(value, "dtype"))
    return (*(given[name] for name in tuner.keys if name in given), *dtypes)


def tune_on_gpu(launches: Launches, original: Callable[..., Any]) -> Callable[..., Any]:
    """Autotuner.run, followed by naming the configurations and the best of them."""

    def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        first = len(launches)
        result = original(tuner, *args, **kwargs)
        launches.choose(first, tuner.configs, tuner.best_config)
        return result

    return run
