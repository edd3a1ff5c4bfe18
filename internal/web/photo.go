package web

import (
	"context"
	"errors"

	"animalstore/internal/admission"
	"animalstore/internal/photo"
	"animalstore/internal/shop"
)

// ReservePhotoMemory says that an image needs memory until the function that it returns is called.
func (l *Limits) ReservePhotoMemory(bytes int64) (release func()) {
	if l.OnPhotoMemory == nil {
		return func() {}
	}
	l.OnPhotoMemory(bytes)
	return func() { l.OnPhotoMemory(-bytes) }
}

// ConvertPhoto converts an image that a client has sent, when it is its turn and there is enough memory. It fails with
// invalid_image if the image cannot become a photo, or is not of the given type. The type "" stands for any.
func (l *Limits) ConvertPhoto(ctx context.Context, principal shop.Principal, image []byte, contentType string) (shop.NewPhoto, error) {
	original, err := photo.Inspect(image, contentType)
	if err != nil {
		return shop.NewPhoto{}, imageError(err)
	}
	turn, err := l.Acquire(ctx, admission.PhotoConversions, principal)
	if err != nil {
		return shop.NewPhoto{}, err
	}
	defer turn.Release()
	memory, err := l.acquirePhotoMemory(ctx, principal, original.Cost())
	if err != nil {
		return shop.NewPhoto{}, err
	}
	defer memory.Release()
	defer l.ReservePhotoMemory(original.Cost())()
	files, err := original.Convert()
	return shop.NewPhoto{
		Files: shop.PhotoFiles{shop.SmallPhoto: files.Small, shop.MediumPhoto: files.Medium, shop.LargePhoto: files.Large},
		Width: files.Width, Height: files.Height,
	}, imageError(err)
}

// imageError returns the error for a client whose image is refused.
func imageError(err error) error {
	if refused, ok := errors.AsType[*photo.Error](err); ok {
		return shop.Errorf(shop.InvalidImage, "%s", refused.Reason)
	}
	return err
}
