package shop

import (
	"context"
	"strconv"
	"strings"
)

// system is the actor of changes that are not made by a principal, such as the expiry of a hold or a command
// run on the command line.
const system = "system"

// configured is the actor of changes made with the key from the configuration.
const configured = "configured"

type actorKey struct{}

// WithPrincipal returns a context that makes the principal the actor of every change made with it.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, actorKey{}, p.Actor())
}

// ActorOf returns the actor of the changes made with a context. It is "system" if the context has no principal.
func ActorOf(ctx context.Context) string {
	if actor, _ := ctx.Value(actorKey{}).(string); actor != "" {
		return actor
	}
	return system
}

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
