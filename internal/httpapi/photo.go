package httpapi

import (
	"fmt"
	"time"

	"animalstore/internal/shop"
)

const (
	addPhotoOperation = "addPhoto"
	photoTimeout      = 60 * time.Second // how long a client may take to send an image
)

// photoURLs returns JSON that contains photos, with the URLs that clients see.
func (a *API) photoURLs(body []byte) []byte {
	return shop.AbsolutePhotoURLs(body, shop.PhotoBase(a.PublicURL))
}

func (a *API) listPhotos(x *exchange) error {
	petID, err := x.pathID("animal")
	if err != nil {
		return err
	}
	photos, err := a.Service.Photos(x.r.Context(), petID)
	if err != nil {
		return err
	}
	body := []byte{'['}
	for i, photo := range photos {
		if i > 0 {
			body = append(body, ',')
		}
		body = photo.AppendJSON(body)
	}
	body = append(body, ']')
	x.sendResource(shop.EntityTag(body), a.photoURLs(body))
	return nil
}

func (a *API) getPhoto(x *exchange) error {
	petID, id, err := x.photoID()
	if err != nil {
		return err
	}
	photo, err := a.Service.Photo(x.r.Context(), petID, id)
	if err != nil {
		return err
	}
	x.sendResource(resourceTag(photo), a.photoURLs(encode(photo)))
	return nil
}

// photoID returns the ids of the animal and of the photo in the path.
func (x *exchange) photoID() (petID, id int64, err error) {
	if petID, err = x.pathID("animal"); err == nil {
		id, err = x.pathIDAt(1, "photo")
	}
	return petID, id, err
}

// checkPhotoRoom fails if an image need not be received, because the Idempotency-Key is invalid or because the image cannot
// become a photo of the animal. If the request has an Idempotency-Key, it may be the repetition of one that succeeded, which
// only the image can tell. Then x.refused is the error, and the image is received.
func (a *API) checkPhotoRoom(x *exchange) error {
	key, err := idempotencyKey(x.r.Header.Values("Idempotency-Key"))
	if err != nil {
		return err
	}
	petID, err := x.pathID("animal")
	if err == nil {
		err = a.Service.CheckPhotoRoom(x.r.Context(), petID)
	}
	if err != nil && key != "" && shop.AsError(err).Code != shop.Unavailable {
		x.refused, err = err, nil
	}
	return err
}

func (a *API) addPhoto(x *exchange) error {
	if x.refused != nil {
		return x.refused
	}
	petID, err := x.pathID("animal")
	if err != nil {
		return err
	}
	if x.idempotent != nil { // a repetition must not convert the image again
		stored, replayed, err := a.Service.FindStoredResponse(x.r.Context(), x.idempotent)
		if err != nil {
			return err
		}
		if replayed {
			x.sendReplay(stored)
			return nil
		}
	}
	image, err := x.limits.ConvertPhoto(x.r.Context(), x.principal, x.body, x.r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	respond := func(added shop.Photo) shop.StoredResponse {
		location := fmt.Sprintf("%s/pets/%d/photos/%d", a.basePath, petID, added.ID)
		return shop.StoredResponse{Status: 201, Location: location, Tag: resourceTag(added), Body: a.photoURLs(encode(added))}
	}
	added, err := a.Service.AddPhoto(x.r.Context(), callerStoring(x, respond), petID, image)
	if err != nil {
		return err
	}
	x.sendStored(respond(added))
	return nil
}

func (a *API) updatePhoto(x *exchange) error {
	change, err := decodePhotoChange(x.body)
	if err != nil {
		return err
	}
	petID, id, err := x.photoID()
	if err != nil {
		return err
	}
	changed, err := a.Service.UpdatePhoto(x.r.Context(), x.caller(), petID, id, change, preconditions[shop.Photo](x))
	if err != nil {
		return err
	}
	x.w.Header().Set("ETag", resourceTag(changed))
	x.sendJSON(200, a.photoURLs(encode(changed)))
	return nil
}

// decodePhotoChange decodes a merge patch. The member alt can be removed with null.
func decodePhotoChange(body []byte) (change shop.PhotoChange, err error) {
	o, err := parseObject(body)
	if err != nil {
		return change, err
	}
	change.Alt = removableText[string](o, "alt", shop.AltProblem)
	if o.has("position") {
		change.Position = new(o.integer("position"))
		if *change.Position < 1 {
			o.problems.Add("position", "must be 1 or more")
		}
	}
	return change, o.problems.Err()
}

func (a *API) deletePhoto(x *exchange) error {
	petID, id, err := x.photoID()
	if err != nil {
		return err
	}
	if err := a.Service.DeletePhoto(x.r.Context(), x.caller(), petID, id, preconditions[shop.Photo](x)); err != nil {
		return err
	}
	x.sendNoContent()
	return nil
}
