"use strict";

// The document has the test panel of some operations disabled, with a word that Swagger UI does not know.
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

// A panel begins with the examples filled in. Those of what may be left out would make most requests fail, or answer little: a
// condition that does not hold, a key that another request was sent with, a page from the middle.
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
    deepLinking: false, // its links stand inside of buttons, where a keyboard and a screen reader stumble over them
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    validatorUrl: null, // nothing leaves this site
  });
};

const reference = document.getElementById("reference");

// The choice of a server has no name that a screen reader could say.
new MutationObserver(() => reference.querySelector("#servers:not([aria-label])")?.setAttribute("aria-label", "Server"))
  .observe(reference, { childList: true, subtree: true });

show(reference);
