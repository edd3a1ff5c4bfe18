export default {
  output: { path: "src/client", importFileExtension: ".js" },
  plugins: [
    "@hey-api/client-fetch",
    { name: "@hey-api/transformers", bigInt: true, dates: false }, // identifiers are bigints
    { name: "@hey-api/sdk", transformer: true },
  ],
};
