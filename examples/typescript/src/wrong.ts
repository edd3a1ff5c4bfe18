// What must not compile: each line would be a mistake that only shows when it runs, were the document less exact. It is checked
// with the rest, and never runs.
import { type Pet, type Shop, taken } from "./shop.js";

export async function mistakes(shop: Shop, pet: Pet): Promise<void> {
  // @ts-expect-error: the member is called categoryId
  await shop.POST("/pets", { body: { name: "Rex", category: 1 } });
  // @ts-expect-error: an animal needs a name
  await shop.POST("/pets", { body: { categoryId: 1 } });
  // @ts-expect-error: there is no such status
  await shop.GET("/pets", { params: { query: { status: "free" } } });
  // @ts-expect-error: there is no such path
  await shop.GET("/animals");
  // @ts-expect-error: an inventory cannot be written
  await shop.POST("/store/inventory");
  // @ts-expect-error: the id of an order is a number
  await shop.GET("/store/orders/{orderId}", { params: { path: { orderId: "7" } } });
  // @ts-expect-error: the header is called Idempotency-Key
  await shop.POST("/store/orders", { body: { petId: 1 }, params: { header: { "Idempotent-Key": "k" } } });
  const order = await shop.GET("/store/orders/{orderId}", { params: { path: { orderId: 7 } } });
  // @ts-expect-error: there may be an error in its place
  console.log(order.data.status);
  // @ts-expect-error: there is no such code
  console.log(order.error?.code === "no_such_order");
  // @ts-expect-error: an order has a petId and not the animal
  console.log(taken(order).pet);
  // @ts-expect-error: an animal may have no status
  console.log(pet.status.length);
}
