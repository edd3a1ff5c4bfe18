package main

import (
	"strings"
	"testing"
)

func TestIncompleteMutantsAreRefused(t *testing.T) {
	t.Parallel()
	const complete = "mutant m\nbreaks A promise.\ntest shop.TestFold\nfile a.go\n- a\n+ b\n"
	if list, err := parseMutants(complete); err != nil || len(list) != 1 {
		t.Fatalf("got %v, %v for a complete mutant, want one mutant", list, err)
	}
	for _, line := range strings.SplitAfter(strings.TrimSuffix(complete, "\n"), "\n") {
		if strings.HasPrefix(line, "+") {
			continue // a mutant may remove text without replacing it
		}
		if list, err := parseMutants(strings.Replace(complete, line, "", 1)); err == nil {
			t.Errorf("without %q, got %v, want an error", line, list)
		}
	}
	for _, wrong := range []string{complete + "tset shop.TestFold\n", strings.Replace(complete, "shop.TestFold", "TestFold", 1),
		strings.Replace(complete, "+ b", "+ a", 1)} {
		if list, err := parseMutants(wrong); err == nil {
			t.Errorf("got %v for %q, want an error", list, wrong)
		}
	}
}

func TestMissingTestsAreNoticed(t *testing.T) {
	t.Parallel()
	index, err := indexTests(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("a subtest", func(t *testing.T) {})
	for name, exists := range map[string]bool{
		"mutate.TestMissingTestsAreNoticed":             true,
		"mutate.TestMissingTestsAreNoticed/a_subtest":   true,
		"mutate.TestMissingTestsAreNoticed/another_one": false,
		"mutate.TestMissing":                            false,
		"nowhere.TestMissingTestsAreNoticed":            false,
	} {
		parsed, err := parseTestName(name)
		if err == nil {
			err = index.check(parsed)
		}
		if (err == nil) != exists {
			t.Errorf("%s: got %v, want it to exist: %v", name, err, exists)
		}
	}
}

func TestAmbiguousTextIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"func ", "this text is not in the file"} {
		if _, err := (mutant{file: "internal/mutate/mutant.go", old: text}).apply(root); err == nil {
			t.Errorf("%q was replaced, although it does not occur exactly once", text)
		}
	}
}
