"""`lower` as editors see it: the stub beside this file has the options of each IR type (docs/generate.py writes it)."""

from irwidget.lowering import lower

__all__ = ["lower"]
