"""The course's own small library: what a Vision Transformer computes (`model`) and what it costs (`cost`).

`family` holds the models as plain dicts, `data` the figures that papers print, `ledger` the check that every number
in a chapter is backed, `figures` the look of the plots.
"""

from . import cost, family, model

__all__ = ["cost", "family", "model"]
