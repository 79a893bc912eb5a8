"""Configurations of a kernel side by side, without a GPU: a sample of Helion's search space, compiled by Triton."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from irwidget.errors import IRWidgetError, UsageError
from irwidget.frontends import triton
from irwidget.frontends.triton.compiling import default_arch
from irwidget.helion import private
from irwidget.helion.binding import bind
from irwidget.helion.triton import launches

if TYPE_CHECKING:
    from irwidget.frontends.triton import Configurations, Launch
    from irwidget.helion.bound import Binding


def configurations(
    kernel: Any, args: Sequence[Any], configs: Sequence[Any] | int = 8, *, arch: str | None = None, seed: int = 0
) -> Configurations:
    """What Triton makes of a kernel in several configurations: `.table()` has registers, spills and shared memory.

    Each is compiled when it is looked at. What cannot be launched in a configuration is left out.

    Args:
        kernel: what `@helion.kernel()` returns.
        args: CPU or meta tensors and numbers, as the kernel takes them.
        configs: configurations as `config=` takes them; or how many: Helion's default first, others drawn at random.
        arch: such as `sm_90` or `gfx942`.
        seed: of the draw; the same one draws the same.

    Raises:
        UsageError: bad arguments or configurations; a kernel that launches nothing.
        ExportError: Helion refuses the kernel.
    """
    chosen = sample(bind(kernel, args, {}), configs, seed) if isinstance(configs, int) else list(configs)
    made, refused = list[Any](), ""
    for number, config in enumerate(chosen):
        try:
            made += _launches(bind(kernel, args, config), arch or default_arch("nvptx"), drawn=isinstance(configs, int))
        except IRWidgetError as error:
            if not isinstance(configs, int):
                raise
            refused = f"{number}: {error}"
    if not made:
        raise UsageError(f"None of the {len(chosen)} configurations launches a Triton kernel. {refused}")
    return triton.Configurations(made, made[0].arch)


def sample(binding: Binding, count: int, seed: int = 0) -> list[Any]:
    """Helion's default and `count - 1` other configurations of its search space, no two alike where there are so many.

    Raises UsageError for a count below 1.
    """
    if count < 1:
        raise UsageError(f"A sample has at least one configuration, not {count}.")
    spec = binding.bound.config_spec
    found = {repr(config): config for config in [spec.default_config()]}
    state = random.getstate()
    random.seed(seed)
    try:
        with binding.entered():
            for _ in range(8 * count):
                if len(found) < count and (config := private.random_config(spec)) is not None:
                    found.setdefault(repr(config), config)
    finally:
        random.setstate(state)
    return list(found.values())


def _launches(binding: Binding, arch: str, *, drawn: bool) -> list[Launch]:
    """The first launch of a kernel, as Triton's front end has it, with the configuration in words."""
    recorded = launches(binding, arch)[:1]
    return [
        triton.Launch(
            one.kernel,
            one.arguments,
            one.options,
            arch,
            one.grid,
            config=binding.chosen.text,
            chosen=not drawn or binding.chosen.config == binding.bound.config_spec.default_config(),
        )
        for one in recorded
    ]
