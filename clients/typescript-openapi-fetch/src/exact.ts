// JSON with exact identifiers. JSON.parse would round an id beyond 2^53 to the nearest number that JavaScript has.
import type { Middleware } from "openapi-fetch";
import { isLosslessNumber, parse, stringify } from "lossless-json";

/** Parses JSON. Members called id or somethingId become bigints, as generate.mjs declares them; others become numbers. */
export function parseExact(text: string): unknown {
  return parse(text, (name, value) => {
    if (!isLosslessNumber(value)) {
      return value;
    }
    return name === "id" || name.endsWith("Id") ? BigInt(value.toString()) : Number(value.toString());
  });
}

/** Encodes a request body. A text, such as the CSV of an import, is sent as it is. */
export function encodeExact(body: unknown): string {
  return typeof body === "string" ? body : (stringify(body) ?? "");
}

/** Makes a client of openapi-fetch parse its responses with parseExact. */
export const exactResponses: Middleware = {
  async onResponse({ response }) {
    if (!response.ok || !response.headers.get("Content-Type")?.startsWith("application/json")) {
      return undefined;
    }
    const text = await response.text();
    const headers = new Headers(response.headers);
    headers.set("Content-Length", String(text.length)); // without it, openapi-fetch uses JSON.parse instead of json()
    return Object.assign(new Response(text, { status: response.status, headers }), { json: async () => parseExact(text) });
  },
};
