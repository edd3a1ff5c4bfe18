// A short tour: list the available animals, add one, order it, and follow the events.
import { randomUUID } from "node:crypto";
import { follow } from "./events.js";
import { openShop, petsWithStatus, ApiError, unwrap } from "./shop.js";

const url = process.env["ANIMALSTORE_URL"] ?? "http://127.0.0.1:8080/v1";
const key = process.env["ANIMALSTORE_KEY"];
if (key === undefined) {
  console.error("Set ANIMALSTORE_KEY to an API key.");
  process.exit(2);
}
const shop = openShop(url, key);

let available = 0;
for await (const pet of petsWithStatus(shop, "available")) {
  if (available++ < 3) {
    console.log(`${pet.id}: ${pet.name}`);
  }
}
console.log(`${available} animals are available.`);

// With an Idempotency-Key, a POST takes effect once, however often it is sent.
const rex = unwrap(
  await shop.POST("/pets", {
    body: { name: "Rex, Beagle", categoryId: 1n, status: "available" },
    params: { header: { "Idempotency-Key": randomUUID() } },
  }),
);
console.log(`${rex.name} arrived and is ${rex.status ?? "new"}.`);

const once = { header: { "Idempotency-Key": randomUUID() } };
const body = { petId: rex.id, reference: "Family Okafor" };
const order = unwrap(await shop.POST("/store/orders", { body, params: once }));
const again = unwrap(await shop.POST("/store/orders", { body, params: once }));
console.log(`The order is ${order.status}; repeating the request returns ${again.id === order.id ? "the same" : "another"} order.`);

// Another customer wants the same animal. The codes are part of the type, so a mistyped one does not compile.
const late = await shop.POST("/store/orders", { body: { petId: rex.id } });
if (late.error?.code === "pet_not_available") {
  console.log(`Too late: ${late.error.message}`);
}

try {
  unwrap(await shop.POST("/pets", { body: { name: "", categoryId: 1n } }));
} catch (error) {
  if (!(error instanceof ApiError)) {
    throw error;
  }
  console.log(`${error.body.status} ${error.code}: ${error.message}`);
}

unwrap(await shop.PATCH("/store/orders/{orderId}", { params: { path: { orderId: order.id } }, body: { status: "cancelled" } }));

// An id of your own choice may be beyond 2^53, where JavaScript numbers are not exact.
const bella = unwrap(await shop.POST("/pets", { body: { name: "Bella", categoryId: 9007199254740993n } }));
const found = unwrap(await shop.GET("/pets", { params: { query: { id: [bella.id], categoryId: bella.categoryId } } }));
console.log(`${found.map((pet) => pet.name).join()} is in category ${bella.categoryId}.`);

// Files are text, so they are not parsed.
const file = unwrap(await shop.GET("/exports/pets.csv", { parseAs: "text" }));
console.log(`The export starts with ${file.split("\r\n", 1)[0]}.`);

// Everything that has happened to the animal, and then whatever happens next.
const ended = new AbortController();
for await (const event of follow(shop, "0", ended.signal)) {
  if (event.type !== "pet.created" && event.type !== "pet.updated") {
    continue;
  }
  const pet = event.data.current; // the type of the event says that this is an animal
  if (pet?.id === rex.id) {
    console.log(`event ${event.type}: ${pet.status}`);
    if (event.type === "pet.updated" && pet.status === "available") {
      break;
    }
  }
}
ended.abort();
