"""troth over HTTP: single responses, states and calls scored by the functions that score files.

from troth.serve import ServeSettings, service

app = service(ServeSettings(metrics="nli"))     # an ASGI application, for uvicorn or any other server
"""

from troth.serve.app import service
from troth.serve.settings import ServeSettings

__all__ = ["ServeSettings", "service"]
