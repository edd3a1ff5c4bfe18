package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"regexp"
	"strconv"

	"animalstore/client"
)

// importCommand brings the animals of a file into a store. All of it is checked before any of it is written; what is written
// can be written again without harm, because each chunk has a key made of the file's content.
type importCommand struct {
	apiFlags
	File   string `arg:"" help:"The file, CSV or NDJSON; - is the standard input."`
	Format string `enum:",csv,ndjson" default:"" placeholder:"FORMAT" help:"csv or ndjson (default: what the file's name or its beginning says)."`
	DryRun bool   `name:"dry-run" help:"Only check the file."`
	Again  bool   `help:"Add the animals also where this file was imported within the last 24 hours."`
}

// Run prints how many animals were added.
func (i *importCommand) Run(ctx context.Context, t terminal) error {
	c, err := i.newClient()
	if err != nil {
		return err
	}
	file, closeFile, err := i.open(ctx)
	if err != nil {
		return err
	}
	defer closeFile()
	run := &importRun{ctx: ctx, client: c, file: file, format: formatOf(i.Format, i.File), out: t.err}
	if err := run.check(); err != nil {
		return i.failed(ctx, err)
	}
	if i.DryRun {
		_, err = fmt.Fprintf(t.out, "%s can be imported.\n", countAnimals(run.animals))
		return err
	}
	if i.Again {
		run.keyPrefix += "-" + rand.Text()
	}
	err = run.write()
	if err != nil && run.created > 0 {
		return fmt.Errorf("%w; until then %s of %d were imported: run it again within 24 hours, with the same file and key, and it goes on and adds nothing twice",
			i.failed(ctx, err), countAnimals(run.created), run.animals)
	}
	if err != nil {
		return i.failed(ctx, err)
	}
	if run.replayed > 0 {
		fmt.Fprintf(t.err, "Of this file, %s had been imported before; they are not added twice, unless --again says so.\n", countAnimals(run.replayed))
	}
	_, err = fmt.Fprintf(t.out, "Imported %s.\n", countAnimals(run.created-run.replayed))
	return err
}

func (i *importCommand) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return fmt.Errorf("%s: %w", i.File, plainError(err))
}

// open opens the file so that it can be read twice; what comes in a stream is put aside first.
func (i *importCommand) open(ctx context.Context) (_ *os.File, closeFile func(), err error) {
	file := os.Stdin
	if i.File != "-" {
		if file, err = os.Open(i.File); err != nil {
			return nil, nil, usagef("%w", err)
		}
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		file.Close()
		return nil, nil, err
	case info.IsDir():
		file.Close()
		return nil, nil, usagef("%s is a folder", i.File)
	case info.Mode().IsRegular() && i.File != "-":
		return file, func() { file.Close() }, nil
	}
	defer file.Close()
	aside, err := os.CreateTemp("", "animalstore-import-")
	if err != nil {
		return nil, nil, err
	}
	closeFile = func() {
		aside.Close()
		os.Remove(aside.Name())
	}
	defer context.AfterFunc(ctx, func() { file.Close() })() // who waits for input can be interrupted
	if _, err = io.Copy(aside, file); err != nil {
		closeFile()
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		return nil, nil, err
	}
	return aside, closeFile, nil
}

// importRun is one import on its way.
type importRun struct {
	ctx       context.Context
	client    *client.Client
	file      *os.File
	format    client.Format
	out       io.Writer // where progress is shown
	keyPrefix string    // of the file, by its content
	chunks    [][sha256.Size]byte
	animals   int // in the file
	created   int
	replayed  int // of these, by an import before this one
}

// forEachChunk calls a function with each chunk of the file. All that it reads goes through sum, too, where there is one.
func (w *importRun) forEachChunk(sum hash.Hash, fn func(n int, c chunk) error) error {
	if _, err := w.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var in io.Reader = w.file
	if sum != nil {
		in = io.TeeReader(in, sum)
	}
	chunks, err := newChunker(in, w.format)
	if err != nil {
		return err
	}
	w.format = chunks.format
	for n := 0; ; n++ {
		c, err := chunks.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = fn(n, c)
		}
		if err != nil {
			return err
		}
	}
}

// check lets the service check every chunk, and takes down what is in the file.
func (w *importRun) check() error {
	bar := newProgress(w.out, "Checking", w.estimate())
	defer bar.clear()
	sum := sha256.New()
	err := w.forEachChunk(sum, func(_ int, c chunk) error {
		if err := w.client.CheckFile(w.ctx, w.format, c.content); err != nil {
			return shiftLines(err, c.lineOffset)
		}
		w.chunks = append(w.chunks, sha256.Sum256(c.content))
		w.animals += c.animals
		bar.add(c.animals)
		return nil
	})
	w.keyPrefix = "import-" + hex.EncodeToString(sum.Sum(nil))
	return err
}

// estimate is about how many animals are in the file, going by its size.
func (w *importRun) estimate() int64 {
	info, err := w.file.Stat()
	if err != nil {
		return 0
	}
	begin := make([]byte, 64<<10)
	n, _ := w.file.ReadAt(begin, 0)
	var lines int64
	for _, b := range begin[:n] {
		if b == '\n' {
			lines++
		}
	}
	return info.Size() * lines / int64(max(1, n))
}

var errFileChanged = errors.New("the file changed while it was read")

// write sends every chunk that was checked, each under a name of its own.
func (w *importRun) write() error {
	bar := newProgress(w.out, "Importing", int64(w.animals))
	defer bar.clear()
	return w.forEachChunk(nil, func(n int, c chunk) error {
		if n >= len(w.chunks) || sha256.Sum256(c.content) != w.chunks[n] {
			return errFileChanged
		}
		imported, err := w.client.ImportFile(w.ctx, w.format, c.content, client.IdempotencyKey(fmt.Sprintf("%s-%d", w.keyPrefix, n)))
		if err != nil {
			return shiftLines(err, c.lineOffset)
		}
		w.created += imported.Created
		if imported.Replayed {
			w.replayed += imported.Created
		}
		bar.add(c.animals)
		return nil
	})
}

var lineNumbers = regexp.MustCompile(`\bline (\d+):`)

// shiftLines makes the lines of the file out of those of a chunk.
func shiftLines(err error, shift int) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	shifted := *e
	shifted.Message = lineNumbers.ReplaceAllStringFunc(e.Message, func(text string) string {
		line, _ := strconv.Atoi(lineNumbers.FindStringSubmatch(text)[1])
		return fmt.Sprintf("line %d:", line+shift)
	})
	return &shifted
}
