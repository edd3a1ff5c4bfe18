package shop

// Precondition is a condition on a thing as a client has seen it; nil is none.
type Precondition[T any] func(T) bool

// check returns precondition_failed where the thing is no longer so.
func (m Precondition[T]) check(thing T) error {
	if m == nil || m(thing) {
		return nil
	}
	return Errorf(PreconditionFailed, "It has changed since you saw it; get it again and decide anew.")
}
