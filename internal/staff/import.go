package staff

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
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
	Imported string
	Preview  *importPreview
}

// importPreview is the template data for a preview, which shows what an import would add. Nothing has been
// saved at this point.
type importPreview struct {
	Name        string // the name of the uploaded file
	Checksum    string // the checksum of the file, so that only the previewed file can be imported
	RequestID   string // the idempotency key for the import
	Rows        []shop.ImportRow
	InvalidRows []shop.ImportRow
	Total       int
	Invalid     int
}

func (p *Pages) importPage(x *exchange) error {
	return x.show(http.StatusOK, "import", "Import and export", importPage{})
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
	sum := sha256.Sum256(content)
	preview := &importPreview{Name: name, Checksum: hex.EncodeToString(sum[:]), RequestID: rand.Text(), Total: len(rows)}
	if requestID := x.field("once"); x.field("sum") == preview.Checksum && requestID != "" {
		imported, err := x.importOnce(rows, sum, requestID)
		if err != nil {
			return x.showImport(importPage{}, err)
		}
		return x.showImport(importPage{Imported: imported}, nil)
	}
	bad, err := p.Service.CheckImport(x.context(), rows)
	if err != nil {
		return x.showImport(importPage{}, err)
	}
	preview.Invalid, preview.InvalidRows, preview.Rows = len(bad), bad[:min(len(bad), previewInvalidRows)], rows[:min(len(rows), previewRows)]
	return x.showImport(importPage{Preview: preview}, nil)
}

// importOnce imports the animals only once, even if the form is sent several times.
func (x *exchange) importOnce(rows []shop.ImportRow, sum [32]byte, requestID string) (imported string, err error) {
	ctx := shop.WithIdempotency(x.context(), &shop.IdempotentRequest{
		Principal: x.principal.ID(), Key: "staff-import-" + requestID[:min(len(requestID), 64)], Fingerprint: sum,
		Response: func(result any) shop.StoredResponse {
			return shop.StoredResponse{Status: http.StatusOK, Body: []byte(strconv.Itoa(result.(shop.ImportResult).Created))}
		},
	})
	result, err := x.Service.ImportPets(ctx, rows, false)
	if replay, ok := errors.AsType[*shop.ReplayError](err); ok {
		return string(replay.Body), nil
	}
	return strconv.Itoa(result.Created), err
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
	return x.show(status, "import", "Import and export", page)
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
