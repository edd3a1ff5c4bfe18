package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// part is something of others that is in a binary.
type part struct {
	name, version string
	purl          string // its name for scanners
	ids           []string
	texts         []text
}

// text is one file of a licence.
type text struct{ file, content string }

// files of others that are embedded in the binary, as npm has them; where they lie their README says the same.
var embedded = []struct{ name, version, dir, licences string }{
	{"htmx.org", "2.0.11", "internal/staff/static/vendor", "htmx.*"},
	{"@picocss/pico", "2.1.1", "internal/staff/static/vendor", "pico.*"},
	{"uplot", "1.6.32", "internal/staff/static/vendor", "uplot.*"},
	{"swagger-ui-dist", "5.34.1", "api/docs", "swagger-ui*"},
}

// partsOf lists what is linked into a binary: Go's own library, the modules that Go says are in it, and the embedded files.
func partsOf(info *debug.BuildInfo) ([]part, error) {
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	parts := []part{{name: "stdlib", version: goVersion, purl: "pkg:golang/stdlib@" + goVersion}}
	ask := []string{"list", "-m", "-f", "{{.Dir}}"}
	for _, module := range info.Deps {
		parts = append(parts, part{name: module.Path, version: module.Version, purl: purl("golang", module.Path, module.Version)})
		ask = append(ask, module.Path)
	}
	found, err := output("go", ask...)
	if err != nil {
		return nil, err
	}
	dirs := strings.Split(strings.TrimSpace(root+found), "\n")
	if len(dirs) != len(parts) {
		return nil, fmt.Errorf("go list found %d of %d modules", len(dirs)-1, len(parts)-1)
	}
	for i := range parts {
		if parts[i].texts, err = licenceFiles(dirs[i], i == 0); err != nil {
			return nil, err
		}
	}
	for _, e := range embedded {
		one := part{name: e.name, version: e.version, purl: purl("npm", e.name, e.version)}
		names, err := filepath.Glob(filepath.Join(e.dir, e.licences))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !isLicence.MatchString(filepath.Base(name)) {
				continue
			}
			content, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			one.texts = append(one.texts, text{filepath.Base(name), string(content)})
		}
		parts = append(parts, one)
	}
	for i := range parts {
		if parts[i].ids = licenceIDs(parts[i].texts); len(parts[i].ids) == 0 {
			return nil, fmt.Errorf("the licence of %s is not known: look at it before it is given to anybody", parts[i].name)
		}
	}
	return parts, nil
}

// purl writes a package URL.
func purl(kind, name, version string) string {
	escape := strings.NewReplacer("@", "%40", "+", "%2B")
	return "pkg:" + kind + "/" + escape.Replace(name) + "@" + escape.Replace(version)
}

var isLicence = regexp.MustCompile(`(?i)(^|[-.])(licen[cs]es?|copying|notice|patents)([-.]|$)`)

// licenceFiles reads the licences in a module, also those of what it has copied from others; of Go's own folder the outermost
// alone, since the rest is the compiler's.
func licenceFiles(dir string, outermost bool) (texts []text, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if path != dir && (outermost || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !isLicence.MatchString(entry.Name()) || filepath.Ext(path) == ".go" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		texts = append(texts, text{filepath.ToSlash(name), string(content)})
		return err
	})
	return texts, err
}

// licenceIDs recognizes licences by the sentences that each alone has, in SPDX's names.
func licenceIDs(texts []text) (ids []string) {
	for _, t := range texts {
		flat := strings.Join(strings.Fields(t.content), " ")
		has := func(sentence string) bool { return strings.Contains(flat, sentence) }
		bsd := has("Redistribution and use in source and binary forms")
		for _, licence := range []struct {
			id    string
			found bool
		}{
			{"Apache-2.0", has("Apache License, Version 2.0") || has("Apache License Version 2.0")},
			{"MIT", has("Permission is hereby granted, free of charge")},
			{"BSD-3-Clause", bsd && has("to endorse or promote products")},
			{"BSD-2-Clause", bsd && !has("to endorse or promote products")},
			{"ISC", (has("Permission to use, copy, modify, and/or distribute this software") || has("Permission to use, copy, modify, and distribute this software")) && has("copyright notice and this permission notice appear")},
			{"0BSD", has("Permission to use, copy, modify, and/or distribute this software") && !has("copyright notice and this permission notice appear")},
			{"blessing", has("May you do good and not evil")},
		} {
			if licence.found && !slices.Contains(ids, licence.id) {
				ids = append(ids, licence.id)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// licenceTexts writes the licences of all parts into one text; the same licence of several is written for each, with its
// copyright.
func licenceTexts(parts []part) []byte {
	var out bytes.Buffer
	fmt.Fprintln(&out, "animalstore is licensed under the Apache License, Version 2.0 (LICENSE). It contains work of others, under these licences.")
	line := strings.Repeat("=", 100)
	for _, p := range parts {
		fmt.Fprintf(&out, "\n%s\n%s %s (%s)\n%s\n", line, p.name, p.version, strings.Join(p.ids, ", "), line)
		for i, t := range p.texts {
			if slices.ContainsFunc(p.texts[:i], func(before text) bool { return before.content == t.content }) {
				continue
			}
			fmt.Fprintf(&out, "\n--- %s\n\n%s\n", t.file, strings.TrimSpace(strings.ReplaceAll(t.content, "\r\n", "\n")))
		}
	}
	return out.Bytes()
}

func output(name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	return string(out), nil
}
