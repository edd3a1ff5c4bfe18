package admission

import "slices"

// Turns is a queue in which keys take turns, one value at a time, so a key with many values delays only its own. The zero
// value is empty. It is not safe for concurrent use.
type Turns[T comparable] struct {
	byKey map[string][]T
	keys  []string // the keys in byKey, in the order of their turns
	n     int      // the number of values
}

// Len returns the number of values of all keys.
func (t *Turns[T]) Len() int { return t.n }

// LenOf returns the number of values of one key.
func (t *Turns[T]) LenOf(key string) int { return len(t.byKey[key]) }

// Add adds a value after the other values of its key.
func (t *Turns[T]) Add(key string, value T) {
	if t.byKey == nil {
		t.byKey = map[string][]T{}
	}
	if len(t.byKey[key]) == 0 {
		t.keys = append(t.keys, key)
	}
	t.byKey[key] = append(t.byKey[key], value)
	t.n++
}

// Next returns what Take would remove.
func (t *Turns[T]) Next(may func(key string, first T) bool) (key string, value T, found bool) {
	if i := t.index(may); i >= 0 {
		key = t.keys[i]
		return key, t.byKey[key][0], true
	}
	return "", value, false
}

// index returns the index of the next key for which may returns true, and -1 if there is none.
func (t *Turns[T]) index(may func(key string, first T) bool) int {
	return slices.IndexFunc(t.keys, func(key string) bool { return may == nil || may(key, t.byKey[key][0]) })
}

// Take removes the first value of the next key for which may returns true. If may is nil, any key will do. found is false
// if there is no such value.
func (t *Turns[T]) Take(may func(key string, first T) bool) (key string, value T, found bool) {
	i := t.index(may)
	if i < 0 {
		return "", value, false
	}
	key = t.keys[i]
	t.keys = slices.Delete(t.keys, i, i+1)
	value = t.removeAt(key, 0)
	if t.LenOf(key) > 0 {
		t.keys = append(t.keys, key) // the next turn of this key comes after all others
	}
	return key, value, true
}

// Remove removes a value. It reports whether the value was still in the queue.
func (t *Turns[T]) Remove(key string, value T) bool {
	i := slices.Index(t.byKey[key], value)
	if i < 0 {
		return false
	}
	t.removeAt(key, i)
	if t.LenOf(key) == 0 {
		t.keys = slices.DeleteFunc(t.keys, func(other string) bool { return other == key })
	}
	return true
}

// removeAt removes a value of a key, but not the key's turn.
func (t *Turns[T]) removeAt(key string, i int) (value T) {
	values := t.byKey[key]
	value = values[i]
	if len(values) > 1 {
		t.byKey[key] = slices.Delete(values, i, i+1)
	} else {
		delete(t.byKey, key)
	}
	t.n--
	return value
}
