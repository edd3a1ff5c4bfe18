package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// errorMessage explains to the owner of a webhook why there was no response. It does not include the original
// error, which may name internal machines such as the DNS server.
func errorMessage(err error, timeout time.Duration) string {
	if refused, ok := errors.AsType[*addressError](err); ok {
		return refused.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Sprintf("no response within %s", timeout)
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		if lookup.IsNotFound {
			return fmt.Sprintf("the host name %s has no address", lookup.Name)
		}
		return fmt.Sprintf("the host name %s could not be resolved", lookup.Name)
	}
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the certificate is not trusted: " + certificateProblem(certificate.Err)
	}
	if operation, ok := errors.AsType[*net.OpError](err); ok && operation.Op == "dial" {
		if errors.Is(err, syscall.ECONNREFUSED) {
			return "connection refused"
		}
		return "could not connect"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS"
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return "the TLS handshake failed"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return "the connection was closed before a response arrived"
	}
	return "the response could not be read"
}

// certificateProblem explains why the receiver's certificate was rejected.
func certificateProblem(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "it is for a different host name"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "it is signed by an unknown authority"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "it has expired or is not yet valid"
	}
	return "it is not valid"
}
