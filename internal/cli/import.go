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

// importCommand adds the animals of a file to a store. It checks the whole file before it imports any of it.
// An import can be repeated safely, because the idempotency key of each chunk is derived from the content of
// the file.
type importCommand struct {
	apiFlags
	File   string `arg:"" help:"CSV or NDJSON file to import; - is standard input."`
	Format string `enum:",csv,ndjson" default:"" placeholder:"FORMAT" help:"csv or ndjson (default: by the file extension or content)."`
	DryRun bool   `name:"dry-run" help:"Only check the file."`
	Again  bool   `help:"Add the animals even if this file was imported within the last 24 hours."`
}

// Run prints how many animals it added.
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
		return fmt.Errorf("%w; %s of %d were imported before that: run the command again within 24 hours, with the same file and key, to continue without duplicates",
			i.failed(ctx, err), countAnimals(run.created), run.animals)
	}
	if err != nil {
		return i.failed(ctx, err)
	}
	if run.replayed > 0 {
		fmt.Fprintf(t.err, "Skipped %s that had been imported from this file before; use --again to add them anyway.\n", countAnimals(run.replayed))
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

// open opens the file for reading it twice. It copies a stream to a temporary file first.
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
		return nil, nil, usagef("%s is a directory", i.File)
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
	defer context.AfterFunc(ctx, func() { file.Close() })() // interrupts a read that waits for input
	if _, err = io.Copy(aside, file); err != nil {
		closeFile()
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		return nil, nil, err
	}
	return aside, closeFile, nil
}

// importRun is the state of one import.
type importRun struct {
	ctx       context.Context
	client    *client.Client
	file      *os.File
	format    client.Format
	out       io.Writer // for the progress
	keyPrefix string    // of the chunks' idempotency keys
	chunks    [][sha256.Size]byte
	animals   int // in the file
	created   int
	replayed  int // how many of the created animals an earlier import had added
}

// forEachChunk calls fn with each chunk of the file. It also writes the file to sum, unless that is nil.
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

// check has the service check every chunk, and records their checksums.
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

// estimate returns roughly how many animals the file has, judging by its size and its first lines.
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

var errFileChanged = errors.New("the file changed while it was being read")

// write imports every chunk that was checked, each with its own idempotency key.
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

// shiftLines converts the line numbers of a chunk in an error message to those of the file.
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
