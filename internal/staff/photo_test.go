package staff

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"animalstore/api/apitest"
	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
)

// uploadPhotos sends a form with files. Each file has the name and the content of an image, or is a text.
func (b *browser) uploadPhotos(added string, files ...string) response {
	b.t.Helper()
	images := shoptest.Must(apitest.ExampleImages())(b.t)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	shoptest.OK(b.t, form.WriteField("added", added))
	for _, name := range files {
		content := images[name]
		switch {
		case name == "huge.jpg":
			content = strings.Repeat("x", admission.MaxPhotoBytes+1<<20)
		case content == "":
			content = "no image"
		}
		part := shoptest.Must(form.CreateFormFile("file", name))(b.t)
		shoptest.Must(part.Write([]byte(content)))(b.t)
	}
	shoptest.OK(b.t, form.Close())
	r := shoptest.Must(http.NewRequestWithContext(b.t.Context(), "POST", b.url+"/staff/pets/1/photos", &body))(b.t)
	r.Header.Set("Content-Type", form.FormDataContentType())
	return b.do(r)
}

// wantPhotos checks the ids of the animal's photos.
func (s *testShop) wantPhotos(want ...int64) {
	s.t.Helper()
	var ids []int64
	for _, photo := range s.profile().Photos {
		ids = append(ids, photo.ID)
	}
	if fmt.Sprint(ids) != fmt.Sprint(want) {
		s.t.Errorf("got the photos %v, want %v", ids, want)
	}
}

// newShopWithPhotos opens a shop with one animal that has three photos.
func newShopWithPhotos(t *testing.T) (*testShop, *browser) {
	t.Helper()
	s, b := signIn(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	b.uploadPhotos("", "rex.jpg", "rex.png", "rex.webp").wantRedirect("/staff/pets/1")
	return s, b
}

// A form without scripts sends several files at once. One button undoes them all.
func TestPhotosAreAddedAndUndone(t *testing.T) {
	t.Parallel()
	s, b := newShopWithPhotos(t)
	s.wantPhotos(1, 2, 3)
	cover := s.profile().Photos[0]
	b.undo("/staff/pets/1").wantRedirect("/staff/pets/1")
	s.wantPhotos()
	b.mustGet("/staff/pets/1", "3 photos were removed again.", "No photos yet.")
	// A script sends one file in each form.
	b.withHTMX().uploadPhotos("", "rex.jpg").want(200, "1 photo was added.", `"photos":"4"`, `"pet-1"`)
	b.withHTMX().uploadPhotos("4", "rex.jpg").want(200, "2 photos were added.", `"photos":"4 5"`)
	b.mustGet("/staff/pets/1", "Photo 1 of 2", "Cover").contains(`-medium.jpg" width="`, `-small.jpg" width="`, `alt="Rex, photo 2"`).lacks(cover.Name)
	shoptest.Must(s.UpdatePhoto(t.Context(), shop.Caller{}, 1, 5, shop.PhotoChange{Alt: new("Rex asleep")}, nil))(t)
	b.withHTMX().post("/staff/pets/1/photos/undo", "photos", "4 5").want(200, "Someone has described a photo in the meantime")
	s.wantPhotos(5)
	b.withHTMX().post("/staff/pets/1/photos/undo", "photos", "4").want(200, "Someone else has already removed a photo.")
	b.post("/staff/pets/1/photos/undo", "photos", "x").want(422)
	b.mustGet("/staff/activity?animal=1", "added a photo of Rex", "removed a photo of Rex")
	reader := s.signedIn(s.Key(t, shop.PetsRead).Secret)
	reader.mustGet("/staff/pets/1").contains(`alt="Rex asleep"`, `-large.jpg"`).lacks("add-photos", "/delete")
	reader.uploadPhotos("", "rex.jpg").want(403)
}

func TestImagesThatAreRefusedAreNamed(t *testing.T) {
	t.Parallel()
	s, b := signIn(t)
	s.AddPet(t, "Rex", 1, shop.Available)
	b.uploadPhotos("", "rex.jpg", "notes.txt").wantRedirect("/staff/pets/1")
	s.wantPhotos(1)
	b.mustGet("/staff/pets/1", "1 photo was added. notes.txt: The file is")
	b.withHTMX().uploadPhotos("", "notes.txt").want(200, "notes.txt: The file is").lacks("Undo")
	b.withHTMX().uploadPhotos("").want(200, "Choose a photo.")
	b.withHTMX().post("/staff/pets/1/photos", "file", "x").want(200, "The form could not be read")
	b.withHTMX().uploadPhotos("", "huge.jpg").want(200, "huge.jpg is too large; the limit is 15 MiB")
	for range shop.MaxPhotos - 1 {
		b.uploadPhotos("", "rex.jpg").want(303)
	}
	b.mustGet("/staff/pets/1", "There is no room for more photos.").lacks(`id="add-photos"`)
	b.withHTMX().uploadPhotos("", "rex.jpg").want(200, "already has 12 photos")
}

func TestPhotosAreMovedDescribedAndRemoved(t *testing.T) {
	t.Parallel()
	s, b := newShopWithPhotos(t)
	b.mustGet("/staff/pets/1")
	b.post("/staff/pets/1/photos/3", "position", "1", "was-position", "3").wantRedirect("/staff/pets/1")
	s.wantPhotos(3, 1, 2)
	b.undo("/staff/pets/1").wantRedirect("/staff/pets/1")
	s.wantPhotos(1, 2, 3)
	htmx := b.withHTMX().with("HX-Target", "pet-detail")
	htmx.post("/staff/pets/1/photos/1", "position", "2", "was-position", "1").want(200, "The photo is now number 2.").contains(`id="pet-detail"`)
	htmx.post("/staff/pets/1/photos/1", "position", "3", "was-position", "1").want(200, "Someone else has changed the photos")
	s.wantPhotos(2, 1, 3)
	b.post("/staff/pets/1/photos/1", "alt", " Rex asleep ", "was-alt", "").wantRedirect("/staff/pets/1")
	b.undo("/staff/pets/1").wantRedirect("/staff/pets/1")
	htmx.post("/staff/pets/1/photos/1", "alt", "Rex", "was-alt", "").want(200, "The description of the photo was saved.").contains(`alt="Rex"`)
	htmx.post("/staff/pets/1/photos/1", "alt", "Max", "was-alt", "").want(200, "Someone else has changed the photos")
	htmx.post("/staff/pets/1/photos/1", "alt", strings.Repeat("x", 201), "was-alt", "Rex").want(200, "What the photo shows must have")
	htmx.post("/staff/pets/1/photos/1", "alt", "Rex", "was-alt", "Rex").want(200, "The photo was saved.").lacks("Undo")
	// The files of a removed photo are gone, so the page asks first.
	b.post("/staff/pets/1/photos/1/delete", "was-alt", "Rex").want(200, "Remove this photo?", "can’t be undone")
	htmx.post("/staff/pets/1/photos/1/delete", "was-alt", "Rex").want(200, "Remove this photo?").contains("<dialog")
	s.wantPhotos(2, 1, 3)
	htmx.post("/staff/pets/1/photos/1/delete", "was-alt", "", "confirmed", "yes").want(200, "Someone else has described this photo")
	b.post("/staff/pets/1/photos/1/delete", "was-alt", "Rex", "confirmed", "yes").wantRedirect("/staff/pets/1")
	s.wantPhotos(2, 3)
	b.post("/staff/pets/1/photos/1", "alt", "x").want(404)
	b.post("/staff/pets/1/photos/x", "alt", "x").want(404)
	b.post("/staff/pets/1/photos/2", "position", "x").want(422)
}
