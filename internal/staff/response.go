package staff

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"animalstore/internal/shop"
)

// trigger makes htmx raise an event on the page by setting the HX-Trigger header. The detail of the event is a text or
// an object. Headers must be ASCII, so other characters are escaped.
func (x *exchange) trigger(event string, detail any) {
	if x.triggers == nil {
		x.triggers = map[string]any{}
	}
	x.triggers[event] = detail
	text, err := json.Marshal(x.triggers)
	if err != nil {
		panic(err) // cannot happen, because only texts and messages are encoded
	}
	var ascii strings.Builder
	for _, r := range string(text) {
		switch {
		case r < 0x80:
			ascii.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	x.w.Header().Set("HX-Trigger", ascii.String())
}

// send writes a complete response with the given status, content type and body.
func (x *exchange) send(status int, contentType string, body []byte) error {
	slot, err := x.Limits.HoldBody(x.principal, int64(len(body)))
	if err != nil { // an error page needs little memory
		status, contentType, body = statusOf(shop.AsError(err).Code), "text/plain; charset=utf-8", []byte(shop.AsError(err).Message+"\n")
	} else {
		defer slot.Release()
	}
	x.startResponse(status, contentType, len(body))
	x.w.Write(body) // fails only if the browser has disconnected
	return nil
}

// startResponse releases the limits that the exchange holds and writes the header of a response.
func (x *exchange) startResponse(status int, contentType string, size int) {
	x.releaseLimits() // limits do not apply while the browser reads the response
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(size))
	x.w.WriteHeader(status)
}

// show responds with a complete page.
func (x *exchange) show(status int, page, title string, data any) error {
	return x.showIn(x.newPage(), status, page, title, data)
}

// showIn is like show, but renders the page into the given buffer.
func (x *exchange) showIn(buffer *pageBuffer, status int, page, title string, data any) error {
	defer buffer.release()
	view := x.view(title, data)
	view.Message = x.takeMessage()
	if err := x.templates.page(buffer, page, view); err != nil {
		return err
	}
	x.sendPage(status, buffer)
	return nil
}

// showFragment responds with a fragment of a page.
func (x *exchange) showFragment(name string, data any) error {
	buffer := x.newPage()
	defer buffer.release()
	if err := x.templates.fragment(buffer, name, x.view("", data)); err != nil {
		return err
	}
	x.sendPage(http.StatusOK, buffer)
	return nil
}

func (x *exchange) sendPage(status int, buffer *pageBuffer) {
	if compressed := x.compress(buffer); compressed != nil {
		defer compressed.release()
		buffer = compressed
	}
	x.startResponse(status, "text/html; charset=utf-8", buffer.size)
	buffer.sendTo(x.w)
}

// redirect sends the browser to another page, which shows the message of this exchange.
func (x *exchange) redirect(path string) error {
	x.keepMessage()
	if x.partial() {
		x.w.Header().Del("HX-Trigger") // the message is shown on the next page instead
		x.w.Header().Set("HX-Redirect", x.At(path))
		return x.send(http.StatusOK, "text/html; charset=utf-8", nil)
	}
	http.Redirect(x.w, x.r, x.At(path), http.StatusSeeOther)
	return nil
}
