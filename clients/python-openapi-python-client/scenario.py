"""The scenario of clients/README.md with the client of openapi-python-client."""

import os
import re
import time
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

from animal_store_client import AuthenticatedClient
from animal_store_client.api.categories import create_category, delete_category, put_category
from animal_store_client.api.events import list_events
from animal_store_client.api.files import export_pets_csv
from animal_store_client.api.keys import create_key, revoke_key, rotate_key
from animal_store_client.api.pets import create_pet, delete_pet, list_pets, restore_pet, update_pet
from animal_store_client.api.store import get_order, place_order, update_order
from animal_store_client.api.webhooks import create_webhook, delete_webhook, update_webhook
from animal_store_client.models import (
    Category,
    CategoryEvent,
    CategoryInput,
    Error,
    EventType,
    Imported,
    Key,
    KeyEvent,
    KeyInput,
    KeyWithSecret,
    NewPet,
    Order,
    OrderChange,
    OrderEvent,
    OrderInput,
    OrderStatus,
    Pet,
    PetChange,
    PetEvent,
    PetEventType,
    PetStatus,
    Rotation,
    Scope,
    Webhook,
    WebhookChange,
    WebhookEvent,
    WebhookInput,
    WebhookWithSecret,
    YetUnknownEvent,
)
from animal_store_client.types import UNSET, File, Response, Unset

EXACT = 9007199254740993  # 2^53 + 1, which a double cannot hold

client = AuthenticatedClient(base_url=os.environ["ANIMALSTORE_URL"], token=os.environ["ANIMALSTORE_KEY"])

T = TypeVar("T")
Event = PetEvent | CategoryEvent | OrderEvent | KeyEvent | WebhookEvent


def expect(kind: type[T], value: object) -> T:
    assert isinstance(value, kind), value
    return value


def refused(response: Response[T], status: HTTPStatus, code: str) -> None:
    assert response.status_code == status, response
    assert expect(Error, response.parsed).code == code, response


def next_page(response: Response[T], parameter: str) -> str | Unset:
    link = re.search(r'<([^>]+)>; rel="next"', response.headers.get("Link", ""))
    return parse_qs(urlsplit(link[1]).query)[parameter][0] if link else UNSET


def all_animals() -> tuple[list[Pet], list[int]]:
    seen: list[Pet] = []
    sizes: list[int] = []
    cursor: str | Unset = UNSET
    while True:
        page = list_pets.sync_detailed(client=client, limit=2, cursor=cursor)
        animals = expect(list, page.parsed)
        seen += animals
        sizes.append(len(animals))
        cursor = next_page(page, "cursor")
        if isinstance(cursor, Unset):
            return seen, sizes


def use_animals() -> tuple[Pet, Pet]:
    dogs = expect(Category, create_category.sync(client=client, body=CategoryInput(name="Dogs")))
    assert dogs.name == "Dogs", dogs

    new = NewPet(name="Rex", category_id=EXACT, status=PetStatus.AVAILABLE)
    rex = expect(Pet, create_pet.sync(client=client, body=new))
    assert rex.category_id == EXACT, rex
    assert list_pets.sync(client=client, id=[rex.id]) == [rex]
    assert list_pets.sync(client=client, category_id=EXACT) == [rex]

    made = [rex]
    for number in range(4):
        body = NewPet(name=f"Dog {number}", category_id=dogs.id)
        made.append(expect(Pet, create_pet.sync(client=client, body=body)))
    seen, sizes = all_animals()
    assert sizes == [2, 2, 1], sizes
    assert seen == made[::-1], seen

    # The client sends limit=20 by default, and then the ETag is that of the list.
    etag = list_pets.sync_detailed(client=client, id=[rex.id], limit=UNSET).headers["ETag"]
    changed = expect(Pet, update_pet.sync(rex.id, client=client, body=PetChange(name="Rexina"), if_match=etag))
    assert changed.name == "Rexina" and changed.category_id == EXACT, changed
    stale = update_pet.sync_detailed(rex.id, client=client, body=PetChange(name="Max"), if_match=etag)
    refused(stale, HTTPStatus.PRECONDITION_FAILED, "precondition_failed")
    return changed, made[1]


def use_orders(rex: Pet, other: Pet) -> None:
    def place(pet: Pet, reference: str | Unset = UNSET) -> Order:
        return expect(Order, place_order.sync(client=client, body=OrderInput(pet_id=pet.id, reference=reference)))

    def change(order: Order, change: OrderChange) -> Order:
        return expect(Order, update_order.sync(order.id, client=client, body=change))

    first = place(rex, "basket 4711")
    assert first.status == OrderStatus.PLACED and isinstance(first.hold_expires_at, datetime), first
    second = place_order.sync_detailed(client=client, body=OrderInput(pet_id=rex.id))
    refused(second, HTTPStatus.CONFLICT, "pet_not_available")
    assert change(first, OrderChange(reference="basket 4712")).reference == "basket 4712"
    for status in (OrderStatus.APPROVED, OrderStatus.DELIVERED):
        assert change(first, OrderChange(status=status)).status == status

    update_pet.sync(other.id, client=client, body=PetChange(status=PetStatus.AVAILABLE))
    change(place(other), OrderChange(status=OrderStatus.CANCELLED))
    short = place(other)
    end = datetime.now(UTC) + timedelta(seconds=2)
    assert change(short, OrderChange(hold_expires_at=end)).hold_expires_at == end
    while expect(Order, get_order.sync(short.id, client=client)).status != OrderStatus.EXPIRED:
        time.sleep(0.1)


def use_the_rest(other: Pet) -> None:
    assert delete_pet.sync_detailed(other.id, client=client).status_code == HTTPStatus.NO_CONTENT
    assert expect(Pet, restore_pet.sync(other.id, client=client)).name == other.name
    cats = expect(Category, create_category.sync(client=client, body=CategoryInput(name="Cats")))
    put_category.sync(cats.id, client=client, body=CategoryInput(name="Kittens"))
    assert delete_category.sync_detailed(cats.id, client=client).status_code == HTTPStatus.NO_CONTENT

    body = KeyInput(name="website", scopes=[Scope.PETSREAD])
    key = expect(KeyWithSecret, create_key.sync(client=client, body=body))
    rotated = expect(KeyWithSecret, rotate_key.sync(key.id, client=client, body=Rotation(overlap_seconds=0)))
    assert key.key and rotated.key and key.key != rotated.key, rotated
    assert revoke_key.sync_detailed(key.id, client=client).status_code == HTTPStatus.NO_CONTENT

    wanted = WebhookInput(url="https://shop.invalid/hook", types=[EventType.ORDER_PLACED])
    hook = expect(WebhookWithSecret, create_webhook.sync(client=client, body=wanted))
    assert hook.secret, hook
    disabled = update_webhook.sync(hook.id, client=client, body=WebhookChange(enabled=False))
    assert expect(Webhook, disabled).enabled is False
    assert delete_webhook.sync_detailed(hook.id, client=client).status_code == HTTPStatus.NO_CONTENT

    # import_pets would call a CSV file NDJSON, so send the file with the HTTP client of the generated client.
    answer = client.get_httpx_client().post(
        "/imports",
        content="name,categoryId,status\r\nBella,7,available\r\nLuna,7,\r\n",
        headers={"Content-Type": "text/csv"},
    )
    assert answer.status_code == HTTPStatus.OK, answer.text
    assert Imported.from_dict(answer.json()).created == 2, answer.text
    lines = expect(File, export_pets_csv.sync(client=client)).payload.read().decode().splitlines()
    assert lines[0].startswith("id,name,categoryId,status"), lines[0]
    assert any(f",Rexina,{EXACT},sold" in line for line in lines), lines
    assert any(",Luna,7," in line for line in lines), lines

    unnamed = create_pet.sync_detailed(client=client, body=NewPet(name="", category_id=1))
    refused(unnamed, HTTPStatus.BAD_REQUEST, "validation_failed")
    refused(get_order.sync_detailed(999, client=client), HTTPStatus.NOT_FOUND, "not_found")


def read_events(rex: Pet) -> list[str]:
    types: list[str] = []
    after: str | Unset = UNSET
    while True:
        page = list_events.sync_detailed(client=client, after=after, limit=10)
        types += [check(event, rex) for event in expect(list, page.parsed)]
        after = next_page(page, "after")
        if isinstance(after, Unset):
            return types


def check(event: Event, rex: Pet) -> str:
    current, previous = event.data.current, event.data.previous
    resource = {PetEvent: Pet, CategoryEvent: Category, OrderEvent: Order, KeyEvent: Key, WebhookEvent: Webhook}
    assert current or previous, event
    for state in (current, previous):
        assert state is None or isinstance(state, resource[type(event)]), event
    if isinstance(event, PetEvent) and event.type_ == PetEventType.PET_CREATED and event.subject == f"pets/{rex.id}":
        created = expect(Pet, event.data.current)
        assert created.name == "Rex" and created.category_id == EXACT and event.data.previous is None, event
    family = type(event).__name__.removesuffix("Event").lower()
    assert event.type_.value.startswith(family + "."), event
    return event.type_.value


def read_a_later_version() -> None:
    """Reads responses with members, codes, scopes and types that the document does not have."""
    dogs = expect(Category, create_category.sync(client=client, body=CategoryInput(name="Dogs")))
    expect(Pet, create_pet.sync(client=client, body=NewPet(name="Rex", category_id=dogs.id)))
    refused(get_order.sync_detailed(999, client=client), HTTPStatus.NOT_FOUND, "added_later")
    key = expect(KeyWithSecret, create_key.sync(client=client, body=KeyInput(name="website", scopes=[Scope.PETSREAD])))
    assert key.scopes == ["pets:read", "added:later"], key
    wanted = WebhookInput(url="https://shop.invalid/hook", types=[EventType.ORDER_PLACED])
    hook = expect(WebhookWithSecret, create_webhook.sync(client=client, body=wanted))
    assert hook.types == ["order.placed", "pet.photographed"], hook
    first, second = expect(list, list_events.sync(client=client))[:2]
    assert expect(YetUnknownEvent, first).type_ == "pet.photographed", first
    assert first.data.current["name"] == "Dogs", first
    expect(PetEvent, second)


if os.environ.get("LATER"):
    read_a_later_version()
    raise SystemExit

rex, other = use_animals()
use_orders(rex, other)
use_the_rest(other)
types = read_events(rex)
# The feed shows the events of profiles only to those who name their type.
known = set(EventType) - {EventType.PROFILE_UPDATED}
assert set(types) == known, set(types) ^ known
print(f"passed: animals, pages, conditions, orders, files, errors, and {len(types)} events of {len(set(types))} types")
