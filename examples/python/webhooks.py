"""Verifies messages of animalstore, which are signed as Standard Webhooks 1.0 (www.standardwebhooks.com) says."""

import base64
import hmac
import json
import time


def verify(headers, body, secrets, tolerance=300, now=None):
    """Returns the event in a message, or raises ValueError if the service has not sent the message, or not recently.

    body is the request body as it came, in bytes. While a secret is rotated, pass the old and the new one. The service sends a
    message again if it gets no 2xx response, always with the same webhook-id: process each id once.
    """
    message_id, sent, signatures = (headers.get("webhook-" + name, "") for name in ("id", "timestamp", "signature"))
    signed = f"{message_id}.{sent}.".encode() + body
    expected = [b"v1," + base64.b64encode(hmac.digest(decode(secret), signed, "sha256")) for secret in secrets]
    # An ordinary comparison takes longer the more of a forged signature is right, so it would help to guess the rest.
    if not any(hmac.compare_digest(e, s.encode()) for e in expected for s in signatures.split()):
        raise ValueError("the message is not signed with a secret of this webhook")
    if abs((time.time() if now is None else now) - int(sent)) > tolerance:
        raise ValueError("the message is too old, or a clock is wrong")
    return json.loads(body)


def decode(secret):
    """Returns the bytes of a secret. With an empty secret, anybody could sign messages."""
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    if len(key) < 24:
        raise ValueError("the secret is too short")
    return key
