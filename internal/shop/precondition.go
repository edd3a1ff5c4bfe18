package shop

// Precondition reports whether a resource is still in the state that the client expects. A nil Precondition
// always holds.
type Precondition[T any] func(T) bool

func (p Precondition[T]) holds(stored T) bool { return p == nil || p(stored) }

// check fails with precondition_failed if the precondition does not hold for the stored resource.
func (p Precondition[T]) check(stored T) error {
	if p.holds(stored) {
		return nil
	}
	return Errorf(PreconditionFailed, "The resource is not in the expected state; read it again before you retry.")
}
