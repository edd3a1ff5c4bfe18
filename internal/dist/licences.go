package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenceFile is a file with the text of a licence.
type licenceFile struct{ name, content string }

var isLicence = regexp.MustCompile(`(?i)(^|[-.])(licen[cs]es?|copying|notice|patents)([-.]|$)`)

// readLicenceFiles returns the licence files in a module's folder, including licences for vendored code. If
// outermost is true, it reads only the top folder. This is used for Go itself, whose other licence files
// belong to the compiler.
func readLicenceFiles(dir string, outermost bool) (texts []licenceFile, err error) {
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
		texts = append(texts, licenceFile{filepath.ToSlash(name), string(content)})
		return err
	})
	return texts, err
}

// identifyLicences returns the SPDX identifiers of the licences, which it recognizes by characteristic
// phrases.
func identifyLicences(texts []licenceFile) (ids []string) {
	for _, t := range texts {
		flat := strings.Join(strings.Fields(t.content), " ")
		contains := func(sentence string) bool { return strings.Contains(flat, sentence) }
		bsd := contains("Redistribution and use in source and binary forms")
		for _, licence := range []struct {
			id    string
			found bool
		}{
			{"Apache-2.0", contains("Apache License, Version 2.0") || contains("Apache License Version 2.0")},
			{"MIT", contains("Permission is hereby granted, free of charge")},
			{"BSD-3-Clause", bsd && contains("to endorse or promote products")},
			{"BSD-2-Clause", bsd && !contains("to endorse or promote products")},
			{"ISC", (contains("Permission to use, copy, modify, and/or distribute this software") ||
				contains("Permission to use, copy, modify, and distribute this software")) &&
				contains("copyright notice and this permission notice appear")},
			{"0BSD", contains("Permission to use, copy, modify, and/or distribute this software") && !contains("copyright notice and this permission notice appear")},
			{"blessing", contains("May you do good and not evil")},
		} {
			if licence.found && !slices.Contains(ids, licence.id) {
				ids = append(ids, licence.id)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// joinLicences returns the licences of all components as one text. A licence that several components share is
// repeated for each component, because the copyright notices differ.
func joinLicences(components []component) []byte {
	var out bytes.Buffer
	fmt.Fprintln(&out, "animalstore is licensed under the Apache License, Version 2.0 (LICENSE). It contains third-party software under these licences.")
	line := strings.Repeat("=", 100)
	for _, p := range components {
		fmt.Fprintf(&out, "\n%s\n%s %s (%s)\n%s\n", line, p.name, p.version, strings.Join(p.licenceIDs, ", "), line)
		for i, t := range p.licences {
			if slices.ContainsFunc(p.licences[:i], func(before licenceFile) bool { return before.content == t.content }) {
				continue
			}
			fmt.Fprintf(&out, "\n--- %s\n\n%s\n", t.name, strings.TrimSpace(strings.ReplaceAll(t.content, "\r\n", "\n")))
		}
	}
	return out.Bytes()
}
