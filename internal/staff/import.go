package staff

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"animalstore/internal/admission"
	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
)

const (
	// maxImportBytes is the maximum size of a file. importTimeout is how long a browser may take to send the
	// file.
	maxImportBytes = 8 << 20
	importTimeout  = 2 * time.Minute
	// previewRows is the maximum number of rows that a preview lists for each action.
	previewRows = 100
	// maxHeldBytes is the maximum size of a file that a page without scripts contains until the file is imported. If
	// the file is larger, the user must select the file again.
	maxHeldBytes = 256 << 10
	// maxFileName is the maximum length in bytes of a file's name on the page. Most file systems have the same
	// limit.
	maxFileName = 255
)

// importPage is the template data for the page where users import and export animals.
type importPage struct {
	Problem  string
	Create   bool // whether every row adds an animal, even if it has an id
	Imported *importCounts
	Preview  *importPreview
}

// importCounts holds the numbers of animals that an import created, changed and left unchanged.
type importCounts struct{ Created, Updated, Unchanged int }

// importPreview is the template data for a preview, which shows what an import would do. Nothing has been
// saved at this point.
type importPreview struct {
	shop.ImportPreview
	Name      string // the name of the uploaded file
	Checksum  string // a checksum of the file and the mode; only what was previewed can be imported
	RequestID string // the idempotency key for the import
	Total     int    // the number of rows
	Held      string // the file in base64, if it is small and no script can send it again
	Late      bool   // whether the shop has changed since the preview, so that the import was refused
}

func (p *Pages) importPage(x *exchange) error {
	return x.show(http.StatusOK, "import", "Files", importPage{})
}

// importExample is a file with two animals. It shows users the format of a file with their own animals.
const importExample = petcsv.ByteOrderMark + "name,category,status\r\nRex,Dogs,available\r\nMia,Cats,\r\n"

// importTemplate sends a file that users can fill in.
func (p *Pages) importTemplate(x *exchange) error {
	x.w.Header().Set("Content-Disposition", `attachment; filename="animals-template.csv"`)
	return x.send(http.StatusOK, csvType, []byte(importExample))
}

// importPets shows a preview of a file. If the form says that exactly this file was already previewed,
// importPets imports the file instead. The browser sends the file both times, so that nothing needs to be kept
// on this node.
func (p *Pages) importPets(x *exchange) error {
	slot, err := x.Limits.Acquire(x.r.Context(), admission.Imports, x.principal)
	if err != nil {
		return err
	}
	defer slot.Release()
	name, content, err := x.readFile()
	if err == nil {
		err = x.acquireSlot()
	}
	page := importPage{Create: x.field("mode") == "create"}
	if err != nil {
		return x.showImport(page, err)
	}
	rows, err := petcsv.Read(content)
	if err != nil {
		return x.showImport(page, err)
	}
	sum := importChecksum(content, !page.Create)
	preview := &importPreview{Name: name, Checksum: hex.EncodeToString(sum[:]), RequestID: rand.Text(), Total: len(rows)}
	if requestID := x.field("once"); x.field("sum") == preview.Checksum && requestID != "" {
		imported, err := x.importOnce(rows, !page.Create, sum, requestID)
		if err == nil {
			imported.Unchanged = len(rows) - imported.Created - imported.Updated
			return x.showImport(importPage{Imported: &imported}, nil)
		}
		if shop.AsError(err).Code != shop.ValidationFailed {
			return x.showImport(page, err)
		}
		preview.Late = true // the preview had no problem, so somebody has changed the shop since
	}
	if preview.ImportPreview, err = p.Service.PreviewImport(x.r.Context(), x.caller(), rows, !page.Create, previewRows); err != nil {
		return x.showImport(page, err)
	}
	if !x.partial() && len(content) <= maxHeldBytes {
		preview.Held = base64.StdEncoding.EncodeToString(content)
	}
	page.Preview = preview
	return x.showImport(page, nil)
}

// importChanges returns the fields that a row of a preview changes.
func importChanges(row shop.PreviewRow) (changes []fieldChange) {
	texts := func(pet shop.PreviewPet) [3]string {
		return [3]string{pet.Name, categoryName(pet.Category, pet.CategoryID), string(pet.Status)}
	}
	return changedFields(texts(*row.Before), texts(row.After))
}

func importChecksum(content []byte, upsert bool) [sha256.Size]byte {
	hash := sha256.New()
	fmt.Fprintln(hash, upsert)
	hash.Write(content)
	return [sha256.Size]byte(hash.Sum(nil))
}

// importOnce imports the animals only once, even if the form is sent several times.
func (x *exchange) importOnce(rows []shop.ImportRow, upsert bool, sum [32]byte, requestID string) (imported importCounts, err error) {
	by := x.caller()
	by.Request = &shop.IdempotentRequest{
		Principal: x.principal.ID(), Key: "staff-import-" + requestID[:min(len(requestID), 64)], Fingerprint: sum,
		Response: func(result any) shop.StoredResponse {
			done := result.(shop.ImportResult)
			return shop.StoredResponse{Status: http.StatusOK, Body: fmt.Append(nil, done.Created, " ", done.Updated)}
		},
	}
	result, err := x.Service.ImportPets(x.r.Context(), by, rows, shop.ImportOptions{Upsert: upsert})
	if replay, ok := errors.AsType[*shop.ReplayError](err); ok {
		fmt.Sscan(string(replay.Body), &imported.Created, &imported.Updated) // version 1.0 stored only the first number
		return imported, nil
	}
	return importCounts{Created: result.Created, Updated: result.Updated}, err
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

// readFile reads the uploaded file and the other fields of the form.
func (x *exchange) readFile() (name string, content []byte, err error) {
	control := http.NewResponseController(x.w)
	control.SetReadDeadline(time.Now().Add(importTimeout)) // setting the deadline fails only in tests, which need none
	x.r.Body = http.MaxBytesReader(x.w, x.r.Body, maxImportBytes+maxFormBytes)
	name, content, err = x.readParts()
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return "", nil, shop.Errorf(shop.PayloadTooLarge, "The file is too large; the limit is %d MiB.", maxImportBytes>>20)
	}
	if err != nil {
		return "", nil, errUnreadableForm()
	}
	control.SetReadDeadline(time.Time{})
	x.w.BodyRead()
	if name == "" { // if no file was chosen, browsers send an empty file without a name
		content, err = base64.StdEncoding.DecodeString(x.field("held"))
		if err != nil || len(content) == 0 {
			return "", nil, shop.Errorf(shop.ValidationFailed, "Choose a file.")
		}
		name = x.field("held-name")
	}
	return cutText(name, maxFileName), content, nil
}

// readParts reads all parts of the form. It keeps only the file and the fields that the page knows, each up to its own
// limit, so that a form needs little more memory than its file. It fails if a part exceeds its limit.
func (x *exchange) readParts() (name string, content []byte, err error) {
	_, options, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if err != nil || options["boundary"] == "" {
		return "", nil, errUnreadableForm()
	}
	body := &io.LimitedReader{R: x.r.Body}
	parts := multipart.NewReader(body, options["boundary"])
	limits := map[string]int64{
		"file": maxImportBytes + maxFormBytes, "held": int64(base64.StdEncoding.EncodedLen(maxHeldBytes)),
		"held-name": maxFieldBytes, "mode": maxFieldBytes, "sum": maxFieldBytes, "once": maxFieldBytes,
	}
	x.r.PostForm = url.Values{}
	for {
		body.N = maxFormBytes // the limit for the headers of the part
		part, err := parts.NextRawPart()
		if err == io.EOF && body.N > 0 {
			_, err = io.Copy(io.Discard, x.r.Body)
			return name, content, err
		}
		if err != nil {
			return "", nil, err
		}
		field := part.FormName()
		limit, known := limits[field]
		body.N = limit + maxFieldBytes // the limit for the part and the boundary after it
		if !known || x.r.PostForm.Has(field) {
			if _, err := io.Copy(io.Discard, part); err != nil {
				return "", nil, err
			}
			continue
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return "", nil, err
		}
		if field == "file" {
			name, content = part.FileName(), value
			value = nil
		}
		x.r.PostForm.Set(field, string(value))
	}
}

// cutText returns the beginning of a text, with at most max bytes and only whole characters.
func cutText(text string, max int) string {
	if len(text) <= max {
		return text
	}
	for max > 0 && !utf8.RuneStart(text[max]) {
		max--
	}
	return text[:max]
}
