"use strict";

// The document disables "Try it out" for some operations with an extension that Swagger UI does not support.
const disabledPanels = {
  statePlugins: {
    spec: {
      wrapSelectors: {
        allowTryItOutFor: (original, system) => (state, path, method) =>
          system.specSelectors.specJson().getIn(["paths", path, method, "x-explorer-enabled"]) !== false,
      },
    },
  },
};

// "Try it out" starts with the examples filled in. The examples of optional parameters would make most requests fail or
// return little: a condition that does not hold, an idempotency key that was used before, a page from the middle.
const withoutOptionalExamples = (spec) => {
  for (const parameter of Object.values(spec.components.parameters)) {
    if (!parameter.required) {
      delete parameter.example;
      delete parameter.examples;
      delete parameter.schema.example;
      delete parameter.schema.examples;
    }
  }
  return spec;
};

const show = async (reference) => {
  const response = await fetch(reference.dataset.document);
  SwaggerUIBundle({
    spec: withoutOptionalExamples(await response.json()),
    domNode: reference,
    plugins: [disabledPanels],
    deepLinking: false, // its links inside buttons are not accessible
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    validatorUrl: null, // send nothing to other sites
  });
};

const reference = document.getElementById("reference");

// The server selection lacks a label for screen readers.
new MutationObserver(() => reference.querySelector("#servers:not([aria-label])")?.setAttribute("aria-label", "Server"))
  .observe(reference, { childList: true, subtree: true });

show(reference);
