package cli

import (
	"bufio"
	"bytes"
	"path/filepath"
	"strings"

	"animalstore/client"
)

// formatOf returns the requested format, or else the one that the file's extension implies, or "".
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

// guessFormat detects the format from the beginning of the file.
func guessFormat(in *bufio.Reader) client.Format {
	begin, _ := in.Peek(512) // a shorter file is not an error
	if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(begin, []byte("\ufeff"))), []byte("{")) {
		return client.NDJSON
	}
	return client.CSV
}
