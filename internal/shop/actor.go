package shop

import (
	"cmp"
	"strconv"
	"strings"
)

// system is the actor of changes that are not made by a principal, such as the expiry of a hold.
const system = "system"

// configured is the actor of changes made with the key from the configuration.
const configured = "configured"

// Caller says who calls a method of Service. The zero value is the shop itself, such as a background job or a command
// run on the command line.
type Caller struct {
	// Principal is the actor of the changes. Its reads and writes take turns with those of other principals.
	Principal Principal
	// Request is the idempotent request that the call belongs to, or nil. A write for such a request happens only once.
	// If the request is repeated, the write fails with a ReplayError that contains the stored response. Methods that
	// only read ignore it.
	Request *IdempotentRequest
}

// Actor returns the name of the caller in events. It is "system" if there is no principal.
func (c Caller) Actor() string { return cmp.Or(c.Principal.Actor(), system) }

// keyOf returns the id of the key that an actor refers to. ok is false if the actor does not refer to a key.
func keyOf(actor string) (id int64, ok bool) {
	text, ok := strings.CutPrefix(actor, "keys/")
	id, err := strconv.ParseInt(text, 10, 64)
	return id, ok && err == nil
}

// ActorProblem explains why the name of an actor sent by a client is invalid. It returns "" if the name is valid.
func ActorProblem(actor string) string {
	if id, ok := keyOf(actor); actor == system || actor == configured || ok && id > 0 && actor == (Key{ID: id}).subject() {
		return ""
	}
	return "must be keys/ID, such as keys/7, or " + configured + " or " + system
}
