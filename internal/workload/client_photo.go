package workload

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"slices"
	"sync"

	"animalstore/client"
)

// smallImage returns an image that is quickly converted.
var smallImage = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 48, 32))); err != nil {
		panic(err) // a buffer can always be written to
	}
	return b.Bytes()
})

// changePhotos adds a photo to an animal that is not for sale, or removes one, and compares the photos of the animal with those
// that the service has acknowledged. A request that got no response may have taken effect or not.
func (c *randomClient) changePhotos(ctx context.Context) {
	pet, ok := take(c.rng, &c.ownPets)
	if !ok {
		return
	}
	defer func() { c.ownPets = append(c.ownPets, pet) }()
	if pet.forSale || pet.photosUnknown {
		return
	}
	ctx = context.WithoutCancel(ctx)
	var err error
	if len(pet.photos) == 0 || len(pet.photos) < client.MaxPhotos && c.rng.IntN(2) == 0 {
		var photo client.Photo
		photo, err = c.api.AddPhoto(ctx, pet.ID, smallImage(), client.IdempotencyKey(c.uniqueName("photo")))
		pet.photos = append(pet.photos, photo.ID)
	} else {
		i := c.rng.IntN(len(pet.photos))
		err = c.api.DeletePhoto(ctx, pet.ID, pet.photos[i])
		pet.photos = slices.Delete(pet.photos, i, i+1)
	}
	if err != nil {
		pet.photosUnknown = true
		return
	}
	photos, err := c.api.ListPhotos(ctx, pet.ID)
	if err != nil {
		return
	}
	var ids []int64
	for _, photo := range photos {
		ids = append(ids, photo.ID)
	}
	if !slices.Equal(ids, pet.photos) {
		c.l.Problem("animal %d has the photos %v, want %v", pet.ID, ids, pet.photos)
	}
}
