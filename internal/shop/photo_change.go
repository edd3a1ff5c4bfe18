package shop

import (
	"context"
	"slices"
	"time"
)

// Photos returns the photos of an animal in their order. It fails with not_found if there is no such animal.
func (s *Service) Photos(ctx context.Context, petID int64) ([]Photo, error) {
	profile, err := s.Profile(ctx, petID)
	return profile.Photos, err
}

// Photo returns one photo of an animal. It fails with not_found if there is no such animal or photo.
func (s *Service) Photo(ctx context.Context, petID, id int64) (Photo, error) {
	profile, err := s.Profile(ctx, petID)
	if err != nil {
		return Photo{}, err
	}
	i, err := profile.photo(id)
	if err != nil {
		return Photo{}, err
	}
	return profile.Photos[i], nil
}

// photo returns the index of a photo. It fails with not_found if there is no such photo.
func (p Profile) photo(id int64) (int, error) {
	i := slices.IndexFunc(p.Photos, func(photo Photo) bool { return photo.ID == id })
	if i < 0 {
		return i, Errorf(NotFound, "Animal %d has no photo with the id %d.", p.Pet.ID, id)
	}
	return i, nil
}

// CheckPhotoRoom fails if a photo cannot be added to an animal, whatever its size: with not_found, photo_limit_reached or
// photo_quota_reached. It costs little, so it can be called before the photo is received.
func (s *Service) CheckPhotoRoom(ctx context.Context, petID int64) error {
	_, err := read(ctx, s, Reading{}, func(tx ReadTx) (struct{}, error) {
		_, _, err := s.photoRoom(tx, petID, 1)
		return struct{}{}, err
	})
	return err
}

// photoRoom returns what is needed to add a photo. It fails if there is no room for it.
func (s *Service) photoRoom(tx ReadTx, petID, size int64) (Profile, PhotoUsage, error) {
	profile, err := existingProfile(tx, petID)
	if err != nil {
		return profile, PhotoUsage{}, err
	}
	usage, err := tx.PhotoUsage()
	switch {
	case err != nil:
	case len(profile.Photos) >= MaxPhotos:
		err = Errorf(PhotoLimitReached, "Animal %d already has %d photos, and no animal may have more; remove one first.", petID, len(profile.Photos))
	case usage.Bytes+size > s.photoQuota:
		err = Errorf(PhotoQuotaReached, "All photos together may have %s, and there is no room for another; remove photos, or ask the operator to raise the quota.",
			FormatBytes(s.photoQuota))
	}
	return profile, usage, err
}

// AddPhoto adds a photo after the other photos of an animal. It fails with not_found if there is no such animal, and with
// photo_limit_reached or photo_quota_reached if there is no room.
func (s *Service) AddPhoto(ctx context.Context, by Caller, petID int64, n NewPhoto) (Photo, error) {
	photo := Photo{Name: newPhotoName(), Width: n.Width, Height: n.Height, Bytes: n.Files.bytes()}
	return s.changePhotos(ctx, by, petID, func(tx *eventTx, now time.Time) (Profile, []Photo, Photo, error) {
		profile, usage, err := s.photoRoom(tx, petID, photo.Bytes)
		if err != nil {
			return profile, nil, photo, err
		}
		added := photo // the closure may run again
		added.ID, added.Position, added.CreatedAt = usage.LastID+1, len(profile.Photos)+1, now
		if err := tx.SetPhotoUsage(PhotoUsage{Bytes: usage.Bytes + photo.Bytes, LastID: added.ID}); err != nil {
			return profile, nil, added, err
		}
		return profile, append(slices.Clip(profile.Photos), added), added, tx.InsertPhotoFiles(petID, photo.Name, n.Files)
	})
}

// UpdatePhoto changes a photo. It fails with not_found if there is no such animal or photo, and with precondition_failed
// or validation_failed.
func (s *Service) UpdatePhoto(ctx context.Context, by Caller, petID, id int64, change PhotoChange, match Precondition[Photo]) (Photo, error) {
	if err := change.problems().Err(); err != nil {
		return Photo{}, err
	}
	return s.changePhotos(ctx, by, petID, func(tx *eventTx, _ time.Time) (Profile, []Photo, Photo, error) {
		profile, i, err := matchingPhoto(tx, petID, id, match)
		if err != nil {
			return profile, nil, Photo{}, err
		}
		photos := change.apply(profile.Photos, i)
		i = slices.IndexFunc(photos, func(photo Photo) bool { return photo.ID == id })
		return profile, photos, photos[i], nil
	})
}

// DeletePhoto removes a photo and its files. It fails with not_found if there is no such animal or photo, and with
// precondition_failed.
func (s *Service) DeletePhoto(ctx context.Context, by Caller, petID, id int64, match Precondition[Photo]) error {
	_, err := s.changePhotos(ctx, by, petID, func(tx *eventTx, _ time.Time) (Profile, []Photo, Photo, error) {
		profile, i, err := matchingPhoto(tx, petID, id, match)
		if err != nil {
			return profile, nil, Photo{}, err
		}
		removed := profile.Photos[i]
		photos := numberPhotos(slices.Delete(slices.Clone(profile.Photos), i, i+1))
		return profile, photos, removed, deletePhotoFiles(tx, removed)
	})
	s.photoRemovals.Add(1) // after the commit, and before the client can know of it
	return err
}

// deletePhotoFiles deletes the files of photos, which then do not count against the quota any more.
func deletePhotoFiles(tx BookkeepingTx, photos ...Photo) error {
	usage, err := tx.PhotoUsage()
	if err != nil {
		return err
	}
	for _, photo := range photos {
		usage.Bytes -= photo.Bytes
	}
	if err := tx.SetPhotoUsage(usage); err != nil {
		return err
	}
	return tx.DeletePhotoFiles(photos...)
}

// matchingPhoto returns the profile of an animal and the index of one of its photos.
func matchingPhoto(tx ReadTx, petID, id int64, match Precondition[Photo]) (profile Profile, i int, err error) {
	if profile, err = existingProfile(tx, petID); err != nil {
		return profile, 0, err
	}
	if i, err = profile.photo(id); err != nil {
		return profile, 0, err
	}
	return profile, i, match.check(profile.Photos[i])
}

// changePhotos replaces the photos of an animal. The closure returns the profile as it is stored, its new photos, and the
// photo that was added or changed.
func (s *Service) changePhotos(
	ctx context.Context, by Caller, petID int64, change func(tx *eventTx, now time.Time) (Profile, []Photo, Photo, error),
) (Photo, error) {
	return write(ctx, s, Writing{By: by, Texts: true}, func(tx *eventTx) (Photo, error) {
		if err := expireDueHold(tx, petID); err != nil {
			return Photo{}, err
		}
		now, err := tx.Now()
		if err != nil {
			return Photo{}, err
		}
		before, photos, changed, err := change(tx, now)
		if err != nil || slices.Equal(photos, before.Photos) {
			return changed, err
		}
		after := before
		after.Photos = photos
		return changed, tx.UpdateProfiles(ProfileUpdate{before, after.writtenAt(now)})
	})
}

// PurgePhotos deletes the photos of animals that were removed longer ago than photoRetention, or that cannot be restored any
// more. A profile goes with its photos if there is nothing else in it, or nobody can restore it.
func (s *Service) PurgePhotos(ctx context.Context) error {
	return s.inBatches(ctx, func(tx BookkeepingTx) (bool, error) {
		cutoff, err := cutoff(tx, photoRetention)
		if err != nil {
			return false, err
		}
		profile, restorable, found, err := tx.RemovedPhotos(cutoff)
		if err != nil || !found {
			return false, err
		}
		if err := deletePhotoFiles(tx, profile.Photos...); err != nil {
			return false, err
		}
		if profile.Photos = nil; !restorable || profile.isEmpty() {
			return true, tx.ForgetProfile(profile.Pet.ID)
		}
		return true, tx.ForgetPhotos(profile.Pet.ID)
	})
}

// PhotoFile returns one of the files of a photo. It fails with not_found if there is no such file, or if its animal has been
// removed.
func (s *Service) PhotoFile(ctx context.Context, name string, size PhotoSize) ([]byte, error) {
	return read(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) ([]byte, error) {
		content, found, err := tx.PhotoFile(name, size)
		if err == nil && !found {
			err = errNoPhotoFile()
		}
		return content, err
	})
}

// CheckPhotoFile is like PhotoFile, but does not read the file.
func (s *Service) CheckPhotoFile(ctx context.Context, name string, size PhotoSize) error {
	found, err := read(ctx, s, Reading{SingleQuery: true}, func(tx ReadTx) (bool, error) { return tx.HasPhotoFile(name, size) })
	if err == nil && !found {
		err = errNoPhotoFile()
	}
	return err
}

func errNoPhotoFile() error {
	return Errorf(NotFound, "There is no such photo; it may have been removed.")
}

// PhotoRemovals returns how often this node has removed a photo, or an animal with its photos. A file that was found when the
// number was the same has not been removed by this node since.
func (s *Service) PhotoRemovals() int64 { return s.photoRemovals.Load() }
