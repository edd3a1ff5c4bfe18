import type { components } from "./animalstore.js";
import { parseExact } from "./exact.js";
import { type Shop, unwrap } from "./shop.js";

export type ShopEvent = components["schemas"]["Event"];

/**
 * Yields the events after an id, and then new events as they happen, until the signal is aborted. When the connection ends,
 * call it again with the id of the last event: none is skipped.
 */
export async function* follow(shop: Shop, after: string, signal: AbortSignal): AsyncGenerator<ShopEvent> {
  const result = await shop.GET("/events", {
    params: { query: { after } },
    headers: { Accept: "text/event-stream" },
    parseAs: "stream",
    signal,
  });
  const stream = unwrap(result);
  if (stream === null) {
    return;
  }
  let rest = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const messages = (rest + chunk).split("\n\n");
    rest = messages.pop() ?? "";
    for (const message of messages) {
      const data = message.split("\n").filter((line) => line.startsWith("data: "));
      if (data.length > 0) { // comments only keep the connection open
        yield parseExact(data.map((line) => line.slice("data: ".length)).join("\n")) as ShopEvent;
      }
    }
  }
}
