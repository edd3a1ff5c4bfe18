"""Follows the events of animalstore."""

import http.client
import json
import random
import time
import urllib.parse

from shop import ApiError


class EventsLost(Exception):
    """Events after the position are gone: read the current state, then follow the events after the position."""

    def __init__(self, position, message):
        super().__init__(message)
        self.position = position


def follow(shop, after, **filters):
    """Yields the events after an id, and then new events as they happen. Yields each once, and reconnects when the stream ends.

    To continue after a restart, store the id of the last event that you have processed.
    """
    delay = 1
    while True:
        try:
            headers = {"Accept": "text/event-stream", "Last-Event-ID": after}
            # The service sends at least a comment every 15 seconds, so a longer silence is a dead connection.
            with shop.open("GET", "/events?" + urllib.parse.urlencode(filters), headers=headers, timeout=45) as stream:
                for message in messages(stream):
                    after = message.get("id", after)
                    if message.get("event") == "reset":
                        raise EventsLost(after, json.loads(message["data"])["message"])
                    if "data" in message:
                        delay = 1
                        yield json.loads(message["data"])
        except ApiError as error:
            if not error.is_temporary():
                raise
        except (OSError, http.client.HTTPException):
            pass  # the connection broke
        time.sleep(delay + random.uniform(0, delay))
        delay = min(2 * delay, 30)


def messages(stream):
    """Yields the fields of each message in a stream of server-sent events. An incomplete message at the end is dropped."""
    fields = {}
    for line in stream:
        line = line.decode().rstrip("\r\n")
        if not line:
            yield fields
            fields = {}
            continue
        name, _, value = line.partition(":")  # a comment has an empty name
        value = value.removeprefix(" ")
        fields[name] = fields[name] + "\n" + value if name == "data" and name in fields else value
