// Exact identifiers. JSON.parse, which the generated client calls, would round an id beyond 2^53 to the nearest number that
// JavaScript has.
import { isLosslessNumber, isSafeNumber, parse, stringify } from "lossless-json";
import type { Event } from "./client/index.js";

/** Fetches, and puts larger numbers in JSON into quotes. The generated transformers make bigints of numbers and texts. */
export async function exactFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  if (!response.body || !response.headers.get("Content-Type")?.startsWith("application/json")) {
    return response;
  }
  const quoted = parse(await response.text(), (_name, value) =>
    isLosslessNumber(value) && !isSafeNumber(value.value) ? value.value : value,
  );
  return new Response(stringify(quoted), response);
}

/** Encodes a request body with bigints as numbers. */
export function encodeExact(body: unknown): string {
  return stringify(body) ?? "";
}

/** Makes bigints of the ids in events, for which no transformer is generated. */
export async function exactEvents(events: unknown): Promise<Event[]> {
  for (const event of events as { data: Record<string, Record<string, string | number | bigint> | null> }[]) {
    for (const state of Object.values(event.data)) {
      for (const [name, value] of Object.entries(state ?? {})) {
        if (state && (name === "id" || name.endsWith("Id"))) {
          state[name] = BigInt(value);
        }
      }
    }
  }
  return events as Event[];
}
