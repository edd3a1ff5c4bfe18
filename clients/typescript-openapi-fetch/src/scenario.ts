// The scenario of clients/README.md with the types of openapi-typescript and the client of openapi-fetch.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./animalstore.js";
import { encodeExact, exactResponses } from "./exact.js";

type Schemas = components["schemas"];
type Pet = Schemas["Pet"];
type KnownEvent = Schemas[`${"Pet" | "Category" | "Order" | "Key" | "Webhook" | "Profile" | "Store"}Event`];

const exact = 9007199254740993n; // 2^53 + 1, which a number cannot hold

// The compiler checks that no type is missing. Those of profiles and the store must be named.
const eventTypes: Record<Exclude<Schemas["EventType"], "profile.updated" | "store.updated">, true> = {
  "pet.created": true,
  "pet.updated": true,
  "pet.deleted": true,
  "pet.restored": true,
  "category.created": true,
  "category.updated": true,
  "category.deleted": true,
  "order.placed": true,
  "order.updated": true,
  "order.approved": true,
  "order.delivered": true,
  "order.cancelled": true,
  "order.expired": true,
  "key.created": true,
  "key.rotated": true,
  "key.revoked": true,
  "webhook.created": true,
  "webhook.updated": true,
  "webhook.deleted": true,
};

const client = createClient<paths, "application/json">({
  baseUrl: process.env["ANIMALSTORE_URL"]!,
  headers: { Authorization: `Bearer ${process.env["ANIMALSTORE_KEY"]}` },
  bodySerializer: encodeExact,
});
client.use(exactResponses);

/** Returns the data of a response, or fails if the response is an error. */
function unwrap<T>(result: { data?: T; error?: unknown; response: Response }): T {
  assert(result.response.ok, JSON.stringify(result.error));
  return result.data as T;
}

function refused(result: { error?: Schemas["Error"]; response: Response }, status: number, code: string): void {
  assert.equal(result.response.status, status);
  assert.equal(result.error?.status, status);
  assert.equal(result.error.code, code);
}

/** Returns a parameter of the next page's URL, or undefined on the last page. */
function next(response: Response, parameter: string): string | undefined {
  const url = /<([^>]+)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
  return url === undefined ? undefined : (new URL(url).searchParams.get(parameter) ?? undefined);
}

async function createPet(body: Schemas["NewPet"]): Promise<Pet> {
  return unwrap(await client.POST("/pets", { body }));
}

async function useAnimals(): Promise<[Pet, Pet]> {
  const dogs = unwrap(await client.POST("/categories", { body: { name: "Dogs" } }));
  assert.equal(dogs.name, "Dogs");
  const rex = await createPet({ name: "Rex", categoryId: exact, status: "available" });
  assert.equal(rex.categoryId, exact);
  assert.deepEqual(unwrap(await client.GET("/pets", { params: { query: { categoryId: exact } } })), [rex]);

  const created = [rex];
  for (let n = 0; n < 4; n++) {
    created.unshift(await createPet({ name: `Dog ${n}`, categoryId: dogs.id }));
  }
  const seen: Pet[] = [];
  const sizes: number[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page = await client.GET("/pets", { params: { query: { limit: 2, ...(cursor === "" ? {} : { cursor }) } } });
    const pets: Pet[] = unwrap(page);
    seen.push(...pets);
    sizes.push(pets.length);
    cursor = next(page.response, "cursor");
  }
  assert.deepEqual(sizes, [2, 2, 1]);
  assert.deepEqual(seen, created);

  const byId = await client.GET("/pets", { params: { query: { id: [rex.id] } } });
  assert.deepEqual(unwrap(byId), [rex]);
  const params = { path: { petId: rex.id }, header: { "If-Match": byId.response.headers.get("ETag")! } };
  const renamed = unwrap(await client.PATCH("/pets/{petId}", { params, body: { name: "Rexina" } }));
  assert.deepEqual(renamed, { ...rex, name: "Rexina" });
  refused(await client.PATCH("/pets/{petId}", { params, body: { name: "Max" } }), 412, "precondition_failed");
  return [renamed, created[3]!];
}

async function placeOrder(body: Schemas["OrderInput"]): Promise<Schemas["Order"]> {
  return unwrap(await client.POST("/store/orders", { body }));
}

async function updateOrder(orderId: bigint, status: Schemas["OrderStatus"]): Promise<void> {
  const updated = unwrap(await client.PATCH("/store/orders/{orderId}", { params: { path: { orderId } }, body: { status } }));
  assert.equal(updated.status, status);
}

async function useOrders(rex: Pet, other: Pet): Promise<void> {
  const first = await placeOrder({ petId: rex.id, reference: "basket 4711" });
  assert.equal(first.status, "placed");
  assert(first.holdExpiresAt);
  refused(await client.POST("/store/orders", { body: { petId: rex.id } }), 409, "pet_not_available");
  const params = { path: { orderId: first.id } };
  const changed = unwrap(await client.PATCH("/store/orders/{orderId}", { params, body: { reference: "basket 4712" } }));
  assert.equal(changed.reference, "basket 4712");
  await updateOrder(first.id, "approved");
  await updateOrder(first.id, "delivered");

  unwrap(await client.PATCH("/pets/{petId}", { params: { path: { petId: other.id } }, body: { status: "available" } }));
  await updateOrder((await placeOrder({ petId: other.id })).id, "cancelled");
  const third = { path: { orderId: (await placeOrder({ petId: other.id })).id } };
  const end = new Date(Date.now() + 2000);
  const hold = { holdExpiresAt: end.toISOString() };
  const shorter = unwrap(await client.PATCH("/store/orders/{orderId}", { params: third, body: hold }));
  assert.deepEqual(new Date(shorter.holdExpiresAt!), end);
  while (unwrap(await client.GET("/store/orders/{orderId}", { params: third })).status !== "expired") {
    await sleep(100);
  }
}

async function useTheRest(other: Pet): Promise<void> {
  const removed = { path: { petId: other.id } };
  unwrap(await client.DELETE("/pets/{petId}", { params: removed }));
  assert.equal(unwrap(await client.POST("/pets/{petId}/restore", { params: removed })).name, other.name);
  const cats = { path: { categoryId: unwrap(await client.POST("/categories", { body: { name: "Cats" } })).id } };
  unwrap(await client.PUT("/categories/{categoryId}", { params: cats, body: { name: "Kittens" } }));
  unwrap(await client.DELETE("/categories/{categoryId}", { params: cats }));

  const key = unwrap(await client.POST("/keys", { body: { name: "website", scopes: ["pets:read"] } }));
  const params = { path: { keyId: key.id } };
  assert.notEqual(unwrap(await client.POST("/keys/{keyId}/rotate", { params, body: { overlapSeconds: 0 } })).key, key.key);
  unwrap(await client.DELETE("/keys/{keyId}", { params }));

  const hook = unwrap(await client.POST("/webhooks", { body: { url: "https://shop.invalid/hook", types: ["order.placed"] } }));
  assert(hook.secret);
  const path = { webhookId: hook.id };
  assert.equal(unwrap(await client.PATCH("/webhooks/{webhookId}", { params: { path }, body: { enabled: false } })).enabled, false);
  unwrap(await client.DELETE("/webhooks/{webhookId}", { params: { path } }));

  const imported = await client.POST("/imports", {
    body: "name,categoryId,status\r\nBella,7,available\r\nLuna,7,\r\n",
    headers: { "Content-Type": "text/csv" },
  });
  assert.equal(unwrap(imported).created, 2);
  const lines = unwrap(await client.GET("/exports/pets.csv", { parseAs: "text" })).split("\r\n");
  assert(lines[0]?.startsWith("id,name,categoryId,status"));
  assert(lines.some((line) => line.includes(`,Rexina,${exact},sold`)));
  assert(lines.some((line) => line.includes(",Luna,7,")));

  refused(await client.POST("/pets", { body: { name: "", categoryId: 1n } }), 400, "validation_failed");
  refused(await client.GET("/store/orders/{orderId}", { params: { path: { orderId: 999n } } }), 404, "not_found");
}

/** Tells the events of this version from those of later ones. */
function isKnown(event: Schemas["Event"]): event is KnownEvent {
  return event.type in eventTypes;
}

async function readEvents(rex: Pet): Promise<string[]> {
  const types: string[] = [];
  for (let after: string | undefined = "0"; after !== undefined; ) {
    const page = await client.GET("/events", { params: { query: { after, limit: 10 } } });
    const events: Schemas["Event"][] = unwrap(page);
    for (const event of events) {
      assert(isKnown(event), event.type);
      check(event, rex);
      types.push(event.type);
    }
    after = next(page.response, "after");
  }
  return types;
}

function check(event: KnownEvent, rex: Pet): void {
  switch (event.type) {
    case "pet.created":
    case "pet.updated":
    case "pet.deleted":
    case "pet.restored": {
      const pet = event.data.current ?? event.data.previous;
      assert.equal(event.subject, `pets/${pet?.id}`);
      assert.equal(typeof pet?.categoryId, "bigint");
      if (event.type === "pet.created" && pet?.id === rex.id) {
        assert.deepEqual(event.data, { current: { ...rex, name: "Rex", status: "available" }, previous: null });
      }
      return;
    }
    case "category.created":
    case "category.updated":
    case "category.deleted":
      assert.equal(event.subject, `categories/${(event.data.current ?? event.data.previous)?.id}`);
      return;
    case "key.created":
    case "key.rotated":
    case "key.revoked":
      assert((event.data.current ?? event.data.previous)?.hint);
      return;
    case "webhook.created":
    case "webhook.updated":
    case "webhook.deleted":
      assert((event.data.current ?? event.data.previous)?.url);
      return;
    case "profile.updated":
      assert.equal(event.subject, `pets/${event.data.current.pet.id}/profile`);
      return;
    case "store.updated":
      assert.equal(event.subject, "store");
      return;
    default: // the compiler knows that only orders are left
      assert.equal(event.subject, `store/orders/${event.data.current?.id}`);
      assert.equal(typeof event.data.current?.petId, "bigint");
  }
}

/** Reads responses with members, codes, scopes and types that the document does not have. */
async function readALaterVersion(): Promise<void> {
  const dogs = unwrap(await client.POST("/categories", { body: { name: "Dogs" } }));
  await createPet({ name: "Rex", categoryId: dogs.id });
  refused(await client.GET("/store/orders/{orderId}", { params: { path: { orderId: 999n } } }), 404, "added_later");
  const key = unwrap(await client.POST("/keys", { body: { name: "website", scopes: ["pets:read"] } }));
  assert.deepEqual(key.scopes, ["pets:read", "added:later"]);
  const hook = unwrap(await client.POST("/webhooks", { body: { url: "https://shop.invalid/hook", types: ["order.placed"] } }));
  assert.deepEqual(hook.types, ["order.placed", "pet.photographed"]);
  const [first, second] = unwrap(await client.GET("/events"));
  assert(first && !isKnown(first) && first.type === "pet.photographed" && first.data.current?.["name"] === "Dogs");
  assert(second && isKnown(second));
}

if (process.env["LATER"]) {
  await readALaterVersion();
  process.exit();
}

const [rex, other] = await useAnimals();
await useOrders(rex, other);
await useTheRest(other);
const types = await readEvents(rex);
assert.deepEqual(new Set(types), new Set(Object.keys(eventTypes)));
console.log(`passed: animals, pages, conditions, orders, files, errors, and ${types.length} events of ${new Set(types).size} types`);
