// node generate.mjs DOCUMENT writes src/animalstore.d.ts. It does what the command openapi-typescript does, except that an
// identifier is a bigint instead of a number, which would be exact only up to 2^53.
import { writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const types = await openapiTS(new URL(process.argv[2]), {
  transform(schema, { path }) {
    if (schema.format === "int64" && /\/(parameters\/\w+|id|\w+Id)$/.test(path)) {
      return ts.factory.createKeywordTypeNode(ts.SyntaxKind.BigIntKeyword);
    }
  },
});
writeFileSync(new URL("src/animalstore.d.ts", import.meta.url), astToString(types));
