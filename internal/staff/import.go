package staff

import (
	"bytes"
	"context"
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
	// exportsAtOnce is how many exports a node writes at a time: they read all that there is.
	exportsAtOnce = 8
	// shownRows is how many rows of a file are shown, of those that are good and of those that are bad.
	shownRows, shownBadRows = 8, 100
)

// importPage is what the page of imports and exports shows.
type importPage struct {
	Problem string
	Done    string
	Preview *preview
}

// preview is a file as it would be imported. Nothing is written.
type preview struct {
	Name  string // of the file
	Sum   string // of its content: only what was looked at is imported
	Once  string // names the import, so that it happens once
	Rows  []shop.ImportRow
	Bad   []shop.ImportRow
	Total int
	NBad  int
}

func (p *Pages) importForm(v *visit) error {
	return v.show(http.StatusOK, "import", "Import and export", importPage{})
}

// importPets looks at a file and shows what would come of it, or imports it where just this file was looked at before.
func (p *Pages) importPets(v *visit) error {
	select {
	case p.imports <- struct{}{}:
		defer func() { <-p.imports }()
	default:
		return shop.Errorf(shop.Unavailable, "Too many files are being imported at once; try again shortly.")
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
	shown := &preview{Name: name, Sum: hex.EncodeToString(sum[:]), Once: rand.Text(), Total: len(rows)}
	if once := v.field("once"); v.field("sum") == shown.Sum && once != "" {
		imported, err := v.importOnce(rows, sum, once)
		if err != nil {
			return v.showImport(importPage{}, err)
		}
		return v.showImport(importPage{Done: imported}, nil)
	}
	bad, err := p.Service.CheckImport(v.r.Context(), rows)
	if err != nil {
		return v.showImport(importPage{}, err)
	}
	shown.NBad, shown.Bad, shown.Rows = len(bad), bad[:min(len(bad), shownBadRows)], rows[:min(len(rows), shownRows)]
	return v.showImport(importPage{Preview: shown}, nil)
}

// importOnce imports the animals, however often somebody presses the button.
func (v *visit) importOnce(rows []shop.ImportRow, sum [32]byte, once string) (imported string, err error) {
	ctx := shop.WithIdempotency(v.context(), &shop.IdempotentRequest{
		Principal: v.principal.ID(), Key: "staff-import-" + once[:min(len(once), 64)], Fingerprint: sum,
		Response: func(result any) shop.StoredResponse {
			return shop.StoredResponse{Status: http.StatusOK, Body: []byte(strconv.Itoa(result.(shop.ImportResult).Created))}
		},
	})
	done, err := v.Service.ImportPets(ctx, rows, false)
	if replay, ok := errors.AsType[*shop.ReplayError](err); ok {
		return string(replay.Body), nil
	}
	return strconv.Itoa(done.Created), err
}

// showImport answers with the page, or with the part below its form.
func (v *visit) showImport(page importPage, err error) error {
	status := http.StatusOK
	if err != nil {
		if page.Problem = problemOf(err); page.Problem == "" {
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
		return "", nil, shop.Errorf(shop.PayloadTooLarge, "The file is too large; it may have %d MiB.", maxImport>>20)
	}
	if err != nil {
		return "", nil, shop.Errorf(shop.InvalidParameter, "The form cannot be read; open the page again and send it from there.")
	}
	defer v.r.MultipartForm.RemoveAll()
	control.SetReadDeadline(time.Time{})
	v.w.BodyRead()
	v.r.PostForm = v.r.MultipartForm.Value
	file, header, err := v.r.FormFile("file")
	if err != nil {
		return "", nil, shop.Errorf(shop.ValidationFailed, "Choose a file.")
	}
	defer file.Close()
	content, err = io.ReadAll(file)
	return header.Filename, content, err
}

// exportPets gives out all animals as a file. What goes wrong after the beginning cuts it off, so that nobody takes it for
// whole.
func (p *Pages) exportPets(v *visit) error {
	select {
	case p.exports <- struct{}{}:
		defer func() { <-p.exports }()
	default:
		return shop.Errorf(shop.Unavailable, "Too many files are being written at once; try again shortly.")
	}
	v.leave()
	ctx, cancel := context.WithCancel(v.r.Context())
	defer cancel()
	defer context.AfterFunc(p.running, cancel)()
	control := http.NewResponseController(v.w)
	piece := bytes.NewBuffer(petcsv.AppendHeader(nil))
	checked := time.Now()
	send := func() error {
		if !v.w.Started() {
			v.w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
			v.w.Header().Set("Content-Disposition", `attachment; filename="animals.csv"`)
			v.w.WriteHeader(http.StatusOK)
		}
		control.SetWriteDeadline(time.Now().Add(answerTimeout)) // what has no deadline needs none
		_, err := piece.WriteTo(v.w)
		return err
	}
	err := p.Service.ExportPets(ctx, func(pets []shop.Pet) error {
		if time.Since(checked) >= liveCheck {
			checked = time.Now()
			if err := v.identify(); err != nil {
				return err
			}
		}
		for _, pet := range pets {
			piece.Write(petcsv.Append(nil, pet))
		}
		return send()
	})
	if err == nil {
		err = send()
	}
	return err
}
