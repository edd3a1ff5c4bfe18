package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"

	"animalstore/client"
)

// These exit codes are stable, so scripts may rely on them. The codes after exitUsage are used only by the
// everyday commands, such as pets and orders. All other commands fail with exitError instead.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitKey         = 4   // the key is invalid or lacks a scope
	exitRefused     = 5   // the request conflicts with the state of the shop
	exitUnreachable = 6   // the service is unreachable or overloaded
	exitInterrupted = 130 // 128 + SIGINT, as is usual in shells
)

// exitCodesHelp is embedded in commands to list the exit codes in their help.
type exitCodesHelp struct{}

func (exitCodesHelp) Help() string {
	return "Exit codes: 0 success, 1 failure, 2 usage error, 3 not found, 4 key rejected, 5 refused by a rule of the shop, " +
		"6 service unreachable, 130 interrupted."
}

// codedError is an error that determines the exit code.
type codedError struct {
	error
	code int
}

func (f codedError) Unwrap() error { return f.error }

// reportedError is an error that has already been printed.
type reportedError struct{ code int }

func (reportedError) Error() string { return "" }

// explainError adds an exit code and advice to an error returned by the client. A request that changes
// something may have succeeded even if no response arrived. In that case, the error message says so.
func explainError(ctx context.Context, err error, changes bool) error {
	if err == nil || isUsageError(err) || errors.As(err, new(reportedError)) || errors.As(err, new(codedError)) {
		return err
	}
	maybe := ""
	if changes && client.MayBeDone(err) {
		maybe = "; the change may have been made anyway: check before you retry"
	}
	if ctx.Err() != nil {
		return codedError{errors.New("interrupted" + maybe), exitInterrupted}
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		return codedError{fmt.Errorf("%w%s%s", plainError(err), hint(e), maybe), exitCode(e)}
	}
	if isNetworkError(err) {
		next := "; start it with animalstore serve, or set its URL with --url or ANIMALSTORE_URL"
		if isCertificateError(err) {
			next = "; use a host name that its certificate covers, renew the certificate if it has expired, " +
				"or make this system trust its issuer (on Linux, SSL_CERT_FILE can name a file with trusted certificates)"
		}
		return codedError{fmt.Errorf("%w%s%s", plainError(err), next, maybe), exitUnreachable}
	}
	return plainError(err)
}

// plainError returns the service's own message for an error returned by the client. It omits details that
// only programs need.
func plainError(err error) error {
	if e, ok := errors.AsType[*client.Error](err); ok {
		if e.Status >= 500 && e.RequestID != "" {
			return fmt.Errorf("%s (request %s)", e.Message, e.RequestID)
		}
		return errors.New(e.Message)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		address, _, _ := strings.Cut(e.URL, "/v1/")
		return fmt.Errorf("cannot reach the service at %s: %w", address, e.Err)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "animalstore: "))
}

// hint returns advice that the service cannot give, because the service does not know the command's flags.
func hint(e *client.Error) string {
	switch {
	case exitCode(e) == exitKey:
		return " The key came from ANIMALSTORE_KEY or --key-file; create another with animalstore keys create."
	case e.Code == client.CodeUnexpectedAnswer:
		return " Is --url or ANIMALSTORE_URL the URL of the service?"
	}
	return ""
}

// exitCode returns the exit code for an error response from the service.
func exitCode(e *client.Error) int {
	if e.Code == client.CodeUnexpectedAnswer {
		return exitUnreachable
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return exitUsage
	case http.StatusUnauthorized, http.StatusForbidden:
		return exitKey
	case http.StatusNotFound:
		return exitNotFound
	case http.StatusConflict, http.StatusGone, http.StatusPreconditionFailed, http.StatusUnprocessableEntity:
		return exitRefused
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return exitUnreachable
	}
	return exitError
}

// isCertificateError reports whether the server's certificate is not trusted.
func isCertificateError(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted
}

// isNetworkError reports whether the response is missing or incomplete. A file error, such as a failure to
// write the output, does not count.
func isNetworkError(err error) bool {
	if _, file := errors.AsType[*fs.PathError](err); file {
		return false
	}
	_, sending := errors.AsType[*url.Error](err)
	_, reading := errors.AsType[net.Error](err)
	return sending || reading || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

func isUsageError(err error) bool {
	_, usage := errors.AsType[usageError](err)
	return usage
}
