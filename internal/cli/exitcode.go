package cli

import (
	"errors"
	"net/http"

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

func isUsageError(err error) bool {
	_, usage := errors.AsType[usageError](err)
	return usage
}
