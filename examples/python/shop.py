"""A client of animalstore that needs only the standard library: requests, safe retries, pages and errors."""

import http.client
import json
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid


class ApiError(Exception):
    """An error response of the service. Programs use its code; the message is for humans."""

    def __init__(self, status, headers, body):
        try:
            error = json.loads(body)
        except ValueError:  # a proxy may have sent the response
            error = {}
        super().__init__(error.get("message", f"the response has the status {status}"))
        self.status = status
        self.code = error.get("code", "")
        retry_after = headers.get("Retry-After", "")
        self.retry_after = int(retry_after) if retry_after.isdigit() else 0

    def is_temporary(self):
        """Reports whether the same request may succeed later."""
        return self.status in (429, 502, 503, 504) or self.code == "idempotency_key_in_use"


class Shop:
    """A service at a base URL, which ends in /v1."""

    def __init__(self, url, key):
        self.url = url
        self.key = key

    def open(self, method, path, body=None, headers=None, timeout=30):
        """Sends a request once and returns the response, whose body the caller reads. path may be a URL from a Link header."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path if path.startswith("/") else path,
            data,
            {"Authorization": "Bearer " + self.key, "Content-Type": "application/json", **(headers or {})},
            method=method,
        )
        try:
            return urllib.request.urlopen(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            with error:
                raise ApiError(error.code, error.headers, error.read()) from None

    def send(self, method, path, body=None, headers=None, attempts=5):
        """Sends a request until there is a response that settles it. Returns the decoded body and the headers.

        It repeats a request only if that is safe: a GET, a POST with an Idempotency-Key, or one that was not processed.
        """
        headers = headers or {}
        repeatable = method == "GET" or "Idempotency-Key" in headers
        for attempt in range(1, attempts + 1):
            wait = random.uniform(0, 0.25 * 2**attempt)  # random, so that clients do not return all at the same time
            try:
                with self.open(method, path, body, headers) as response:
                    content = response.read()
                    return (json.loads(content) if content else None), response.headers
            except ApiError as error:
                if attempt == attempts or not error.is_temporary() or not (repeatable or error.status == 429):
                    raise
                wait += error.retry_after
            except (OSError, http.client.HTTPException):  # no response: the service may have processed the request
                if attempt == attempts or not repeatable:
                    raise
            time.sleep(wait)

    def post(self, path, body, key=None):
        """Sends a POST that takes effect once, however often it is sent. Pass a key of your own to repeat it after a crash."""
        return self.send("POST", path, body, {"Idempotency-Key": key or str(uuid.uuid4())})[0]

    def list(self, path, **filters):
        """Yields the items of a list and fetches its pages as needed."""
        page = path + "?" + urllib.parse.urlencode(filters)
        while page:
            items, headers = self.send("GET", page)
            yield from items
            following = re.search(r'<([^>]*)>; rel="next"', headers.get("Link", ""))
            page = following and following[1]
