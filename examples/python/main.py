"""A short tour: list the available animals, add one, order it, follow the events, and receive a webhook."""

import os
import queue
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from events import follow
from shop import ApiError, Shop
from webhooks import verify


def main():
    if "ANIMALSTORE_KEY" not in os.environ:
        sys.exit("Set ANIMALSTORE_KEY to an API key.")
    shop = Shop(os.environ.get("ANIMALSTORE_URL", "http://127.0.0.1:8080/v1"), os.environ["ANIMALSTORE_KEY"])

    available = 0
    for pet in shop.list("/pets", status="available", limit=20):
        if available < 3:
            print(f"{pet['id']}: {pet['name']}")
        available += 1
    print(f"{available} animals are available.")

    rex = shop.post("/pets", {"name": "Rex, Beagle", "categoryId": 1, "status": "available"})
    print(f"{rex['name']} arrived and is {rex['status']}.")

    order_rex(shop, rex)

    # Python integers are exact, however large. In other languages, check that yours are beyond 2^53.
    bella = shop.post("/pets", {"name": "Bella", "categoryId": 9007199254740993})
    found = list(shop.list("/pets", id=bella["id"], categoryId=bella["categoryId"]))
    print(f"{found[0]['name']} is in category {found[0]['categoryId']}.")

    # Everything that has happened to the animal, and then whatever happens next.
    for event in follow(shop, after="0", subject=f"pets/{rex['id']}"):
        status = event["data"]["current"]["status"]
        print(f"event {event['type']}: {status}")
        if event["type"] == "pet.updated" and status == "available":
            break

    receive_webhook(shop, rex)


def order_rex(shop, rex):
    """Orders an animal, in vain a second time, and cancels the order."""
    key = str(uuid.uuid4())
    order = shop.post("/store/orders", {"petId": rex["id"], "reference": "Family Okafor"}, key)
    again = shop.post("/store/orders", {"petId": rex["id"], "reference": "Family Okafor"}, key)
    same = "the same" if again["id"] == order["id"] else "another"
    print(f"The order is {order['status']}; repeating the request returns {same} order.")

    try:  # another customer wants the same animal
        shop.post("/store/orders", {"petId": rex["id"]})
    except ApiError as error:
        if error.code != "pet_not_available":
            raise
        print(f"Too late: {error}")

    try:
        shop.post("/pets", {"name": "", "categoryId": 1})
    except ApiError as error:
        print(f"{error.status} {error.code}: {error}")

    shop.send("PATCH", f"/store/orders/{order['id']}", {"status": "cancelled"})


def receive_webhook(shop, rex):
    """Receives a message, rotates the secret, and receives a message that is signed with both secrets."""
    received = queue.Queue()
    secrets = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                event = verify(self.headers, body, secrets)
            except ValueError as error:
                self.send_error(401, str(error))
                return
            received.put((event, self.headers, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # The service sends messages to a private address only if it runs with --webhook-allow-private.
    hook = shop.post("/webhooks", {"url": f"http://127.0.0.1:{server.server_port}/", "types": ["pet.updated"]})
    try:
        secrets.append(hook["secret"])  # shown only here
        shop.send("PATCH", f"/pets/{rex['id']}", {"name": "Rexina, Beagle"})
        event, _, _ = received.get(timeout=60)
        print(f"webhook {event['type']}: {event['data']['current']['name']}")

        secrets.append(shop.post(f"/webhooks/{hook['id']}/rotate", {"overlapSeconds": 3600})["secret"])
        shop.send("PATCH", f"/pets/{rex['id']}", {"name": "Rex, Beagle"})
        event, headers, body = received.get(timeout=60)
        for secret in secrets:  # a receiver that knows only one of them works, too
            verify(headers, body, [secret])
        print(f"webhook {event['type']}: {len(headers['webhook-signature'].split())} signatures during the rotation")

        for what, changed, later in ("A forged message", b" ", 0), ("A message of an hour ago", b"", 3600):
            try:
                verify(headers, body + changed, secrets, now=int(headers["webhook-timestamp"]) + later)
            except ValueError as error:
                print(f"{what} is refused: {error}.")
    finally:
        shop.send("DELETE", f"/webhooks/{hook['id']}")
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    main()
