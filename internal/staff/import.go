package staff

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
)

const (
	// maxImportBytes is the maximum size of a file. importTimeout is how long a browser may take to send the
	// file.
	maxImportBytes = 8 << 20
	importTimeout  = 2 * time.Minute
	// previewRows is the maximum number of rows shown in a preview. previewInvalidRows is the maximum number
	// of invalid rows that are listed with their problems.
	previewRows, previewInvalidRows = 8, 100
)

// importPage is the template data for the page where users import and export animals.
type importPage struct {
	Problem  string
	Imported *importCounts
	Upsert   bool // whether rows that have an id update the animal with that id
	Preview  *importPreview
}

// importCounts is the number of animals that an import created and changed.
type importCounts struct{ Created, Updated int }

// importPreview is the template data for a preview, which shows what an import would add. Nothing has been
// saved at this point.
type importPreview struct {
	Name        string // the name of the uploaded file
	Checksum    string // the checksum of the file and the mode, so that only what was previewed can be imported
	RequestID   string // the idempotency key for the import
	Rows        []shop.ImportRow
	InvalidRows []shop.ImportRow
	Total       int
	Invalid     int
	Result      shop.ImportResult // what the import would do
}

func (p *Pages) importPage(x *exchange) error {
	return x.show(http.StatusOK, "import", "Files", importPage{})
}

// importPets shows a preview of a file. If the form says that exactly this file was already previewed,
// importPets imports the file instead.
func (p *Pages) importPets(x *exchange) error {
	release, err := p.Limits.Imports.Acquire(x.principal)
	if err != nil {
		return err
	}
	defer release()
	name, content, err := x.readFile()
	if err == nil {
		err = x.acquireSlot()
	}
	if err != nil {
		return x.showImport(importPage{}, err)
	}
	rows, err := petcsv.Read(content)
	if err != nil {
		return x.showImport(importPage{}, err)
	}
	upsert := x.field("mode") == "upsert"
	sum := importChecksum(content, upsert)
	preview := &importPreview{Name: name, Checksum: hex.EncodeToString(sum[:]), RequestID: rand.Text(), Total: len(rows)}
	if requestID := x.field("once"); x.field("sum") == preview.Checksum && requestID != "" {
		imported, err := x.importOnce(rows, upsert, sum, requestID)
		if err != nil {
			return x.showImport(importPage{Upsert: upsert}, err)
		}
		return x.showImport(importPage{Imported: &imported}, nil)
	}
	bad, result, err := p.Service.CheckImport(x.context(), rows, upsert)
	if err != nil {
		return x.showImport(importPage{Upsert: upsert}, err)
	}
	preview.Result, preview.Invalid, preview.InvalidRows, preview.Rows = result, len(bad), bad[:min(len(bad), previewInvalidRows)], rows[:min(len(rows), previewRows)]
	return x.showImport(importPage{Upsert: upsert, Preview: preview}, nil)
}

func importChecksum(content []byte, upsert bool) [sha256.Size]byte {
	hash := sha256.New()
	fmt.Fprintln(hash, upsert)
	hash.Write(content)
	return [sha256.Size]byte(hash.Sum(nil))
}

// importOnce imports the animals only once, even if the form is sent several times.
func (x *exchange) importOnce(rows []shop.ImportRow, upsert bool, sum [32]byte, requestID string) (imported importCounts, err error) {
	ctx := shop.WithIdempotency(x.context(), &shop.IdempotentRequest{
		Principal: x.principal.ID(), Key: "staff-import-" + requestID[:min(len(requestID), 64)], Fingerprint: sum,
		Response: func(result any) shop.StoredResponse {
			done := result.(shop.ImportResult)
			return shop.StoredResponse{Status: http.StatusOK, Body: fmt.Append(nil, done.Created, " ", done.Updated)}
		},
	})
	result, err := x.Service.ImportPets(ctx, rows, shop.ImportOptions{Upsert: upsert})
	if replay, ok := errors.AsType[*shop.ReplayError](err); ok {
		fmt.Sscan(string(replay.Body), &imported.Created, &imported.Updated) // version 1.0 stored only the first number
		return imported, nil
	}
	return importCounts{result.Created, result.Updated}, err
}

// showImport responds with the whole page or, for htmx, with the fragment below the form.
func (x *exchange) showImport(page importPage, err error) error {
	status := http.StatusOK
	if err != nil {
		if page.Problem = userMessage(err); page.Problem == "" {
			return err
		}
		status = statusOf(shop.AsError(err).Code)
	}
	if x.partial() {
		return x.showFragment("import-result", page)
	}
	return x.show(status, "import", "Files", page)
}

// readFile reads the uploaded file and the other fields in the form.
func (x *exchange) readFile() (name string, content []byte, err error) {
	control := http.NewResponseController(x.w)
	control.SetReadDeadline(time.Now().Add(importTimeout)) // setting the deadline fails only in tests, which need none
	x.r.Body = http.MaxBytesReader(x.w, x.r.Body, maxImportBytes+maxFormBytes)
	err = x.r.ParseMultipartForm(maxImportBytes + maxFormBytes) // the limit is high enough to keep the whole file in memory
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return "", nil, shop.Errorf(shop.PayloadTooLarge, "The file is too large; the limit is %d MiB.", maxImportBytes>>20)
	}
	if err != nil {
		return "", nil, errUnreadableForm()
	}
	defer x.r.MultipartForm.RemoveAll()
	control.SetReadDeadline(time.Time{})
	x.w.BodyRead()
	x.r.PostForm = x.r.MultipartForm.Value
	file, header, err := x.r.FormFile("file")
	if err != nil {
		return "", nil, shop.Errorf(shop.ValidationFailed, "Choose a file.")
	}
	defer file.Close()
	content, err = io.ReadAll(file)
	return header.Filename, content, err
}
