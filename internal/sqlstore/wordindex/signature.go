package wordindex

import (
	"cmp"
	"slices"
	"sync"

	"animalstore/internal/sqlstore/engine"
)

// signature is a set of grams that may contain others as well (a Bloom filter). A text whose signature lacks a gram of a
// search does not match, so the search need not read it.
type signature [16]uint64

// addGrams adds the grams of a folded text. Each gram sets two bits. The signature of a text of 190 letters then contains
// about a tenth of all other grams.
func (s *signature) addGrams(text string) {
	for gram := range gramsIn(text) {
		hash := uint64(gram) * 0x9E3779B97F4A7C15
		for _, bit := range [...]uint64{hash >> 54, hash >> 44 % 1024} {
			s[bit/64] |= 1 << (bit % 64)
		}
	}
}

func (s *signature) contains(other *signature) bool {
	for i, word := range other {
		if word&^s[i] != 0 {
			return false
		}
	}
	return true
}

// waitingText is a row whose text waits to be indexed. If changes of the row are queued, seq identifies the last one.
// Otherwise, seq is 0, and the row waits because of its id.
type waitingText struct {
	id, seq   int64
	signature *signature // nil if it is not known
}

func scanWaiting(scan engine.Scanner) (w waitingText, err error) {
	err = scan(&w.id, &w.seq)
	return w, err
}

// signatures contains the signatures of the texts of a list that have waited during a search. A signature is up to date while
// the row has the same last change, because no change has the same seq as another. It does no harm if a row that waits because
// of its id has an old signature after its changes have left the queue: its text is then in the index, where the search
// finds it.
type signatures struct {
	mu    sync.Mutex
	texts map[int64]waitingText

	// following contains the texts that wait because of their ids, in the order of their ids, with all that were added after
	// position up to last. Texts that were removed since do no harm.
	following      []waitingText
	position, last int64
}

// after returns the texts after position in following, and the id up to which they are complete.
func (s *signatures) after(position int64) (texts []waitingText, last int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if position < s.position || position >= s.last {
		return nil, position
	}
	n, _ := slices.BinarySearchFunc(s.following, position+1, func(text waitingText, id int64) int { return cmp.Compare(text.id, id) })
	s.following, s.position = s.following[n:], position
	return s.following, s.last
}

// follow adds texts to following that a search has read after from, and makes to its last id. position and from are the
// argument and the result of after. The texts are sorted by descending ids.
func (s *signatures) follow(position, from, to int64, texts []waitingText) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case from == position:
		s.following, s.position = nil, position
	case from != s.last:
		return // another search has added them
	}
	for _, text := range slices.Backward(texts) {
		if text.id > from && text.seq == 0 && text.signature != nil {
			s.following = append(s.following, text)
		}
	}
	s.last = to
}

func newSignatures(lists []*List) map[*List]*signatures {
	of := make(map[*List]*signatures, len(lists))
	for _, list := range lists {
		of[list] = &signatures{}
	}
	return of
}

const (
	// leastSigned is the number of waiting texts from which signatures are used. Fewer texts are compared in less time.
	leastSigned = scanBatch
	// maxSigned is the maximum number of signatures of a list. Each takes up about 200 bytes.
	maxSigned = 2 * maxWaiting
)

// find sets the signatures that are known, and returns the texts whose signatures are not.
func (s *signatures) find(texts []waitingText) (unknown []*waitingText) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range texts {
		if texts[i].signature != nil {
			continue
		}
		if known := s.texts[texts[i].id]; known.seq == texts[i].seq {
			texts[i].signature = known.signature
		}
		if texts[i].signature == nil {
			unknown = append(unknown, &texts[i])
		}
	}
	return unknown
}

// keep adds signatures.
func (s *signatures) keep(texts []*waitingText) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil || len(s.texts)+len(texts) > maxSigned {
		s.texts = map[int64]waitingText{}
	}
	for _, text := range texts {
		if text.signature != nil {
			s.texts[text.id] = *text
		}
	}
}

// forget frees the memory.
func (s *signatures) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts, s.following, s.position, s.last = nil, nil, 0, 0
}

// signaturesOf returns the signatures of which a waiting text must contain one. If each row has one text, that is the
// signature of all words. If the words may be spread over several texts of a row, each word has a signature: the index finds
// a row whose words are all in texts that do not wait.
func signaturesOf(words []string, spread bool) (wanted []signature) {
	var all signature
	for _, word := range words {
		var one signature
		all.addGrams(word)
		if one.addGrams(word); spread && one != (signature{}) {
			wanted = append(wanted, one)
		}
	}
	if !spread {
		wanted = []signature{all}
	}
	return wanted
}

// sign sets the signatures of texts. It reads the texts that no search has read since they began to wait.
func (x *Index) sign(t *engine.Tx, of *List, texts []waitingText) error {
	unknown := x.signatures[of].find(texts)
	for part := range slices.Chunk(unknown, scanBatch) {
		ids, byID := make([]int64, len(part)), make(map[int64]*waitingText, len(part))
		for i, text := range part {
			ids[i], byID[text.id] = text.id, text
		}
		rows, err := rowsByID(t, x, of.Table, "id, "+of.Text, scanText, ids)
		if err != nil {
			return err
		}
		for _, row := range rows {
			signed := &signature{}
			signed.addGrams(x.fold(row.text))
			byID[row.id].signature = signed
		}
	}
	x.signatures[of].keep(unknown)
	return nil
}

// matching returns the texts that may contain one of the wanted signatures.
func matching(texts []waitingText, wanted []signature) []waitingText {
	return slices.DeleteFunc(texts, func(text waitingText) bool {
		return text.signature == nil || !slices.ContainsFunc(wanted, func(s signature) bool { return text.signature.contains(&s) })
	})
}
