package staff

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
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
	// maxChoices is the maximum number of fields of the form. maxChoiceName is the maximum length in bytes of the name of
	// a field for a column.
	maxChoices, maxChoiceName = 300, 32
)

// importPage is the template data for the page where users import and export animals.
type importPage struct {
	Problem  string
	Create   bool // whether every row adds an animal, even if it has an id
	Sheet    *importSheet
	Imported *importCounts
	Preview  *importPreview
}

// importCounts holds the numbers of animals that an import created, changed and left unchanged.
type importCounts struct{ Created, Updated, Unchanged int }

// importPreview is the template data for a preview, which shows what an import would do. Nothing has been
// saved at this point.
type importPreview struct {
	shop.ImportPreview
	Checksum  string // a checksum of the file and of all answers; only what was previewed can be imported
	RequestID string // the id of the form, so that the animals are imported only once
	Total     int    // the number of rows
	Late      bool   // whether the shop has changed since the preview, so that the import was refused
}

func (p *Pages) importPage(x *exchange) error {
	return x.show(http.StatusOK, "import", "Files", importPage{})
}

// importExample is a file with two animals. It shows users the format of a file with their own animals.
const importExample = petcsv.ByteOrderMark + "Name,Category,Status,Breed,Sex,Date of birth,Colour,Price,Currency,Microchip,Description\r\n" +
	"Rex,Dogs,available,Beagle,male,2024-03-31,brown,250.00,EUR,,Likes long walks.\r\nMia,Cats,,,female,,,,,,\r\n"

// importTemplate sends a file that users can fill in.
func (p *Pages) importTemplate(x *exchange) error {
	x.w.Header().Set("Content-Disposition", `attachment; filename="animals-template.csv"`)
	return x.send(http.StatusOK, csvType, []byte(importExample))
}

// importPets shows a preview of a file. If the form says that exactly this was already previewed, importPets imports the
// file instead, without the rows that had problems. The browser sends the file both times, so that nothing needs to be
// kept on this node.
func (p *Pages) importPets(x *exchange) error {
	slot, err := x.Limits.Acquire(x.r.Context(), admission.Imports, x.principal)
	if err != nil {
		return err
	}
	defer slot.Release()
	page := importPage{}
	sheet, err := x.readSheet()
	page.Sheet, page.Create = sheet, x.field("mode") == "create"
	if err != nil || sheet.Unanswered() {
		return x.showImport(page, err)
	}
	rows, err := sheet.readRows()
	if err != nil {
		return x.showImport(page, err)
	}
	sheet.Left = rowSet(x.field("left"))
	preview := &importPreview{RequestID: rand.Text(), Total: len(rows)}
	if requestID := x.field("once"); requestID != "" && x.field("sum") == sheet.checksum(!page.Create) {
		good, left := sheet.Left.split(rows)
		sheet.LeftRows = len(left)
		imported, err := x.importOnce(good, !page.Create, requestID)
		if err == nil {
			imported.Unchanged = len(good) - imported.Created - imported.Updated
			page.Imported = &imported
			return x.showImport(page, nil)
		}
		if shop.AsError(err).Code != shop.ValidationFailed {
			return x.showImport(page, err)
		}
		preview.Late = true                           // the preview had no problem in these rows, so somebody has changed the shop since
		if rows, err = sheet.readRows(); err != nil { // again, because the import has changed them
			return x.showImport(page, err)
		}
	}
	if preview.ImportPreview, err = p.Service.PreviewImport(x.r.Context(), x.caller(), rows, !page.Create, previewRows); err != nil {
		return x.showImport(page, err)
	}
	sheet.Left, sheet.LeftRows = newRowSet(preview.InvalidRows), len(preview.InvalidRows)
	preview.Checksum = sheet.checksum(!page.Create)
	page.Preview = preview
	return x.showImport(page, nil)
}

// leftOutRows sends the rows that have problems, or had them when the others were imported, with what to correct.
func (p *Pages) leftOutRows(x *exchange) error {
	slot, err := x.Limits.Acquire(x.r.Context(), admission.Imports, x.principal)
	if err != nil {
		return err
	}
	defer slot.Release()
	sheet, err := x.readSheet()
	if err != nil {
		return err
	}
	rows, err := sheet.Read(sheet.Reading)
	if err != nil {
		return err
	}
	numbers, reasons := map[int]int{}, map[int]string{}
	_, left := rowSet(x.field("left")).split(rows)
	for _, i := range left {
		numbers[rows[i].Line], reasons[sheet.Reading.From+i] = i, "This row can be imported now."
	}
	preview, err := p.Service.PreviewImport(x.r.Context(), x.caller(), rows, x.field("mode") != "create", len(rows))
	if err != nil {
		return err
	}
	for _, row := range preview.Problems {
		if i, wanted := numbers[row.Line]; wanted {
			reasons[sheet.Reading.From+i] = strings.Join(p.importProblems(sheet, row), " ")
		}
	}
	return x.streamCSV("rows-to-correct.csv", nil, func(_ context.Context, send func([]byte) error) error { return sheet.LeftOut(reasons, send) })
}

// readSheet reads the form with the file and acquires a slot. The file as it was sent is not kept, because its text may need
// as much memory again.
func (x *exchange) readSheet() (*importSheet, error) {
	name, content, err := x.readFile()
	if err == nil {
		err = x.acquireSlot()
	}
	if err != nil {
		return nil, err
	}
	sheet, err := x.openSheet(name, content)
	if err == nil && !x.partial() && len(content) <= maxHeldBytes {
		sheet.Held = base64.StdEncoding.EncodeToString(content)
	}
	return sheet, err
}

// importOnce imports the animals only once, even if the form is sent several times.
func (x *exchange) importOnce(rows []shop.ImportRow, upsert bool, requestID string) (imported importCounts, err error) {
	by := x.caller()
	by.Request = x.request(requestID, "")
	by.Request.Response = func(result any) shop.StoredResponse {
		done := result.(shop.ImportResult)
		return shop.StoredResponse{Status: http.StatusOK, Body: fmt.Append(nil, done.Created, " ", done.Updated)}
	}
	result, err := x.Service.ImportPets(x.r.Context(), by, rows, shop.ImportOptions{Upsert: upsert})
	if replay, ok := errors.AsType[*shop.ReplayError](err); ok {
		fmt.Sscan(string(replay.Body), &imported.Created, &imported.Updated)
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
		"held-name": maxFieldBytes, "mode": maxFieldBytes, "sum": maxFieldBytes, "once": maxFieldBytes, "left": maxFieldBytes, "part": maxFieldBytes, "next": maxFieldBytes,
		"dates": maxFieldBytes, "all-category": maxFieldBytes, "all-status": maxFieldBytes, "currency": maxFieldBytes, "ignore": maxFieldBytes,
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
		if strings.HasPrefix(field, columnChoice) && len(field) <= maxChoiceName && len(x.r.PostForm) < maxChoices {
			limit, known = maxFieldBytes, true
		}
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
