package shop

import (
	"bytes"
	"slices"
)

// A traceparent identifies the request that caused an event, in the format defined by
// https://www.w3.org/TR/trace-context/. It is stored as the last member of the event's data and of the webhook
// message about the event, and removed from both when they are read. While tracing is off, nothing is added to them.
const (
	traceparentMember = `,"traceparent":"`
	traceparentLength = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
)

// addTraceparent adds a traceparent to a JSON object that is not empty. It changes nothing if traceparent is "".
func addTraceparent(object []byte, traceparent string) []byte {
	if len(traceparent) != traceparentLength {
		return object
	}
	return slices.Concat(object[:len(object)-1], []byte(traceparentMember), []byte(traceparent), []byte(`"}`))
}

// cutTraceparent undoes addTraceparent. The traceparent is "" if the object has none.
func cutTraceparent(object []byte) (rest []byte, traceparent string) {
	member := len(object) - len(traceparentMember) - traceparentLength - len(`"}`)
	if member < 1 || !bytes.HasPrefix(object[member:], []byte(traceparentMember)) {
		return object, ""
	}
	start := member + len(traceparentMember)
	return append(slices.Clip(object[:member]), '}'), string(object[start : start+traceparentLength])
}
