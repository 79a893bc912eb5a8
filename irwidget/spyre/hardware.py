"""Facts of the card that the front end plans for (docs/spyre-rules.md: Hardware)."""

from __future__ import annotations

SEMANTICS = "June 2026 semantics"
"""The state of the public front end that everything here emulates."""

MAX_CORES = 32
STICK_BYTES = 128
"""The unit of transfer, of layout and of core division."""
SPAN_LIMIT = 1 << 28
"""Bytes of one tensor that one core can address."""
SEGMENT_BYTES = 1 << 34
"""Bytes of one of the eight segments of a job's address space."""
LX_BYTES = int((1 << 21) * (1 - 0.2))
"""Bytes of a core's scratchpad that the front end may plan: 1,677,721."""
MAX_RANK = 6
"""Ranks of host tensors that a device layout exists for."""
FP16_MAX = 65504.0
