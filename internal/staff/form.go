package staff

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

const (
	// maxFormBytes is the maximum size of a form. formTimeout is how long a browser may take to send the form.
	maxFormBytes = 64 << 10
	formTimeout  = 30 * time.Second
	// maxPublicFormBytes and publicFormTimeout are the limits for users who are not signed in. Their forms are short, and
	// a stranger who sends one slowly must not keep a connection for long.
	maxPublicFormBytes = 4 << 10
	publicFormTimeout  = 5 * time.Second
	// maxFieldBytes is the maximum size of one field. It is low, because pages, headers and messages repeat fields, and
	// in them a character may need six bytes.
	maxFieldBytes = 4 << 10
	// maxProfileField is the maximum size of a field of a profile: 4,000 characters, each of up to four bytes.
	maxProfileField = 16 << 10
)

// readForm reads the whole body, whatever its type, and parses it as a form. If it left a part of the body
// unread, net/http would wait for the rest without a deadline. The caller must release the slot when the form is no
// longer used.
func (x *exchange) readForm() (slot admission.Slot, err error) {
	limit, timeout := int64(maxFormBytes), formTimeout
	if x.route.scope == anyone {
		limit, timeout = maxPublicFormBytes, publicFormTimeout
	}
	size := x.r.ContentLength
	if size < 0 || size > limit {
		size = limit
	}
	if slot, err = x.Limits.HoldBody(x.principal, size); err != nil {
		return slot, err
	}
	defer func() {
		if err != nil {
			slot.Release()
		}
	}()
	control := http.NewResponseController(x.w)
	control.SetReadDeadline(time.Now().Add(timeout))
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return slot, shop.Errorf(shop.PayloadTooLarge, "The form is too large; send at most %d bytes.", limit)
	}
	if err != nil {
		return slot, errUnreadableForm()
	}
	control.SetReadDeadline(time.Time{})
	x.w.BodyRead()
	mediaType, _, _ := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if len(body) > 0 && mediaType != "application/x-www-form-urlencoded" {
		return slot, errUnreadableForm()
	}
	if x.r.PostForm, err = url.ParseQuery(string(body)); err != nil {
		return slot, errUnreadableForm()
	}
	maxField := maxFieldBytes
	if x.route.page == profileSave {
		maxField = maxProfileField
	}
	for _, values := range x.r.PostForm {
		for _, value := range values {
			if len(value) > maxField {
				err = shop.Errorf(shop.PayloadTooLarge, "A field of the form is too large; send at most %d bytes.", maxField)
				return slot, err
			}
		}
	}
	return slot, nil
}

func errUnreadableForm() error {
	return shop.Errorf(shop.InvalidParameter, "The form could not be read; reload the page and try again.")
}

// field returns the value of a form field.
func (x *exchange) field(name string) string { return x.r.PostForm.Get(name) }
