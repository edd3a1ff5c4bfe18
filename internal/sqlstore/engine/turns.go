package engine

import "slices"

// turns contains waiting writes. Keys take turns, one write at a time, so a key with many writes delays only its own.
type turns struct {
	byKey map[string][]*Write
	keys  []string // the keys in byKey, in the order of their turns
	n     int      // the number of writes
}

func (t *turns) add(w *Write) {
	if t.byKey == nil {
		t.byKey = map[string][]*Write{}
	}
	if len(t.byKey[w.Key]) == 0 {
		t.keys = append(t.keys, w.Key)
	}
	t.byKey[w.Key] = append(t.byKey[w.Key], w)
	t.n++
}

// take removes and returns the next write. There must be one.
func (t *turns) take() *Write {
	key := t.keys[0]
	waiting := t.byKey[key]
	w := waiting[0]
	t.keys = slices.Delete(t.keys, 0, 1)
	if len(waiting) > 1 {
		t.byKey[key] = slices.Delete(waiting, 0, 1)
		t.keys = append(t.keys, key) // the next turn of this key comes after all others
	} else {
		delete(t.byKey, key)
	}
	t.n--
	return w
}

// remove removes a write, unless it has been taken.
func (t *turns) remove(w *Write) {
	waiting := t.byKey[w.Key]
	i := slices.Index(waiting, w)
	switch {
	case i < 0:
		return
	case len(waiting) > 1:
		t.byKey[w.Key] = slices.Delete(waiting, i, i+1)
	default:
		delete(t.byKey, w.Key)
		t.keys = slices.DeleteFunc(t.keys, func(key string) bool { return key == w.Key })
	}
	t.n--
}
