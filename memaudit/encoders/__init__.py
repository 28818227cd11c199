"""Encoders: texts in, rows of unit length out. Nothing heavy is imported until a text is encoded."""

from memaudit.encoders.protocol import Encoder
from memaudit.encoders.select import load_encoder

__all__ = ["Encoder", "load_encoder"]
