"""Archives: ``.jlm`` files, written and read as plain data."""

from jitlang.serialization.archive import Archive, read_archive, write_archive
from jitlang.serialization.manifest import EntryPoint, Parameter
from jitlang.serialization.tree import Decoder, Encoder
from jitlang.serialization.weights import StoredTensor

__all__ = ["Archive", "Decoder", "Encoder", "EntryPoint", "Parameter", "StoredTensor", "read_archive", "write_archive"]
