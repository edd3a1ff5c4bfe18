package cli

import (
	"strconv"
	"strings"

	"animalstore/client"
	"animalstore/internal/shop"
)

// idempotencyFlag holds the --idempotency-key flag for commands that create something.
type idempotencyFlag struct {
	IdempotencyKey *string `name:"idempotency-key" placeholder:"KEY" help:"Idempotency key of your choice: repeating the command with the same key within 24 hours has no further effect."`
}

func (o idempotencyFlag) options() []client.PostOption {
	if o.IdempotencyKey == nil {
		return nil // without an option, the client generates a key for its own retries
	}
	return []client.PostOption{client.IdempotencyKey(*o.IdempotencyKey)}
}

func (o idempotencyFlag) problem() string {
	if o.IdempotencyKey == nil {
		return ""
	}
	// An empty value usually comes from an unset shell variable. Ignoring it would make retries unsafe.
	key := *o.IdempotencyKey
	if len(key) < 1 || len(key) > 255 || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "--idempotency-key must have 1 to 255 printable ASCII characters"
	}
	return ""
}

// checkFlags returns the first problem as a usage error. A problem names a flag and says what is wrong with its value.
// An empty problem means that the value is valid.
func checkFlags(problems ...string) error {
	for _, problem := range problems {
		if problem != "" {
			return usagef("%s", problem)
		}
	}
	return nil
}

func textProblem(flag, text string) string {
	if reason := shop.TextProblem(text); reason != "" {
		return flag + " " + reason
	}
	return ""
}

// optionalTextProblem is like textProblem, but accepts an empty text.
func optionalTextProblem(flag, text string) string {
	if text == "" {
		return ""
	}
	return textProblem(flag, text)
}

// statusProblem checks the value of --status. An empty value is valid. The function check returns what is wrong with
// any other value, or "" if it is valid.
func statusProblem(status string, check func(string) string) string {
	if status == "" {
		return ""
	}
	if reason := check(status); reason != "" {
		return "--status " + reason
	}
	return ""
}

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }
