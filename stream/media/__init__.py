"""Everything that touches containers and codecs."""

from sfumato.stream.media.carried import Carried
from sfumato.stream.media.sink import Sink, open_sink
from sfumato.stream.media.source import Source, open_source

__all__ = ["Carried", "Sink", "Source", "open_sink", "open_source"]
