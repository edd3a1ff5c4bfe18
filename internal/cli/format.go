package cli

import (
	"bufio"
	"bytes"
	"path/filepath"
	"strings"

	"animalstore/client"
)

// formatOf is the format that was asked for, or else what a file's name says; "": it says nothing.
func formatOf(asked, file string) client.Format {
	if asked != "" {
		return client.Format(asked)
	}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".csv", ".tsv", ".txt":
		return client.CSV
	case ".ndjson", ".jsonl":
		return client.NDJSON
	}
	return ""
}

// guessFormat looks at how a file begins.
func guessFormat(in *bufio.Reader) client.Format {
	begin, _ := in.Peek(512) // of a shorter file, all of it
	if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(begin, []byte("\ufeff"))), []byte("{")) {
		return client.NDJSON
	}
	return client.CSV
}
