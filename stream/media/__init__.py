"""Everything that touches containers and codecs."""

from sfumato.stream.media.sink import Sink, open_sink
from sfumato.stream.media.source import Carried, Source, open_source

__all__ = ["Carried", "Sink", "Source", "open_sink", "open_source"]
