package staff

import (
	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/web"
)

const (
	// minPageChunk and maxPageChunk are the sizes in bytes of the first and of the largest chunk of a page. Each
	// chunk is twice as large as the one before it.
	minPageChunk = 4 << 10
	maxPageChunk = 64 << 10
	// maxAnswer is how many bytes are reserved for the response to a form.
	maxAnswer = 64 << 10
	// maxFreePage is the maximum size of a page whose memory does not count: an error page, or a page for a user who is
	// not signed in. Operating systems buffer this much of a response even if the browser does not read it.
	maxFreePage = 32 << 10
)

// pageBuffer holds a page while it is rendered and sent. Its memory counts towards the limit for bodies. It
// grows in chunks, so that rendering stops as soon as the key's share is used up.
type pageBuffer struct {
	hold   func(size int64) (admission.Slot, error)
	chunks [][]byte
	size   int
	held   []admission.Slot
}

// reservedPage is memory that is reserved for the response to a form before the form is handled, because the response
// must not be refused after the change was saved.
type reservedPage struct {
	slot admission.Slot
	left int64
}

// reserveAnswer reserves the memory for the response to a form. It fails with rate_limited or unavailable if there is
// none.
func (x *exchange) reserveAnswer() error {
	slot, err := x.holdPage(maxAnswer)
	x.answer = reservedPage{slot, maxAnswer}
	return err
}

// hold takes a part of the reserved memory. If a page needs more than was reserved, hold counts the rest, but does not
// refuse it. Few pages are so large: the results of actions on many animals.
func (p *reservedPage) hold(size int64) (admission.Slot, error) {
	if p.left -= size; p.left < 0 {
		p.slot.Extend(int(-p.left))
		p.left = 0
	}
	return admission.Slot{}, nil
}

// holdPage counts the memory of a page of a signed-in user.
func (x *exchange) holdPage(size int64) (admission.Slot, error) {
	slot, err := x.Limits.HoldBody(x.principal, size)
	if err != nil && shop.AsError(err).Code == shop.RateLimited {
		err = errKeyBusy()
	}
	return slot, err
}

// newPage returns a buffer for a page of this exchange. The caller must release it.
func (x *exchange) newPage() *pageBuffer {
	switch {
	case x.principal.Actor() == "":
		return newFreePage()
	case x.answer.slot.Held():
		return &pageBuffer{hold: x.answer.hold}
	}
	return &pageBuffer{hold: x.holdPage}
}

// newFreePage returns a buffer for a small page, whose memory does not count.
func newFreePage() *pageBuffer {
	left := int64(maxFreePage)
	return &pageBuffer{hold: func(size int64) (admission.Slot, error) {
		if left -= size; left < 0 {
			return admission.Slot{}, shop.Errorf(shop.PayloadTooLarge, "The page is too large.")
		}
		return admission.Slot{}, nil
	}}
}

// Write appends to the page. It fails with rate_limited or unavailable if there is no memory for it.
func (b *pageBuffer) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		if n := len(b.chunks); n == 0 || len(b.chunks[n-1]) == cap(b.chunks[n-1]) {
			if err := b.grow(); err != nil {
				return written, err
			}
		}
		last := &b.chunks[len(b.chunks)-1]
		n := min(len(p), cap(*last)-len(*last))
		*last = append(*last, p[:n]...)
		p, written, b.size = p[n:], written+n, b.size+n
	}
	return written, nil
}

// grow adds a chunk. It fails if there is no memory for it.
func (b *pageBuffer) grow() error {
	size := minPageChunk
	if n := len(b.chunks); n > 0 {
		size = min(2*cap(b.chunks[n-1]), maxPageChunk)
	}
	slot, err := b.hold(int64(size))
	if err != nil {
		return err
	}
	b.held = append(b.held, slot)
	b.chunks = append(b.chunks, make([]byte, 0, size))
	return nil
}

// sendTo writes the page to a browser.
func (b *pageBuffer) sendTo(w *web.Recorder) {
	for _, chunk := range b.chunks {
		if _, err := w.Write(chunk); err != nil {
			return // the browser has disconnected
		}
	}
}

// release stops counting the memory of the page.
func (b *pageBuffer) release() {
	for i := range b.held {
		b.held[i].Release()
	}
}
