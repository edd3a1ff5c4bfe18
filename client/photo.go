package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Limits of photos.
const (
	MaxPhotos    = 12       // the maximum number of photos of an animal
	MaxPhotoSize = 15 << 20 // the maximum size of an image, in bytes
)

// photoTimeout replaces the default timeout while a photo is sent, because many images may wait for their turn.
const photoTimeout = 2 * time.Minute

// Photo is a photo of an animal.
type Photo struct {
	ID        int64     `json:"id"`
	Position  int       `json:"position"`      // its place among the photos of the animal; 1 is the cover
	Alt       string    `json:"alt,omitempty"` // what it shows, for people who cannot see it
	Width     int       `json:"width"`         // of the large file, in pixels
	Height    int       `json:"height"`        // of the large file, in pixels
	CreatedAt time.Time `json:"createdAt"`
	URLs      PhotoURLs `json:"urls"`
	// ETag identifies the current state of the photo for use with [IfMatch]. It is empty in lists.
	ETag string `json:"-"`
}

// PhotoURLs says where the JPEG files of a photo are. They need no key. They are absolute if the service has a public URL,
// and otherwise paths on its host; see [Client.DownloadPhoto].
type PhotoURLs struct {
	Small  string `json:"small"`  // the longer side has at most 320 pixels
	Medium string `json:"medium"` // the longer side has at most 800 pixels
	Large  string `json:"large"`  // the longer side has at most 1600 pixels
}

// PhotoUpdate is a partial update of a photo. Fields that are nil are not changed.
type PhotoUpdate struct {
	Alt      *string `json:"alt,omitempty"`      // an empty text removes it
	Position *int    `json:"position,omitempty"` // 1 makes the photo the cover; a position beyond the end makes it the last
}

func (u PhotoUpdate) body() map[string]any {
	members := map[string]any{}
	if u.Alt != nil {
		if members["alt"] = *u.Alt; *u.Alt == "" {
			members["alt"] = nil
		}
	}
	if u.Position != nil {
		members["position"] = *u.Position
	}
	return members
}

func (p Photo) withETag(got apiResponse) Photo {
	p.ETag = got.header.Get("ETag")
	return p
}

func photosPath(petID int64) string { return pathOf("/pets", petID) + "/photos" }

// AddPhoto adds a photo after the other photos of an animal. The image is a JPEG, PNG or WebP file of at most [MaxPhotoSize]
// bytes. AddPhoto fails with [CodeInvalidImage] if it cannot become a photo, with [CodePhotoLimitReached] or
// [CodePhotoQuotaReached] if there is no room for it, and with [CodeNotFound] if there is no such animal. Like every call, it
// waits and tries again if too many images wait.
func (c *Client) AddPhoto(ctx context.Context, petID int64, image []byte, options ...PostOption) (photo Photo, err error) {
	body := rawBody{http.DetectContentType(image), image}
	if body.mediaType != "image/png" && body.mediaType != "image/webp" {
		body.mediaType = "image/jpeg" // if it is something else, the service says what it is
	}
	got, err := c.withTimeout(photoTimeout).post(ctx, photosPath(petID), body, options, &photo)
	return photo.withETag(got), err
}

// ListPhotos returns the photos of an animal in their order. It fails with [CodeNotFound] if there is no such animal.
func (c *Client) ListPhotos(ctx context.Context, petID int64) (photos []Photo, err error) {
	_, err = c.get(ctx, photosPath(petID), nil, &photos)
	return photos, err
}

// GetPhoto returns a photo of an animal. It fails with [CodeNotFound] if there is no such animal or photo.
func (c *Client) GetPhoto(ctx context.Context, petID, id int64) (photo Photo, err error) {
	got, err := c.get(ctx, pathOf(photosPath(petID), id), nil, &photo)
	return photo.withETag(got), err
}

// UpdatePhoto moves or describes a photo and returns its new state. It fails with [CodeNotFound] if there is no such animal
// or photo and with [CodePreconditionFailed] if a condition is not met.
func (c *Client) UpdatePhoto(ctx context.Context, petID, id int64, u PhotoUpdate, conditions ...Condition) (photo Photo, err error) {
	r := request{method: http.MethodPatch, path: pathOf(photosPath(petID), id), body: u.body()}
	got, err := c.do(ctx, r.withConditions(conditions), &photo)
	return photo.withETag(got), err
}

// DeletePhoto deletes a photo and its files. It fails with [CodeNotFound] if there is no such animal or photo and with
// [CodePreconditionFailed] if a condition is not met.
func (c *Client) DeletePhoto(ctx context.Context, petID, id int64, conditions ...Condition) error {
	r := request{method: http.MethodDelete, path: pathOf(photosPath(petID), id)}
	_, err := c.do(ctx, r.withConditions(conditions), nil)
	return err
}

// DownloadPhoto writes one of the files of a photo to a writer and returns the number of bytes written. The URL is one of
// [PhotoURLs]; a path leads to the host of the service. The API key is not sent. DownloadPhoto fails with [CodeNotFound] if
// the photo or its animal has been deleted. The call is not retried.
func (c *Client) DownloadPhoto(ctx context.Context, photoURL string, to io.Writer) (int64, error) {
	base, err := url.Parse(c.base)
	if err != nil {
		return 0, fmt.Errorf("animalstore: %w", err)
	}
	target, err := base.Parse(photoURL)
	if err != nil {
		return 0, fmt.Errorf("animalstore: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return 0, fmt.Errorf("animalstore: %w", err)
	}
	request.Header.Set("User-Agent", c.userAgent)
	response, err := c.http.Do(request)
	if err != nil {
		return 0, fmt.Errorf("animalstore: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		written, err := io.Copy(to, response.Body)
		if err != nil {
			err = fmt.Errorf("animalstore: GET %s: the photo is incomplete: %w", target, err)
		}
		return written, err
	}
	got := apiResponse{status: response.StatusCode, header: response.Header}
	if got.body, err = io.ReadAll(io.LimitReader(response.Body, maxResponse)); err != nil {
		return 0, fmt.Errorf("animalstore: GET %s: the response was cut off: %w", target, err)
	}
	return 0, got.asError()
}
