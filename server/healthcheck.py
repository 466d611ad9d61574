"""`python -m server.healthcheck`: exit 0 if this installation's /ready is ready, for supervisors that run commands."""

import http.client
import sys
from urllib.parse import urlsplit

from server.settings import EVERYWHERE, BadSettings, Settings, read_settings

PATIENCE_SECONDS = 4.0


def check(settings: Settings) -> tuple[bool, str]:
    """Return whether the market is ready, and its response.

    It is called where it listens, with the Host header it is published under.
    """
    place = "127.0.0.1" if settings.host in EVERYWHERE else settings.host.strip("[]")
    connection = http.client.HTTPConnection(place, settings.port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", "/ready", headers={"Host": urlsplit(settings.url).netloc})
        answer = connection.getresponse()
        return answer.status == 200, answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return False, f"{place}:{settings.port} does not answer: {type(error).__name__}"
    finally:
        connection.close()


def main() -> int:
    try:
        ready, said = check(read_settings())
    except BadSettings as bad:
        ready, said = False, str(bad)
    print(said)
    return int(not ready)


if __name__ == "__main__":
    sys.exit(main())
