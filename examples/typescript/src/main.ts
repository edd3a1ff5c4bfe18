// A morning in the shop: what can be sold, an animal that comes in, and a customer who wants it.
import { randomUUID } from "node:crypto";
import { follow } from "./events.js";
import { openShop, petsOf, Refused, taken } from "./shop.js";

const url = process.env["ANIMALSTORE_URL"] ?? "http://127.0.0.1:8080/v1";
const key = process.env["ANIMALSTORE_KEY"];
if (key === undefined) {
  console.error("Put an API key into the variable ANIMALSTORE_KEY.");
  process.exit(2);
}
const shop = openShop(url, key);

let available = 0;
for await (const pet of petsOf(shop, "available")) {
  if (available++ < 3) {
    console.log(`${pet.id}: ${pet.name}`);
  }
}
console.log(`${available} animals are available.`);

// Every POST takes an Idempotency-Key: however often it is sent, it happens once.
const rex = taken(
  await shop.POST("/pets", {
    body: { name: "Rex, Beagle", categoryId: 1, status: "available" },
    params: { header: { "Idempotency-Key": randomUUID() } },
  }),
);
console.log(`${rex.name} came in and is ${rex.status ?? "new"}.`);

const once = { header: { "Idempotency-Key": randomUUID() } };
const body = { petId: rex.id, reference: "Family Okafor" };
const order = taken(await shop.POST("/store/orders", { body, params: once }));
const again = taken(await shop.POST("/store/orders", { body, params: once }));
console.log(`The order is ${order.status}, and sent again it is ${again.id === order.id ? "the same" : "another"}.`);

// Somebody else wants the same animal. The codes are part of the type, so a mistyped one does not compile.
const late = await shop.POST("/store/orders", { body: { petId: rex.id } });
if (late.error?.code === "pet_not_available") {
  console.log(`Too late: ${late.error.message}`);
}

try {
  taken(await shop.POST("/pets", { body: { name: "", categoryId: 1 } }));
} catch (error) {
  if (!(error instanceof Refused)) {
    throw error;
  }
  console.log(`${error.answer.status} ${error.code}: ${error.message}`);
}

taken(await shop.PATCH("/store/orders/{orderId}", { params: { path: { orderId: order.id } }, body: { status: "cancelled" } }));

// All that happened to the animal, and from then on what happens.
const ended = new AbortController();
for await (const event of follow(shop, "0", ended.signal)) {
  const { current } = event.data;
  if (event.subject === `pets/${rex.id}` && current !== null && "status" in current) {
    console.log(`event ${event.type}: ${current.status}`);
    if (event.type === "pet.updated" && current.status === "available") {
      break;
    }
  }
}
ended.abort();
