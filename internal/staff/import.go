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
	// maxImport is how large a file may be, and importTimeout how long a browser may take to send it.
	maxImport     = 8 << 20
	importTimeout = 2 * time.Minute
	// importsAtOnce is how many files a node takes at a time: each is kept in memory, whole.
	importsAtOnce = 4
	// previewRows is how many rows of a file are shown, of those that are good and of those that are bad.
	previewRows, previewInvalidRows = 8, 100
)

// importPage is what the page of imports and exports shows.
type importPage struct {
	Problem  string
	Imported string
	Preview  *importPreview
}

// importPreview is a file as it would be imported. Nothing is written.
type importPreview struct {
	Name        string // of the file
	Checksum    string // of its content: only what was looked at is imported
	RequestID   string // names the import, so that it happens once
	Rows        []shop.ImportRow
	InvalidRows []shop.ImportRow
	Total       int
	Invalid     int
}

func (p *Pages) importPage(v *visit) error {
	return v.show(http.StatusOK, "import", "Import and export", importPage{})
}

// importPets looks at a file and shows what would come of it, or imports it where just this file was looked at before.
func (p *Pages) importPets(v *visit) error {
	select {
	case p.imports <- struct{}{}:
		defer func() { <-p.imports }()
	default:
		return shop.Errorf(shop.Unavailable, "Too many imports are running; try again shortly.")
	}
	name, content, err := v.readFile()
	if err != nil {
		return v.showImport(importPage{}, err)
	}
	rows, err := petcsv.Read(content)
	if err != nil {
		return v.showImport(importPage{}, err)
	}
	sum := sha256.Sum256(content)
	preview := &importPreview{Name: name, Checksum: hex.EncodeToString(sum[:]), RequestID: rand.Text(), Total: len(rows)}
	if requestID := v.field("once"); v.field("sum") == preview.Checksum && requestID != "" {
		imported, err := v.importOnce(rows, sum, requestID)
		if err != nil {
			return v.showImport(importPage{}, err)
		}
		return v.showImport(importPage{Imported: imported}, nil)
	}
	bad, err := p.Service.CheckImport(v.r.Context(), rows)
	if err != nil {
		return v.showImport(importPage{}, err)
	}
	preview.Invalid, preview.InvalidRows, preview.Rows = len(bad), bad[:min(len(bad), previewInvalidRows)], rows[:min(len(rows), previewRows)]
	return v.showImport(importPage{Preview: preview}, nil)
}

// importOnce imports the animals, however often somebody presses the button.
func (v *visit) importOnce(rows []shop.ImportRow, sum [32]byte, requestID string) (imported string, err error) {
	ctx := shop.WithIdempotency(v.context(), &shop.IdempotentRequest{
		Principal: v.principal.ID(), Key: "staff-import-" + requestID[:min(len(requestID), 64)], Fingerprint: sum,
		Response: func(result any) shop.StoredResponse {
			return shop.StoredResponse{Status: http.StatusOK, Body: []byte(strconv.Itoa(result.(shop.ImportResult).Created))}
		},
	})
	result, err := v.Service.ImportPets(ctx, rows, false)
	if replay, ok := errors.AsType[*shop.ReplayError](err); ok {
		return string(replay.Body), nil
	}
	return strconv.Itoa(result.Created), err
}

// showImport answers with the page, or with the part below its form.
func (v *visit) showImport(page importPage, err error) error {
	status := http.StatusOK
	if err != nil {
		if page.Problem = userMessage(err); page.Problem == "" {
			return err
		}
		status = statusOf(shop.AsError(err).Code)
	}
	if v.partial() {
		return v.showPart("import-result", page)
	}
	return v.show(status, "import", "Import and export", page)
}

// readFile reads the file of a form.
func (v *visit) readFile() (name string, content []byte, err error) {
	control := http.NewResponseController(v.w)
	control.SetReadDeadline(time.Now().Add(importTimeout)) // what has no deadline needs none
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxImport+maxForm)
	err = v.r.ParseMultipartForm(maxImport + maxForm) // it stays in memory
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return "", nil, shop.Errorf(shop.PayloadTooLarge, "The file is too large; the limit is %d MiB.", maxImport>>20)
	}
	if err != nil {
		return "", nil, shop.Errorf(shop.InvalidParameter, "The form could not be read; reload the page and try again.")
	}
	defer v.r.MultipartForm.RemoveAll()
	control.SetReadDeadline(time.Time{})
	v.w.unread = false
	v.r.PostForm = v.r.MultipartForm.Value
	file, header, err := v.r.FormFile("file")
	if err != nil {
		return "", nil, shop.Errorf(shop.ValidationFailed, "Choose a file.")
	}
	defer file.Close()
	content, err = io.ReadAll(file)
	return header.Filename, content, err
}
