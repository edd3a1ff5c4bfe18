package shop

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxPhotos is the maximum number of photos of an animal.
const MaxPhotos = 12

// DefaultPhotoQuota is how many bytes all photos together may have unless Options.PhotoQuota says otherwise.
const DefaultPhotoQuota = 10_000_000_000

// photoRetention is how long the photos of a removed animal are kept, so that they come back if the animal is restored.
const photoRetention = 30 * 24 * time.Hour

// maxAlt is the maximum length of a photo's alternative text, in code points.
const maxAlt = 200

// PhotoSize is the size of one of the files of a photo.
type PhotoSize string

const (
	SmallPhoto  PhotoSize = "small"
	MediumPhoto PhotoSize = "medium"
	LargePhoto  PhotoSize = "large"
)

// PhotoSizes returns every size in which a photo is stored, smallest first.
func PhotoSizes() []PhotoSize { return []PhotoSize{SmallPhoto, MediumPhoto, LargePhoto} }

// Photo is a photo of an animal. Its position is its place in Profile.Photos, starting with 1.
type Photo struct {
	ID            int64
	Position      int
	Name          string // the random part of its URLs, which nobody can guess
	Alt           string // what the photo shows, for people who cannot see it; "" if nobody has written it
	Width, Height int    // of the large file
	Bytes         int64  // of all files together
	CreatedAt     time.Time
}

// PhotoFiles are the JPEG files of a photo.
type PhotoFiles map[PhotoSize][]byte

func (f PhotoFiles) bytes() (n int64) {
	for _, content := range f {
		n += int64(len(content))
	}
	return n
}

// NewPhoto is a photo to be added.
type NewPhoto struct {
	Files         PhotoFiles
	Width, Height int // of the large file
}

// PhotoUsage says how many bytes the files of all photos have together, and which id was assigned last.
type PhotoUsage struct{ Bytes, LastID int64 }

// FormatBytes returns a number of bytes as a text, such as 10 GB or 12.3 MB.
func FormatBytes[T int64 | uint64](bytes T) string {
	amount, unit := float64(bytes), "bytes"
	for _, larger := range []string{"kB", "MB", "GB", "TB"} {
		if amount < 1000 {
			break
		}
		amount, unit = amount/1000, larger
	}
	return strings.TrimSuffix(strconv.FormatFloat(amount, 'f', 1, 64), ".0") + " " + unit
}

// photoPath is the beginning of the path of a photo's files.
const photoPath = "/photos/"

// URL returns the path of one of the photo's files. The file contains the same bytes forever.
func (p Photo) URL(size PhotoSize) string { return string(p.appendURL(nil, size)) }

func (p Photo) appendURL(text []byte, size PhotoSize) []byte {
	text = append(append(append(text, photoPath...), p.Name...), '-')
	return append(append(text, size...), ".jpg"...)
}

// ParsePhotoFile parses the last part of the path of a photo's file. ok is false if there cannot be such a file.
func ParsePhotoFile(file string) (name string, size PhotoSize, ok bool) {
	stem, isJPEG := strings.CutSuffix(file, ".jpg")
	name, suffix, _ := strings.Cut(stem, "-")
	size = PhotoSize(suffix)
	isHex := !strings.ContainsFunc(name, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
	return name, size, isJPEG && isHex && len(name) == 2*photoNameBytes && slices.Contains(PhotoSizes(), size)
}

// AppendJSON appends the photo to text as JSON. Its URLs are paths, see AbsolutePhotoURLs.
func (p Photo) AppendJSON(text []byte) []byte {
	text = strconv.AppendInt(append(text, `{"id":`...), p.ID, 10)
	text = strconv.AppendInt(append(text, `,"position":`...), int64(p.Position), 10)
	text = appendText(text, `,"alt":`, p.Alt)
	text = strconv.AppendInt(append(text, `,"width":`...), int64(p.Width), 10)
	text = strconv.AppendInt(append(text, `,"height":`...), int64(p.Height), 10)
	text = p.CreatedAt.UTC().AppendFormat(append(text, `,"createdAt":"`...), time.RFC3339Nano)
	text = append(text, `","urls":`...)
	for i, size := range PhotoSizes() {
		text = append(append(append(text, "{,"[min(i, 1)], '"'), size...), `":"`...)
		text = append(p.appendURL(text, size), '"')
	}
	return append(text, "}}"...)
}

// MarshalJSON returns the photo as AppendJSON appends it.
func (p Photo) MarshalJSON() ([]byte, error) { return p.AppendJSON(nil), nil }

// AbsolutePhotoURLs returns JSON that contains photos, with base before the paths in their URLs. If base is empty, it
// returns text. No other text can look like a URL of a photo, because quotes in a JSON string are escaped.
func AbsolutePhotoURLs(text []byte, base string) []byte {
	if base == "" || !bytes.Contains(text, []byte(photoPath)) {
		return text
	}
	for _, size := range PhotoSizes() {
		member := `"` + string(size) + `":"`
		text = bytes.ReplaceAll(text, []byte(member+photoPath), []byte(member+base+photoPath))
	}
	return text
}

// PhotoBase returns the beginning of the URLs of photos, if the API is reached at the given URL, which ends in /v1. If
// nobody has configured a URL, it returns "", because the URLs of photos must not depend on a request.
func PhotoBase(publicURL string) string { return strings.TrimSuffix(publicURL, "/v1") }

// appendTagged appends what distinguishes the photo from every other: the name stands for the files and all that never changes.
func (p Photo) appendTagged(text []byte) []byte {
	return appendText(append(append(text, ' '), p.Name...), "", p.Alt)
}

// appendPhotos appends the member photos of a profile, unless there are none.
func appendPhotos(text []byte, photos []Photo) []byte {
	if len(photos) == 0 {
		return text
	}
	text = append(text, `,"photos":`...)
	for i, photo := range photos {
		text = photo.AppendJSON(append(text, "[,"[min(i, 1)]))
	}
	return append(text, ']')
}

// AltProblem explains why an alternative text sent by a client is invalid. It returns "" if the text is valid.
func AltProblem(s string) string { return textProblem(s, maxAlt) }

// PhotoChange is a partial update of a photo. Fields that are nil are not changed.
type PhotoChange struct {
	Alt      *string // "" removes the text
	Position *int64  // 1 is the cover; a position beyond the end means the last
}

func (c PhotoChange) problems() (problems Problems) {
	if c.Alt != nil && *c.Alt != "" {
		if reason := AltProblem(*c.Alt); reason != "" {
			problems.Add("alt", reason)
		}
	}
	if c.Position != nil && *c.Position < 1 {
		problems.Add("position", "must be 1 or more")
	}
	return problems
}

// apply returns a copy of the list in which the photo at an index is changed.
func (c PhotoChange) apply(photos []Photo, i int) []Photo {
	photo := photos[i]
	replace(&photo.Alt, c.Alt)
	to := i
	if c.Position != nil {
		to = int(min(*c.Position, int64(len(photos)))) - 1
	}
	photos = slices.Delete(slices.Clone(photos), i, i+1)
	return numberPhotos(slices.Insert(photos, to, photo))
}

// numberPhotos sets the positions of photos to their places in the list.
func numberPhotos(photos []Photo) []Photo {
	for i := range photos {
		photos[i].Position = i + 1
	}
	return photos
}

// photoNameBytes is the number of random bytes in a photo's name.
const photoNameBytes = 16

func newPhotoName() string {
	name := make([]byte, photoNameBytes)
	rand.Read(name) // it never fails
	return hex.EncodeToString(name)
}

// PhotoReader contains the methods of ReadTx that read the files of photos. Profile.Photos has all the rest.
type PhotoReader interface {
	// PhotoUsage returns the usage stored by SetPhotoUsage. Nothing is used before the first call.
	PhotoUsage() (PhotoUsage, error)
	// PhotoFile returns a file of a photo and whether it exists. It does not find the photos of removed animals.
	PhotoFile(name string, size PhotoSize) ([]byte, bool, error)
	// HasPhotoFile is like PhotoFile, but does not read the file.
	HasPhotoFile(name string, size PhotoSize) (bool, error)
	// PetsWithoutPhoto returns those of the newest available animals that have no photo, newest first. It examines and
	// returns limited numbers of animals.
	PetsWithoutPhoto(examined, returned int) ([]Pet, error)
}

// PhotoBookkeeping contains the methods of Bookkeeping that store the files of photos. Mutations.UpdateProfiles stores
// which photos an animal has and records the event.
type PhotoBookkeeping interface {
	// SetPhotoUsage stores the usage. Of several writes that change it at the same time, each sees the usage that the one
	// before has stored.
	SetPhotoUsage(PhotoUsage) error
	// InsertPhotoFiles stores the files of a new photo.
	InsertPhotoFiles(petID int64, name string, files PhotoFiles) error
	// DeletePhotoFiles deletes the files of photos.
	DeletePhotoFiles(photos ...Photo) error
	// RemovedPhotos returns a removed animal that has photos: one that cannot be restored any more, because RemoveEvents has
	// removed all events about it, or one that was removed at the given time or before. found is false if there is none.
	RemovedPhotos(removedBy time.Time) (profile Profile, restorable, found bool, err error)
	// ForgetPhotos deletes the photos from the profile of a removed animal, and ForgetProfile the whole profile.
	ForgetPhotos(petID int64) error
	ForgetProfile(petID int64) error
}
