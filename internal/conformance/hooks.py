"""What Schemathesis cannot know from the OpenAPI document. schemathesis.toml loads this file."""

import itertools
import os
import pathlib
import re
import uuid

import schemathesis
from hypothesis import strategies
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.core.parameters import ParameterLocation
from schemathesis.openapi.checks import RejectedPositiveData

repeats = itertools.count(1)
sent_keys = set()


@schemathesis.hook
def before_load_schema(context, document):
    """Adds to the document what its readers find in descriptions."""
    # OpenAPI 3.1 cannot describe the events of a stream: the schema is for the stream as a whole, which is a text. The tool
    # validates each event with it: https://github.com/schemathesis/schemathesis/issues/3633
    event = {"type": "string", "contentMediaType": "application/json", "contentSchema": {"$ref": "#/components/schemas/Event"}}
    stream = document["paths"]["/events"]["get"]["responses"]["200"]["content"]["text/event-stream"]
    stream["schema"] = {"type": "object", "required": ["id", "data"], "properties": {"data": event}}
    # A change of an order has a status or the end of a hold. The document does not say so with "not", because generators of
    # clients ignore it or fail: https://github.com/swagger-api/swagger-codegen/issues/11770
    document["components"]["schemas"]["OrderChange"]["not"] = {"required": ["status", "holdExpiresAt"]}
    # The tool ignores the format of a member that has two types, and sends an empty text as a date.
    change = document["components"]["schemas"]["ProfileChange"]["properties"]
    for name in ("birthDate", "arrivalDate"):
        change[name] = {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}
    # JSON Schema cannot say which codes are currencies, or how many digits each has: https://www.iso.org/iso-4217-currency-codes.html
    amount = {"type": "string", "pattern": r"^[0-9]{1,9}(\.[0-9]{1,2})?$"}
    currency = {"type": "string", "enum": ["EUR", "GBP", "USD"]}
    price = {"type": "object", "required": ["amount", "currency"], "properties": {"amount": amount, "currency": currency}}
    for name, schema in document["components"]["schemas"].items():
        if name.endswith(("Change", "Input")) and "price" in schema.get("properties", {}):
            schema["properties"]["price"] = {"anyOf": [price, {"type": "null"}]}
    # The same holds for time zones. https://www.iana.org/time-zones
    store = document["components"]["schemas"]["StoreChange"]["properties"]
    store["currency"] = {"anyOf": [currency, {"type": "null"}]}
    store["timeZone"] = {"anyOf": [{"type": "string", "enum": ["Europe/Berlin", "America/New_York", "UTC"]}, {"type": "null"}]}


# The tool cannot make images, and the document only names files. The test writes them into this folder.
IMAGES = pathlib.Path(os.environ["EXAMPLE_IMAGES"])
for media_type, name in (("image/jpeg", "rex.jpg"), ("image/png", "rex.png"), ("image/webp", "rex.webp")):
    schemathesis.openapi.media_type(media_type, strategies.just((IMAGES / name).read_bytes()))


@schemathesis.serializer("application/x-ndjson")
def serialize_ndjson(context, value):
    """Sends a file of lines unchanged."""
    return value.encode() if isinstance(value, str) else str(value).encode()


@schemathesis.hook
def before_call(context, case, kwargs):
    if not case.meta.is_negative_at(ParameterLocation.HEADER):
        change_headers(case)
    if isinstance(case.body, dict) and isinstance(url := case.body.get("url"), str) and WEBHOOK_URL.fullmatch(url):
        # Webhooks must not reach the internet. The service refuses to connect to this address, because it is private. A URL
        # that the document does not allow stays as it is, because the service must refuse it.
        case.body = {**case.body, "url": WEBHOOK_URL.sub(r"\g<1>127.0.0.1\g<2>", url)}


WEBHOOK_URL = re.compile(r"(?=.{1,2000}$)(https?://(?:[^/?#]*@)?)(?:\[[^]/?#]*\]|[^/?#:@]*)([!-~]*)")


def change_headers(case):
    key = case.headers.get("Idempotency-Key")
    if key is not None:
        # The tool sends the same key with many different requests. They would all get 422, and nothing else would be
        # tested. Every fourth repetition of a key in a valid request stays.
        if case.meta.generation.mode.is_negative or key in sent_keys and next(repeats) % 4:
            case.headers["Idempotency-Key"] = str(uuid.uuid4())
        sent_keys.add(key)
    phase = case.meta.phase
    if "Last-Event-ID" in case.headers and (phase.name.value != "coverage" or phase.data.parameter == "Last-Event-ID"):
        # Only streams use this header, and only pages have an end.
        case.headers["Accept"] = "text/event-stream"
        case.query.pop("until", None)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Returns False for a failure that must not be reported."""
    # JSON Schema cannot compare a time with the current one, or with another parameter.
    times = r"\w+At must be in the future|\w+Date must not be (in the future|before)|until must not be before since"
    rejected = isinstance(failure, RejectedPositiveData) and response.status_code == 400
    # CR LF becomes LF before the service counts the characters of a text. JSON Schema counts two.
    body = case.body if isinstance(case.body, dict) else {}
    window = body.get("window") if isinstance(body.get("window"), dict) else {}
    texts = [(body.get("description"), 4000), (body.get("notes"), 4000), (window.get("introduction"), 2000)]
    counted = any(isinstance(text, str) and len(text) > most >= len(text.replace("\r\n", "\n")) for text, most in texts)
    accepted = isinstance(failure, AcceptedNegativeData)
    return not (accepted and counted or rejected and re.search(times, response.text))
