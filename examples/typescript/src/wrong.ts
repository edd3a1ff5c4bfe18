// Code that must not compile: with a less precise OpenAPI document, these mistakes would only show at run time. This file is
// type-checked with the others, but never runs.
import { type Pet, type Shop, unwrap } from "./shop.js";

export async function mistakes(shop: Shop, pet: Pet): Promise<void> {
  // @ts-expect-error: the property is called categoryId
  await shop.POST("/pets", { body: { name: "Rex", category: 1n } });
  // @ts-expect-error: an animal needs a name
  await shop.POST("/pets", { body: { categoryId: 1n } });
  // @ts-expect-error: the status does not exist
  await shop.GET("/pets", { params: { query: { status: "free" } } });
  // @ts-expect-error: the path does not exist
  await shop.GET("/animals");
  // @ts-expect-error: the inventory is read-only
  await shop.POST("/store/inventory");
  // @ts-expect-error: the id of an order is a bigint, because a number may have lost digits
  await shop.GET("/store/orders/{orderId}", { params: { path: { orderId: 7 } } });
  // @ts-expect-error: the header is called Idempotency-Key
  await shop.POST("/store/orders", { body: { petId: 1n }, params: { header: { "Idempotent-Key": "k" } } });
  const order = await shop.GET("/store/orders/{orderId}", { params: { path: { orderId: 7n } } });
  // @ts-expect-error: there may be an error instead of data
  console.log(order.data.status);
  // @ts-expect-error: the code is a text, not the status
  console.log(order.error?.code === 404);
  // @ts-expect-error: an order has a petId, not the animal itself
  console.log(unwrap(order).pet);
  // @ts-expect-error: an animal may have no status
  console.log(pet.status.length);
  const events = unwrap(await shop.GET("/events"));
  // @ts-expect-error: the event may be about something else than an animal
  console.log(events[0]?.data.current?.categoryId);
}
