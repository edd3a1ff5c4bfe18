package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"animalstore/client"
)

// docs/commands.md documents every command, every flag of the everyday commands, and every exit code.
func TestCommandsAreDocumented(t *testing.T) {
	t.Parallel()
	text := readRepoFile(t, "docs/commands.md")
	for _, leaf := range grammar(t).Model.Leaves(true) {
		if !strings.Contains(text, "`animalstore "+leaf.Path()) {
			t.Errorf("docs/commands.md does not name animalstore %s", leaf.Path())
		}
		if !strings.Contains("pets categories orders events inventory", strings.Fields(leaf.Path())[0]) {
			continue
		}
		for _, flag := range leaf.Flags {
			if !strings.Contains(text, "--"+flag.Name) {
				t.Errorf("docs/commands.md does not name --%s of animalstore %s", flag.Name, leaf.Path())
			}
		}
	}
	for _, code := range []int{exitOK, exitError, exitUsage, exitNotFound, exitKey, exitRefused, exitUnreachable, exitInterrupted} {
		if !strings.Contains(text, fmt.Sprintf("| %d | ", code)) {
			t.Errorf("docs/commands.md does not explain the exit code %d", code)
		}
		if !strings.Contains(exitCodesHelp{}.Help(), fmt.Sprintf(" %d ", code)) {
			t.Errorf("the help does not explain the exit code %d", code)
		}
	}
}

// Every error returned by the client has an exit code. If a change may have been made despite the error, the
// message says so.
func TestEveryErrorHasAnExitCode(t *testing.T) {
	t.Parallel()
	response := func(status int, code client.Code) error {
		return &client.Error{Code: code, Status: status, Message: "No."}
	}
	dial := &url.Error{Op: "Get", URL: "http://a/v1/pets", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	untrusted := &url.Error{Op: "Get", URL: "https://a/v1/pets", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		code int
		open bool // whether a change may have been made
	}{
		{nil, response(400, client.CodeValidationFailed), 2, false},
		{nil, response(401, client.CodeInvalidAPIKey), 4, false},
		{nil, response(403, client.CodeInsufficientScope), 4, false},
		{nil, response(404, client.CodeNotFound), 3, false},
		{nil, response(404, client.CodePetNotFound), 3, false},
		{nil, response(404, client.CodeUnexpectedAnswer), 6, false},
		{nil, response(200, client.CodeUnexpectedAnswer), 6, true},
		{nil, response(409, client.CodePetNotAvailable), 5, false},
		{nil, response(410, client.CodeEventsExpired), 5, false},
		{nil, response(412, client.CodePreconditionFailed), 5, false},
		{nil, response(422, client.CodeIdempotencyKeyReused), 5, false},
		{nil, response(429, client.CodeRateLimited), 6, false},
		{nil, response(500, client.CodeInternal), 1, true},
		{nil, response(503, client.CodeUnavailable), 6, true},
		{nil, fmt.Errorf("animalstore: %w", dial), 6, false},
		{nil, fmt.Errorf("animalstore: %w", untrusted), 6, false},
		{nil, fmt.Errorf("animalstore: %w; sent again: %v", &url.Error{Op: "Post", URL: dial.URL, Err: io.EOF}, dial), 6, true},
		{nil, fmt.Errorf("animalstore: the answer broke off: %w", io.ErrUnexpectedEOF), 6, true},
		{nil, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}, 1, false},
		{interrupted, fmt.Errorf("animalstore: %w", context.Canceled), 130, true},
		{nil, usagef("--limit"), 2, false},
		{nil, reportedError{3}, 3, false},
		{nil, nil, 0, false},
	} {
		ctx := c.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		for _, changes := range []bool{false, true} {
			err := explainError(ctx, c.err, changes)
			code := exitOK
			if err != nil {
				code = reportError(io.Discard, err)
			}
			if code != c.code {
				t.Errorf("%v exits with %d, want %d", c.err, code, c.code)
			}
			if err != nil && strings.Contains(err.Error(), "may have been made") != (changes && c.open) {
				t.Errorf("%v (a change: %v) is explained as %q", c.err, changes, err)
			}
			if again := explainError(ctx, err, changes); fmt.Sprint(again) != fmt.Sprint(err) {
				t.Errorf("explained twice, %q becomes %q", err, again)
			}
		}
	}
}

// If a command with several ids fails for some of them, the highest exit code counts, even if a later error
// stopped the command.
func TestHighestExitCodeCounts(t *testing.T) {
	t.Parallel()
	statuses := []int{404, 409, 401, 409}
	var printed strings.Builder
	err := forEachID(t.Context(), terminal{io.Discard, &printed}, []int64{1, 2, 3, 4}, func(id int64) error {
		return &client.Error{Status: statuses[id-1], Message: fmt.Sprintf("Refused %d.", id)}
	})
	if err != (reportedError{exitRefused}) || strings.Count(printed.String(), "\n") != 3 {
		t.Errorf("got %#v, and it printed %q", err, &printed)
	}
}
