package cli

import (
	"bytes"
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

// importCommand adds the animals in a file to a store. It checks the whole file before it imports anything.
// An import can be repeated safely, because the idempotency key for each chunk is derived from the file's
// content.
type importCommand struct {
	apiFlags
	File   string `arg:"" help:"CSV or NDJSON file to import; - is standard input."`
	Format string `enum:",csv,ndjson" default:"" placeholder:"FORMAT" help:"csv or ndjson (default: by the file extension or content)."`
	DryRun bool   `name:"dry-run" help:"Only check the file."`
	Again  bool   `help:"Add the animals even if this file was imported within the last 24 hours."`
}

// Run imports the file and prints how many animals it added.
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
		return fmt.Errorf("%w; %s of %d were imported before that: "+
			"run the command again within 24 hours, with the same file and key, to continue without duplicates",
			i.failed(ctx, err), countAnimals(run.created), run.animals)
	}
	if err != nil {
		return i.failed(ctx, err)
	}
	if run.replayed > 0 {
		fmt.Fprintf(t.err, "Skipped %s that had been imported from this file before; use --again to add them anyway.\n",
			countAnimals(run.replayed))
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

// open opens the file in such a way that it can be read twice. If the input is a stream, open first copies it
// to a temporary file.
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
	temp, err := os.CreateTemp("", "animalstore-import-")
	if err != nil {
		return nil, nil, err
	}
	closeFile = func() {
		temp.Close()
		os.Remove(temp.Name())
	}
	defer context.AfterFunc(ctx, func() { file.Close() })() // interrupts a read that is waiting for input
	if _, err = io.Copy(temp, file); err != nil {
		closeFile()
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		return nil, nil, err
	}
	return temp, closeFile, nil
}

// importRun holds the state of one import.
type importRun struct {
	ctx       context.Context
	client    *client.Client
	file      *os.File
	format    client.Format
	out       io.Writer // where the progress is printed
	keyPrefix string    // the beginning of each chunk's idempotency key
	chunks    [][sha256.Size]byte
	animals   int // the number of animals in the file
	created   int
	replayed  int // how many of the created animals had already been added by an earlier import
}

// forEachChunk calls fn with each chunk of the file. It also adds the content of the file to sum, unless sum
// is nil.
func (r *importRun) forEachChunk(sum hash.Hash, fn func(n int, c chunk) error) error {
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var in io.Reader = r.file
	if sum != nil {
		in = io.TeeReader(in, sum)
	}
	chunks, err := newChunker(in, r.format)
	if err != nil {
		return err
	}
	r.format = chunks.format
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

// check asks the service to check every chunk and records the checksum of each chunk.
func (r *importRun) check() error {
	bar := newProgress(r.out, "Checking", r.estimate())
	defer bar.clear()
	sum := sha256.New()
	err := r.forEachChunk(sum, func(_ int, c chunk) error {
		if err := r.client.CheckFile(r.ctx, r.format, c.content); err != nil {
			return shiftLines(err, c.lineOffset)
		}
		r.chunks = append(r.chunks, sha256.Sum256(c.content))
		r.animals += c.animals
		bar.add(c.animals)
		return nil
	})
	r.keyPrefix = "import-" + hex.EncodeToString(sum.Sum(nil))
	return err
}

// estimate estimates the number of animals in the file from its size and its first lines.
func (r *importRun) estimate() int64 {
	info, err := r.file.Stat()
	if err != nil {
		return 0
	}
	sample := make([]byte, 64<<10)
	n, _ := r.file.ReadAt(sample, 0) // ReadAt returns an error if the file is shorter, which is allowed
	lines := bytes.Count(sample[:n], newline)
	return info.Size() * int64(lines) / int64(max(1, n))
}

var errFileChanged = errors.New("the file changed while it was being read")

// write imports all chunks that were checked. Each chunk has its own idempotency key.
func (r *importRun) write() error {
	bar := newProgress(r.out, "Importing", int64(r.animals))
	defer bar.clear()
	return r.forEachChunk(nil, func(n int, c chunk) error {
		if n >= len(r.chunks) || sha256.Sum256(c.content) != r.chunks[n] {
			return errFileChanged
		}
		imported, err := r.client.ImportFile(r.ctx, r.format, c.content, client.IdempotencyKey(fmt.Sprintf("%s-%d", r.keyPrefix, n)))
		if err != nil {
			return shiftLines(err, c.lineOffset)
		}
		r.created += imported.Created
		if imported.Replayed {
			r.replayed += imported.Created
		}
		bar.add(c.animals)
		return nil
	})
}

var lineNumbers = regexp.MustCompile(`\bline (\d+):`)

// shiftLines changes the line numbers in an error message from lines in the chunk to lines in the file.
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
