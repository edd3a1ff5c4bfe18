package cli

import (
	"bufio"
	"bytes"
	"path/filepath"
	"strings"

	"animalstore/client"
)

// formatOf returns the requested format. If no format was requested, it returns the format that matches the file's
// extension, or "" if the extension is not known.
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

// guessFormat detects a file's format from its first characters.
func guessFormat(in *bufio.Reader) client.Format {
	begin, _ := in.Peek(512) // Peek returns an error if the file is shorter, but a short file is allowed
	if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(begin, []byte("\ufeff"))), []byte("{")) {
		return client.NDJSON
	}
	return client.CSV
}
