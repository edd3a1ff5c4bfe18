package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"strings"

	"animalstore/client"
)

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
