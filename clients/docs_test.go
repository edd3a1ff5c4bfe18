package main

import (
	"os"
	"strings"
	"testing"
)

// docs/clients.md must show how each client is generated, with the versions and options that are tried here.
func TestDocumentShowsEveryGenerator(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range generators {
		shown := strings.Contains(string(content), g.generate)
		if !shown && !strings.Contains(string(content), "(../clients/"+g.folder+")") {
			t.Errorf("docs/clients.md neither shows nor links to %s: %s", g.folder, g.generate)
		}
	}
	config, err := os.ReadFile("typescript-hey-api/openapi-ts.config.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), string(config)) {
		t.Errorf("docs/clients.md does not show the configuration of Hey API:\n%s", config)
	}
}
