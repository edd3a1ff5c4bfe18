package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"animalstore/api/apitest"
	"animalstore/internal/admission"
	"animalstore/internal/shop"
	"animalstore/internal/shoptest"
	"animalstore/internal/web"
)

// image returns the contents of an image, such as rex.jpg.
func image(t *testing.T, name string) string {
	t.Helper()
	return shoptest.Must(apitest.ExampleImages())(t)[name]
}

// photoBody is a photo in a response.
type photoBody struct {
	ID, Width, Height int64
	Position          int
	Alt               *string
	URLs              map[string]string
}

func decodePhoto(t *testing.T, got testResponse) (photo photoBody) {
	t.Helper()
	shoptest.OK(t, json.Unmarshal(got.body, &photo))
	return photo
}

// addPhotos adds an animal with n photos.
func (s *testShop) addPhotos(n int) (pet shop.Pet, photos []photoBody) {
	s.t.Helper()
	pet = s.AddPet(s.t, "Rex", 1, "")
	for range n {
		got := s.do("POST", fmt.Sprintf("/v1/pets/%d/photos", pet.ID), image(s.t, "rex.jpg"), "Content-Type: image/jpeg")
		got.want(s.t, 201, "")
		photos = append(photos, decodePhoto(s.t, got))
	}
	return pet, photos
}

func TestPhotosAreAddedMovedAndDeleted(t *testing.T) {
	onBothEngines(t, func(t *testing.T, s *testShop) {
		pet, photos := s.addPhotos(3)
		path := fmt.Sprintf("/v1/pets/%d/photos", pet.ID)
		order := func() (ids string) {
			var list []photoBody
			shoptest.OK(t, json.Unmarshal(s.do("GET", path, "").body, &list))
			for i, photo := range list {
				if photo.Position != i+1 {
					t.Errorf("photo %d has the position %d at %d", photo.ID, photo.Position, i+1)
				}
				ids += fmt.Sprint(photo.ID, " ")
			}
			var profile struct{ Photos []photoBody }
			shoptest.OK(t, json.Unmarshal(s.do("GET", fmt.Sprintf("/v1/pets/%d/profile", pet.ID), "").body, &profile))
			if len(profile.Photos) != len(list) {
				t.Errorf("the profile has %d photos, the list %d", len(profile.Photos), len(list))
			}
			return ids
		}
		patch := func(id int64, body string, headers ...string) testResponse {
			return s.do("PATCH", fmt.Sprintf("%s/%d", path, id), body, headers...)
		}
		for _, step := range []struct {
			id   int64
			body string
			want string
		}{
			{3, `{"position":1}`, "3 1 2 "}, {3, `{"position":99}`, "1 2 3 "}, {1, `{"position":2,"alt":"Rex"}`, "2 1 3 "}, {1, `{}`, "2 1 3 "},
		} {
			got := patch(step.id, step.body)
			got.want(t, 200, "")
			if ids := order(); ids != step.want {
				t.Errorf("%d %s: the order is %s, want %s", step.id, step.body, ids, step.want)
			}
		}
		for body, code := range map[string]string{
			`{"position":0}`: "validation_failed", `{"position":"1"}`: "validation_failed", `{"alt":""}`: "validation_failed", `[]`: "invalid_json",
			`{"alt":"` + strings.Repeat("ä", 201) + `"}`: "validation_failed",
		} {
			patch(1, body).wantError(t, 400, shop.Code(code))
		}
		one := s.do("GET", path+"/1", "")
		one.want(t, 200, "")
		if photo := decodePhoto(t, one); photo.Alt == nil || *photo.Alt != "Rex" || photo.Width != 64 || photo.Height != 48 {
			t.Errorf("got %s", one.body)
		}
		tag := one.Header.Get("ETag")
		for _, path := range []string{path, path + "/1", fmt.Sprintf("/v1/pets/%d/profile", pet.ID)} {
			s.do("GET", path, "", "If-None-Match: "+s.do("GET", path, "").Header.Get("ETag")).want(t, 304, "")
		}
		patch(1, `{"alt":null}`, `If-Match: "other"`).wantError(t, 412, shop.PreconditionFailed)
		patch(1, `{"alt":null}`, "If-Match: "+tag).want(t, 200, "")
		s.do("DELETE", path+"/1", "", "If-Match: "+tag).wantError(t, 412, shop.PreconditionFailed)
		s.do("DELETE", path+"/1", "").want(t, 204, "")
		s.do("DELETE", path+"/1", "").wantError(t, 404, shop.NotFound)
		s.do("GET", path+"/x", "").wantError(t, 404, shop.NotFound)
		if ids := order(); ids != "2 3 " {
			t.Errorf("after the deletion, the order is %s", ids)
		}
		for i, photo := range photos {
			want := 200
			if i == 0 {
				want = 404
			}
			if got := s.do("GET", photo.URLs["large"], "", "Authorization: "); got.StatusCode != want {
				t.Errorf("the file of photo %d returned %d, want %d", photo.ID, got.StatusCode, want)
			}
		}
	})
}

func TestPhotoFilesAreServed(t *testing.T) {
	s := parallelShop(t)
	pet, photos := s.addPhotos(1)
	url := photos[0].URLs["medium"]
	got := s.do("GET", url, "", "Authorization: ")
	if _, err := jpeg.Decode(bytes.NewReader(got.body)); err != nil {
		t.Errorf("the file is no JPEG file: %v", err)
	}
	for name, want := range map[string]string{
		"Content-Type": "image/jpeg", "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "sandbox", "Content-Length": fmt.Sprint(len(got.body)), "ETag": `"` + strings.TrimPrefix(url, "/photos/") + `"`,
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("%s is %q, want %q", name, value, want)
		}
	}
	if head := s.do("HEAD", url, "", "Authorization: "); head.StatusCode != 200 || head.Header.Get("Content-Length") != fmt.Sprint(len(got.body)) {
		t.Errorf("HEAD returned %d, %v", head.StatusCode, head.Header)
	}
	if again := s.do("GET", url, "", "Authorization: ", "If-None-Match: "+got.Header.Get("ETag")); again.StatusCode != 304 {
		t.Errorf("a conditional request returned %d", again.StatusCode)
	}
	for _, unknown := range []string{
		"/photos/", "/photos/x.jpg", strings.ToUpper(url), strings.Replace(url, "medium", "huge", 1), strings.Replace(url, ".jpg", ".png", 1),
		"/photos/" + strings.Repeat("0", 32) + "-small.jpg", "/photos/" + strings.Repeat("%ff", 32) + "-small.jpg",
	} {
		if got := s.do("GET", unknown, "", "Authorization: "); got.StatusCode != 404 || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s returned %d, %q", unknown, got.StatusCode, got.Header.Get("Cache-Control"))
		}
	}

	// The photos of a removed animal are gone at once, and come back with it.
	s.do("DELETE", fmt.Sprintf("/v1/pets/%d", pet.ID), "").want(t, 204, "")
	if got := s.do("GET", url, "", "Authorization: "); got.StatusCode != 404 {
		t.Errorf("the photo of a removed animal returned %d", got.StatusCode)
	}
	s.do("GET", fmt.Sprintf("/v1/pets/%d/photos", pet.ID), "").wantError(t, 404, shop.NotFound)
	s.do("POST", fmt.Sprintf("/v1/pets/%d/restore", pet.ID), "").want(t, 200, "")
	if got := s.do("GET", url, "", "Authorization: "); got.StatusCode != 200 {
		t.Errorf("the photo of a restored animal returned %d", got.StatusCode)
	}
}

// A node notices within a second that another one has removed a photo.
func TestRemovedPhotosAreGoneOnOtherNodes(t *testing.T) {
	s := parallelShop(t)
	pet, photos := s.addPhotos(1)
	url := photos[0].URLs["small"]
	s.do("GET", url, "", "Authorization: ")
	shoptest.OK(t, s.node(shop.Options{}).DeletePhoto(t.Context(), shop.Caller{}, pet.ID, photos[0].ID, nil))
	deleted := time.Now()
	for s.do("GET", url, "", "Authorization: ").StatusCode != 404 {
		if time.Since(deleted) > time.Minute {
			t.Fatal("the photo is still there")
		}
	}
}

// If a read fails, the requests that have waited for it may read the file as well, but only within the limit.
func TestPhotosAreReadWithinTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := shoptest.Open(t, shoptest.Options{})
		files := shop.PhotoFiles{}
		for _, size := range shop.PhotoSizes() {
			files[size] = []byte(size)
		}
		photo := shoptest.Must(s.AddPhoto(t.Context(), shop.Caller{}, s.AddPet(t, "Rex", 1, "").ID, shop.NewPhoto{Files: files}))(t)
		cache, gate := newPhotoCache(s.Service), make(chan struct{})
		var entered, found atomic.Int64
		var running sync.WaitGroup
		for range 3 {
			running.Go(func() {
				content, err := cache.get(t.Context(), strings.TrimPrefix(photo.URL(shop.SmallPhoto), "/photos/"), func() (admission.Slot, error) {
					if entered.Add(1) == 3 {
						return admission.Slot{}, nil
					}
					<-gate
					return admission.Slot{}, shop.UnavailableError(nil)
				})
				if err == nil && string(content) == "small" {
					found.Add(1)
				}
			})
			synctest.Wait()
		}
		close(gate) // the first read fails, then the one that the other two requests share
		running.Wait()
		if entered.Load() != 3 || found.Load() != 1 {
			t.Errorf("%d requests waited until they may read, and %d got the file, want 3 and 1", entered.Load(), found.Load())
		}
	})
}

func TestImagesAreRefused(t *testing.T) {
	s := parallelShop(t, func(c *Config) { c.Limits = web.NewLimits(0) })
	pet := s.AddPet(t, "Rex", 1, "")
	path := fmt.Sprintf("/v1/pets/%d/photos", pet.ID)
	picture := image(t, "rex.jpg")
	for name, c := range map[string]struct {
		contentType, body string
		status            int
		code              string
	}{
		"another type":   {"image/png", picture, 400, "invalid_image"},
		"HTML":           {"image/jpeg", "<html></html>", 400, "invalid_image"},
		"HEIC":           {"image/jpeg", "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", 400, "invalid_image"},
		"nothing":        {"image/jpeg", "", 400, "invalid_image"},
		"half of it":     {"image/jpeg", picture[:len(picture)/2], 400, "invalid_image"},
		"JSON":           {"application/json", "{}", 415, "unsupported_media_type"},
		"no type":        {"", picture, 415, "unsupported_media_type"},
		"too many bytes": {"image/jpeg", strings.Repeat("x", admission.MaxPhotoBytes+1), 413, "payload_too_large"},
		"animated WebP":  {"image/webp", string(shoptest.Must(os.ReadFile("../photo/testdata/animated.webp"))(t)), 400, "invalid_image"},
	} {
		got := s.do("POST", path, c.body, "Content-Type: "+c.contentType)
		if got.StatusCode != c.status || !strings.Contains(string(got.body), c.code) {
			t.Errorf("%s: got %d %s, want %d %s", name, got.StatusCode, got.body, c.status, c.code)
		}
	}
	s.do("POST", "/v1/pets/99/photos", picture, "Content-Type: image/jpeg").wantError(t, 404, shop.NotFound)
	// The animal is looked for before the image is received, and images that are received share their memory.
	slot := shoptest.Must(s.api.Limits.HoldRequest(admission.PhotoBodies, shop.Principal{}, 64<<20))(t)
	got := s.do("POST", path, picture, "Content-Type: image/jpeg")
	got.wantError(t, 503, shop.Unavailable)
	if got.Header.Get("Retry-After") == "" {
		t.Error("a refused image has no Retry-After")
	}
	s.do("POST", "/v1/pets/99/photos", picture, "Content-Type: image/jpeg").wantError(t, 404, shop.NotFound)
	slot.Release()
	s.do("POST", path, picture, "Content-Type: image/jpeg").want(t, 201, "")
}

func TestAnimalsHaveAtMostTwelvePhotos(t *testing.T) {
	s := parallelShop(t)
	pet, _ := s.addPhotos(11)
	path := fmt.Sprintf("/v1/pets/%d/photos", pet.ID)
	var wg sync.WaitGroup
	statuses := make([]int, 4)
	for i := range statuses {
		wg.Go(func() {
			got, err := s.tryDo("POST", path, image(t, "rex.png"), "Content-Type: image/png")
			if err == nil {
				statuses[i] = got.StatusCode
			}
		})
	}
	wg.Wait()
	added := 0
	for _, status := range statuses {
		if status == http.StatusCreated {
			added++
		} else if status != http.StatusConflict {
			t.Errorf("an upload returned %d", status)
		}
	}
	if added != 1 {
		t.Errorf("%d photos were added to the last place", added)
	}
}

func TestPhotoQuota(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pet := s.AddPet(t, "Rex", 1, "")
	shoptest.OK(t, s.Store.Write(t.Context(), shop.Writing{}, func(tx shop.WriteTx) error {
		return tx.SetPhotoUsage(shop.PhotoUsage{Bytes: shop.DefaultPhotoQuota - 10_000}) // the photos of other animals
	}))
	path := fmt.Sprintf("/v1/pets/%d/photos", pet.ID)
	added := 0
	for range shop.MaxPhotos {
		got := s.do("POST", path, image(t, "rex.jpg"), "Content-Type: image/jpeg")
		if got.StatusCode == http.StatusConflict {
			got.wantError(t, 409, shop.PhotoQuotaReached)
			break
		}
		added++
	}
	if added == 0 || added == shop.MaxPhotos {
		t.Fatalf("%d photos fit into the quota", added)
	}
	s.do("DELETE", path+"/1", "").want(t, 204, "")
	s.do("POST", path, image(t, "rex.jpg"), "Content-Type: image/jpeg").want(t, 201, "")
}

// A repeated upload gets the first answer, even if there is no room any more. An invalid key is refused before that is known.
func TestUploadsAreRepeated(t *testing.T) {
	s := parallelShop(t)
	pet, _ := s.addPhotos(11)
	path := fmt.Sprintf("/v1/pets/%d/photos", pet.ID)
	headers := []string{"Content-Type: image/png", "Idempotency-Key: once"}
	first := s.do("POST", path, image(t, "rex.png"), headers...)
	first.want(t, 201, "")
	again := s.do("POST", path, image(t, "rex.png"), headers...)
	again.want(t, 201, "")
	if !bytes.Equal(again.body, first.body) || again.Header.Get("Idempotency-Replayed") != "true" || again.Header.Get("Location") != first.Header.Get("Location") {
		t.Errorf("got %s, want %s", again.body, first.body)
	}
	s.do("POST", path, image(t, "rex.jpg"), "Content-Type: image/jpeg", "Idempotency-Key: once").wantError(t, 422, shop.IdempotencyKeyReused)
	s.do("POST", path, image(t, "rex.jpg"), "Content-Type: image/jpeg", "Idempotency-Key: other").wantError(t, 409, shop.PhotoLimitReached)
	s.do("POST", path, image(t, "rex.jpg"), "Content-Type: image/jpeg", "Idempotency-Key:  ").wantError(t, 400, shop.InvalidParameter)
}

// With a public URL, the URLs of photos are absolute everywhere. Without one, no Host gets into them.
func TestPhotoURLs(t *testing.T) {
	t.Parallel()
	for public, base := range map[string]string{"": "", "https://pets.example.com/shop/v1": "https://pets.example.com/shop"} {
		s := newShopWith(t, shoptest.Options{Options: shop.Options{Source: public}}, func(c *Config) { c.PublicURL = public })
		s.skipValidation = public != "" // the document is for another base path
		pet, photos := s.addPhotos(1)
		for size, url := range photos[0].URLs {
			if !strings.HasPrefix(url, base+"/photos/") {
				t.Errorf("%s: the URL is %s", size, url)
			}
		}
		s.do("PATCH", fmt.Sprintf("/v1/pets/%d/profile", pet.ID), `{"description":"\"small\":\"/photos/","color":"/photos/"}`).want(t, 200, "")
		for _, path := range []string{
			fmt.Sprintf("/v1/pets/%d/photos", pet.ID), fmt.Sprintf("/v1/pets/%d/photos/%d", pet.ID, photos[0].ID), fmt.Sprintf("/v1/pets/%d/profile", pet.ID),
			"/v1/profiles", "/v1/events?type=profile.updated",
		} {
			got := s.do("GET", path, "", "X-Forwarded-Host: evil.example")
			if body := string(got.body); !strings.Contains(body, `"small":"`+base+"/photos/") || public != "" && strings.Contains(body, `"small":"/photos/`) ||
				strings.Contains(body, "description") && !strings.Contains(body, `\"small\":\"/photos/`) {
				t.Errorf("%q: %s returned %s", public, path, got.body)
			}
		}
	}
}
