"""From the configuration's word to an encoder."""

from __future__ import annotations

from memaudit.encoders.protocol import Encoder
from memaudit.errors import EncoderError
from memaudit.wording import say


def load_encoder(name: str | None = None, allow_download: bool = False) -> Encoder:
    """Give the encoder of a name; its weights are loaded when the first text is encoded.

    Parameters
    ----------
    name
        None or "embedded" for the encoder that comes with memaudit, else a sentence-transformers model
        name or folder.
    allow_download
        Whether a named model that is not on this disk may be fetched.

    Raises
    ------
    EncoderError
        The model is not on this disk, or the name is "stored", which is no encoder.
    """
    if name is None or name == "embedded":
        from memaudit.encoders.embedded import EmbeddedEncoder

        return EmbeddedEncoder()
    if name == "stored":
        raise EncoderError(
            say("encoder = stored means the vectors in the store; there is no text encoder of that name."),
            say("Name the column with embedding, or choose embedded, a model name or a folder."),
        )
    from memaudit.encoders.sentence_transformers import SentenceTransformersEncoder

    return SentenceTransformersEncoder(name, allow_download)
