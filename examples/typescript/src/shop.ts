import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./animalstore.js";
import { encodeExact, exactResponses } from "./exact.js";

export type Pet = components["schemas"]["Pet"];
export type PetStatus = components["schemas"]["PetStatus"];
export type ErrorBody = components["schemas"]["Error"];
export type ErrorCode = components["schemas"]["ErrorCode"];

/** The client. Without the media type, the data of /events would have the type of the stream, too: string | Event[]. */
export type Shop = Client<paths, "application/json">;

/** Creates a client for the service at a base URL, which ends in /v1. */
export function openShop(baseUrl: string, key: string): Shop {
  const shop = createClient<paths, "application/json">({
    baseUrl,
    headers: { Authorization: `Bearer ${key}` },
    bodySerializer: encodeExact,
  });
  shop.use(exactResponses);
  return shop;
}

/** An error response of the service. Programs use its code. */
export class ApiError extends Error {
  constructor(readonly body: ErrorBody) {
    super(body.message);
  }

  get code(): ErrorCode {
    return this.body.code;
  }
}

/** Returns the data of a response, or throws its error. */
export function unwrap<T>(result: { data?: T; error?: ErrorBody }): T {
  if (result.error !== undefined) {
    throw new ApiError(result.error);
  }
  return result.data as T;
}

/** Yields all animals with a status, newest first, and fetches pages as needed. */
export async function* petsWithStatus(shop: Shop, status: PetStatus): AsyncGenerator<Pet> {
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const result = await shop.GET("/pets", {
      params: { query: { status, limit: 100, ...(cursor === "" ? {} : { cursor }) } },
    });
    yield* unwrap(result);
    cursor = nextCursor(result.response);
  }
}

/** Returns the cursor of the next page from the Link header, or undefined on the last page. */
export function nextCursor(response: Response): string | undefined {
  const next = /<([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "");
  return next?.[1] === undefined ? undefined : (new URL(next[1]).searchParams.get("cursor") ?? undefined);
}
