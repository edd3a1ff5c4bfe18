import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./animalstore.js";

export type Pet = components["schemas"]["Pet"];
export type PetStatus = components["schemas"]["PetStatus"];
export type ErrorAnswer = components["schemas"]["Error"];
export type ErrorCode = components["schemas"]["ErrorCode"];
export type Shop = Client<paths>;

/** openShop makes a client of the service at a base address, which ends in /v1. */
export function openShop(baseUrl: string, key: string): Shop {
  return createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
}

/** Refused is an error that the service answered; programs decide by its code. */
export class Refused extends Error {
  constructor(readonly answer: ErrorAnswer) {
    super(answer.message);
  }

  get code(): ErrorCode {
    return this.answer.code;
  }
}

/** taken returns what the service answered, or throws what it refused. */
export function taken<T>(result: { data?: T; error?: ErrorAnswer }): T {
  if (result.error !== undefined) {
    throw new Refused(result.error);
  }
  return result.data as T;
}

/** petsOf walks all animals of a status, newest first, and gets their pages as they are needed. */
export async function* petsOf(shop: Shop, status: PetStatus): AsyncGenerator<Pet> {
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const result = await shop.GET("/pets", {
      params: { query: { status, limit: 100, ...(cursor === "" ? {} : { cursor }) } },
    });
    yield* taken(result);
    cursor = nextCursor(result.response);
  }
}

/** nextCursor is where the next page begins, as the Link header says it; undefined after the last. */
export function nextCursor(response: Response): string | undefined {
  const next = /<([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "");
  return next?.[1] === undefined ? undefined : (new URL(next[1]).searchParams.get("cursor") ?? undefined);
}
