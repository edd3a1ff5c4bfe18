package staff

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"animalstore/internal/admission"
	"animalstore/internal/shop"
)

const (
	// photoAdd is the name of the route that adds photos.
	photoAdd = "photo-add"
	// photoTimeout is how long a browser may take to send an image.
	photoTimeout = 60 * time.Second
)

// photoSides are the maximum lengths of the longer side of a photo's files.
var photoSides = map[shop.PhotoSize]int{shop.SmallPhoto: 320, shop.MediumPhoto: 800, shop.LargePhoto: 1600}

// photoSource returns the attributes of an image that shows a photo. With its width and height, nothing on the page moves
// when the image arrives.
func (p *Pages) photoSource(photo shop.Photo, size string) template.HTMLAttr {
	width, height := photo.Width, photo.Height
	if side, longer := photoSides[shop.PhotoSize(size)], max(width, height); longer > side {
		width, height = max(1, width*side/longer), max(1, height*side/longer)
	}
	return template.HTMLAttr(fmt.Sprintf(`src="%s" width="%d" height="%d"`, template.HTMLEscapeString(p.At(photo.URL(shop.PhotoSize(size)))), width, height))
}

// PhotoRoom returns how many photos can be added.
func (d petDetail) PhotoRoom() int { return max(0, shop.MaxPhotos-len(d.Profile.Photos)) }

// addPhotos adds the images in a form to an animal. A script sends one image in each form, and the ids of the photos that it
// has added before in the field "added", so that one Undo button removes them all.
func (p *Pages) addPhotos(x *exchange, id int64) error {
	x.r.PostForm = url.Values{}
	var added []int64
	problem, err := x.readImages(func(image []byte) error {
		if err := x.acquireSlot(); err != nil {
			return err
		}
		if err := p.Service.CheckPhotoRoom(x.r.Context(), id); err != nil {
			return err
		}
		photo, err := x.Limits.ConvertPhoto(x.r.Context(), x.principal, image, "")
		if err != nil {
			return err
		}
		stored, err := p.Service.AddPhoto(x.r.Context(), x.caller(), id, photo)
		if err == nil {
			added = append(added, stored.ID)
		}
		return err
	})
	if err != nil && len(added) == 0 {
		return x.finishInPlace(err, petPath(id))
	}
	if err := x.acquireSlot(); err != nil {
		return err
	}
	if err != nil {
		problem = userMessage(err)
		if problem == "" {
			problem = "The others could not be added; try again shortly."
		}
	}
	x.tellAddedPhotos(id, added, problem)
	return x.finishInPlace(nil, petPath(id), petTopic(id))
}

// tellAddedPhotos makes the page say how many photos were added, and what was wrong with the others.
func (x *exchange) tellAddedPhotos(petID int64, added []int64, problem string) {
	earlier, _ := parseIDs(x.field("added")) // a script sends what the service has sent
	all := append(earlier, added...)
	n := len(all)
	text := count(n, "photo") + map[bool]string{true: " was added.", false: " were added."}[n == 1]
	switch {
	case problem != "" && n == 0:
		x.flashProblem(problem)
	case problem != "":
		x.flashProblem(text + " " + problem)
	case n > 0:
		x.flashAbout(petTopic(petID), &undo{petPath(petID) + "/photos/undo", map[string]string{"photos": formatIDs(all)}}, "%s", text)
	default:
		x.flashProblem("Choose a photo.")
	}
}

// readImages calls add for each image in a form. If add refuses an image, readImages goes on with the next one and returns the
// reason. It fails if the form cannot be read.
func (x *exchange) readImages(add func(image []byte) error) (problem string, err error) {
	_, options, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if err != nil || options["boundary"] == "" {
		return "", errUnreadableForm()
	}
	size := int64(admission.MaxPhotoBytes)
	if length := x.r.ContentLength; length >= 0 && length < size {
		size = length
	}
	slot, err := x.Limits.HoldRequest(admission.PhotoBodies, x.principal, size)
	if err != nil {
		return "", err
	}
	defer slot.Release()
	defer x.Limits.ReservePhotoMemory(size)()
	control := http.NewResponseController(x.w)
	body := &io.LimitedReader{R: x.r.Body}
	parts := multipart.NewReader(body, options["boundary"])
	image := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // it does not grow, so the image needs as much memory as was counted
	for {
		control.SetReadDeadline(time.Now().Add(photoTimeout)) // setting the deadline fails only in tests, which need none
		body.N = maxFormBytes                                 // the limit for the headers of the part
		part, err := parts.NextRawPart()
		if err == io.EOF && body.N > 0 {
			control.SetReadDeadline(time.Time{})
			x.w.BodyRead()
			return problem, nil
		}
		if err != nil {
			return problem, errUnreadableForm()
		}
		image.Reset()
		if part.FormName() != "file" {
			value, err := io.ReadAll(io.LimitReader(part, maxFieldBytes))
			if err != nil {
				return problem, errUnreadableForm()
			}
			x.r.PostForm.Set(part.FormName(), string(value))
			continue
		}
		body.N = admission.MaxPhotoBytes + maxFieldBytes // the limit for the part and the boundary after it
		_, err = image.ReadFrom(io.LimitReader(part, admission.MaxPhotoBytes+1))
		switch {
		case image.Len() > admission.MaxPhotoBytes:
			io.CopyN(io.Discard, x.r.Body, 4*admission.MaxPhotoBytes) // a browser shows the response only after it has sent the form
			return problem, shop.Errorf(shop.PayloadTooLarge, "The file %s is too large; the limit is %d MiB.", cutText(part.FileName(), maxFileName), admission.MaxPhotoBytes>>20)
		case err != nil:
			return problem, errUnreadableForm()
		case part.FileName() == "": // if no file was chosen, browsers send an empty file without a name
			continue
		}
		if err := add(image.Bytes()); err != nil {
			reason := userMessage(err)
			if reason == "" {
				return problem, err
			}
			problem = cutText(part.FileName(), maxFileName) + ": " + reason
		}
	}
}

// parseIDs parses ids that are separated by spaces. ok is false if a text is not an id.
func parseIDs(text string) (ids []int64, ok bool) {
	for word := range strings.FieldsSeq(text) {
		id, err := strconv.ParseInt(word, 10, 64)
		if err != nil || len(ids) == shop.MaxPhotos {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

func formatIDs(ids []int64) string { return strings.Trim(fmt.Sprint(ids), "[]") }

// undoPhotos removes photos that were just added, unless somebody has described them since.
func (p *Pages) undoPhotos(x *exchange, id int64) error {
	ids, ok := parseIDs(x.field("photos"))
	if !ok || len(ids) == 0 {
		return errUnreadableForm()
	}
	var err error
	removed := 0
	for _, photo := range ids {
		failure := p.Service.DeletePhoto(x.r.Context(), x.caller(), id, photo, func(now shop.Photo) bool { return now.Alt == "" })
		if failure == nil {
			removed++
		} else {
			err = failure
		}
	}
	if err == nil {
		x.flashAbout(petTopic(id), nil, "%s removed again.", count(removed, "photo")+map[bool]string{true: " was", false: " were"}[removed == 1])
	}
	if isNotFound(err) {
		err = shop.Errorf(shop.NotFound, "Someone else has already removed a photo.")
	}
	return x.finishInPlace(explainConflict(err, "Someone has described a photo in the meantime, so it was not removed."), petPath(id), petTopic(id))
}

// savePhoto changes the alternative text or the position of a photo, unless somebody has changed it since the page was shown.
// With the field "undo", it takes such a change back.
func (p *Pages) savePhoto(x *exchange, id int64) error {
	photoID, err := x.pathID("photo")
	if err != nil {
		return err
	}
	describes, moves, undoes := x.r.PostForm.Has("alt"), x.r.PostForm.Has("position"), x.field("undo") != ""
	var change shop.PhotoChange
	if describes {
		change.Alt = new(strings.TrimSpace(x.field("alt")))
	}
	if moves {
		position, err := strconv.ParseInt(x.field("position"), 10, 64)
		if err != nil {
			return errUnreadableForm()
		}
		change.Position = &position
	}
	var before shop.Photo
	after, err := p.Service.UpdatePhoto(x.r.Context(), x.caller(), id, photoID, change, func(now shop.Photo) bool {
		before = now
		return (!describes || now.Alt == x.field("was-alt")) && (!moves || strconv.Itoa(now.Position) == x.field("was-position"))
	})
	if undoes {
		if err == nil {
			x.flashAbout(petTopic(id), nil, "The photo is as before.")
		}
		return x.finishInPlace(undoError(err, "the photo"), petPath(id), petTopic(id))
	}
	if err == nil {
		x.tellChangedPhoto(id, before, after)
	}
	return x.showChangedPet(id, explainConflict(err, "Someone else has changed the photos in the meantime, so nothing was saved. Check them and try again."))
}

// tellChangedPhoto makes the page say what has changed, with an Undo button.
func (x *exchange) tellChangedPhoto(petID int64, before, after shop.Photo) {
	back := &undo{fmt.Sprintf("%s/photos/%d", petPath(petID), after.ID), map[string]string{"undo": "yes"}}
	text := "The photo was saved."
	if before.Alt != after.Alt {
		back.Values["alt"], back.Values["was-alt"] = before.Alt, after.Alt
		text = "The description of the photo was saved."
	}
	if before.Position != after.Position {
		back.Values["position"], back.Values["was-position"] = strconv.Itoa(before.Position), strconv.Itoa(after.Position)
		text = fmt.Sprintf("The photo is now number %d.", after.Position)
		if after.Position == 1 {
			text = "The photo is now the cover."
		}
	}
	if len(back.Values) == 1 { // nothing has changed
		back = nil
	}
	x.flashAbout(petTopic(petID), back, "%s", text)
}

// deletePhoto removes a photo, unless somebody has described it since the page was shown. Its files are deleted at once, so
// the user is asked first.
func (p *Pages) deletePhoto(x *exchange, id int64) error {
	photoID, err := x.pathID("photo")
	if err != nil {
		return err
	}
	if !x.confirmed() {
		return x.ask(question{
			Title: "Remove this photo?", Text: "Its files are deleted at once. This can’t be undone.", Button: "Remove photo", Danger: true, Back: petPath(id),
		})
	}
	err = p.Service.DeletePhoto(x.r.Context(), x.caller(), id, photoID, func(now shop.Photo) bool { return now.Alt == x.field("was-alt") })
	if err == nil {
		x.flashAbout(petTopic(id), nil, "The photo was removed.")
	}
	return x.showChangedPet(id, explainConflict(err, "Someone else has described this photo in the meantime, so it was not removed. Check it and try again."))
}
