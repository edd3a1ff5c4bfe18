package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"net/http"
	"strings"

	"animalstore/client"
	"animalstore/internal/programtest"
)

// photograph is what a client knows of the photo of an animal, which has at most one.
type photograph struct {
	photo             client.Photo // as it was acknowledged; without an id if it was only sent
	removing, removed bool         // whether its removal was sent and acknowledged
}

// photograph adds a photo of an animal, and removes it if it should not stay.
func (b *buyer) photograph(pet int64, remove bool) error {
	l := b.load
	record := func(p photograph) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.photos[pet] = p
	}
	var content bytes.Buffer
	must(l.t, png.Encode(&content, image.NewGray(image.Rect(0, 0, 24, int(16+pet%16)))))
	p := photograph{}
	record(p)
	var err error
	if p.photo, err = b.AddPhoto(l.t.Context(), pet, content.Bytes()); err != nil {
		return err
	}
	p.removing = remove
	record(p)
	l.acknowledged.Add(1)
	if !remove {
		return nil
	}
	if err := b.DeletePhoto(l.t.Context(), pet, p.photo.ID); err != nil {
		return err
	}
	p.removed = true
	record(p)
	l.acknowledged.Add(1)
	return nil
}

// checkPhotos compares the photos of a node with the records. An acknowledged photo must be there with all its files, one that
// was removed must be gone with its files, and no animal may have a photo that nobody sent. The caller has locked l.mu.
func (l *load) checkPhotos(p *programtest.Program) {
	l.t.Helper()
	for _, profile := range programtest.Pages[client.Profile](p, "/v1/profiles?limit=100") {
		sent, wasSent := l.photos[profile.Pet.ID]
		if len(profile.Photos) > 1 || len(profile.Photos) == 1 && !wasSent {
			l.t.Errorf("animal %d has the photos %+v, want at most one, and only if it was sent", profile.Pet.ID, profile.Photos)
		}
		for _, photo := range profile.Photos {
			checkPhotoFiles(p, photo, http.StatusOK)
		}
		stored := len(profile.Photos) == 1 && profile.Photos[0].ID == sent.photo.ID
		if sent.photo.ID != 0 && (sent.removed && stored || !sent.removing && !stored) {
			l.t.Errorf("animal %d has the photos %+v, want what was acknowledged: %+v", profile.Pet.ID, profile.Photos, sent)
		}
		if sent.removed {
			checkPhotoFiles(p, sent.photo, http.StatusNotFound)
		}
	}
}

// checkPhotoFiles requests all files of a photo. Those that exist must be images.
func checkPhotoFiles(p *programtest.Program, photo client.Photo, status int) {
	p.T.Helper()
	for _, url := range []string{photo.URLs.Small, photo.URLs.Medium, photo.URLs.Large} {
		file := p.Send("GET", url, "", "")
		programtest.ExpectStatus(p.T, file, status)
		if status != http.StatusOK {
			continue
		}
		if decoded, err := jpeg.Decode(strings.NewReader(file.Body)); err != nil || decoded.Bounds().Max != (image.Point{photo.Width, photo.Height}) {
			p.T.Error(fmt.Errorf("%s is not the photo %+v: %w", url, photo, err))
		}
	}
}
