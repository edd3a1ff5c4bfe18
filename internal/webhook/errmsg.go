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

// errorMessage says why there was no answer, in words for the owner of the webhook. What the system says may name machines of
// ours, such as the server that looks names up, and is not shown.
func errorMessage(err error, timeout time.Duration) string {
	if refused, ok := errors.AsType[*addressError](err); ok {
		return refused.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Sprintf("there was no answer within %s", timeout)
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		if lookup.IsNotFound {
			return fmt.Sprintf("the name %s has no address", lookup.Name)
		}
		return fmt.Sprintf("the name %s could not be looked up", lookup.Name)
	}
	if certificate, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the certificate was not accepted: " + certificateProblem(certificate.Err)
	}
	if operation, ok := errors.AsType[*net.OpError](err); ok && operation.Op == "dial" {
		if errors.Is(err, syscall.ECONNREFUSED) {
			return "the connection was refused"
		}
		return "there was no connection"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the address does not speak TLS"
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return "no TLS connection could be agreed on"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return "the connection was closed before there was an answer"
	}
	return "there was no answer that could be understood"
}

// certificateProblem says what is wrong with a certificate.
func certificateProblem(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "it is for another name"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "nobody we trust has signed it"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "its time is over or has not begun"
	}
	return "it is not valid"
}
