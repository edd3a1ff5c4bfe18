import type { components } from "./animalstore.js";
import { type Shop, taken } from "./shop.js";

export type ShopEvent = components["schemas"]["Event"];

/**
 * follow reads the events after one, and then those that happen, until the signal ends it. When the connection ends, call it
 * again with the id of the last event: none is skipped.
 */
export async function* follow(shop: Shop, after: string, signal: AbortSignal): AsyncGenerator<ShopEvent> {
  const result = await shop.GET("/events", {
    params: { query: { after } },
    headers: { Accept: "text/event-stream" },
    parseAs: "stream",
    signal,
  });
  const stream = taken(result);
  if (stream === null) {
    return;
  }
  let rest = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream())) {
    const messages = (rest + part).split("\n\n");
    rest = messages.pop() ?? "";
    for (const message of messages) {
      const data = message.split("\n").filter((line) => line.startsWith("data: "));
      if (data.length > 0) { // a comment only keeps the connection open
        yield JSON.parse(data.map((line) => line.slice("data: ".length)).join("\n")) as ShopEvent;
      }
    }
  }
}
