package demo

import (
	"bytes"
	"image/jpeg"
	"testing"
)

// Every category has illustrations: small JPEG files that are different for each variant, and always the same for one.
func TestEveryCategoryHasIllustrations(t *testing.T) {
	t.Parallel()
	for _, category := range categories {
		coats := len(illustrators[category.name].coats)
		seen := map[string]bool{}
		for coat := range coats {
			file := illustrate(category.name, coat*len(backdrops))
			if config, err := jpeg.DecodeConfig(bytes.NewReader(file)); err != nil || config.Width != illustrationWidth || config.Height != illustrationHeight {
				t.Fatalf("%s, coat %d: %v, %+v", category.name, coat, err, config)
			}
			if len(file) > 12<<10 {
				t.Errorf("%s, coat %d, has %d bytes", category.name, coat, len(file))
			}
			seen[string(file)] = true
		}
		if len(seen) != coats {
			t.Errorf("%s: there are %d different illustrations, want %d", category.name, len(seen), coats)
		}
	}
	if bytes.Equal(illustrate("Dogs", 0), illustrate("Dogs", 1)) {
		t.Error("the background is always the same")
	}
	if illustrate("Dogs", 3) == nil || !bytes.Equal(illustrate("Dogs", 3), illustrate("Dogs", 3)) {
		t.Error("an illustration differs from itself")
	}
	if illustrate("Dragons", 0) != nil {
		t.Error("there is an illustration of a dragon")
	}
}
