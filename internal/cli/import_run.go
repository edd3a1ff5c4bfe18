package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"time"

	"animalstore/client"
)

// importRun holds the state of one import.
type importRun struct {
	ctx              context.Context
	client           *client.Client
	file             *os.File
	format           client.Format
	upsert           bool      // whether rows with an id change existing animals
	resume           bool      // whether a chunk counts as valid if an earlier run has already imported it
	out              io.Writer // where the progress is printed
	keyPrefix        string    // the beginning of each chunk's idempotency key
	chunks           [][sha256.Size]byte
	animals          int                  // the number of animals in the file
	lines            map[int64]int        // the line number in the file at which each id occurs
	preview          client.ImportPreview // the sum of the previews of all chunks
	created, updated int
	replayed         int    // the number of animals that had already been imported from the same file
	waitsFor         string // why the import waits, as the user has been told
}

// forEachChunk calls fn with each chunk of the file.
func (r *importRun) forEachChunk(fn func(n int, c chunk) error) error {
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	chunks, err := newChunker(r.file, r.format)
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

// setKeyPrefix derives the idempotency keys from the content of the file, so that importing the same file twice
// changes the store only once.
func (r *importRun) setKeyPrefix() error {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r.file, 0, math.MaxInt64)); err != nil {
		return err
	}
	r.keyPrefix = "import-"
	if r.upsert {
		r.keyPrefix = "upsert-"
	}
	r.keyPrefix += hex.EncodeToString(sum.Sum(nil))
	return nil
}

// options returns the options for the request that imports a chunk.
func (r *importRun) options(n int) []client.PostOption {
	options := []client.PostOption{client.IdempotencyKey(fmt.Sprintf("%s-%d", r.keyPrefix, n))}
	if r.upsert {
		options = append(options, client.Upsert())
	}
	return options
}

// check asks the service to check every chunk and records the checksum of each chunk.
func (r *importRun) check() error {
	bar := newProgress(r.out, "Checking", r.estimate())
	defer bar.clear()
	r.lines = map[int64]int{}
	return r.forEachChunk(func(n int, c chunk) error {
		if err := r.checkChunk(n, c); err != nil {
			return shiftLines(err, c.lineOffset)
		}
		r.chunks = append(r.chunks, sha256.Sum256(c.content))
		r.animals += c.animals
		bar.add(c.animals)
		return nil
	})
}

func (r *importRun) checkChunk(n int, c chunk) error {
	var options []client.PostOption
	if r.upsert {
		options = []client.PostOption{client.Upsert()}
	}
	preview, err := r.client.CheckFile(r.ctx, r.format, c.content, options...)
	if client.IsCode(err, client.CodeValidationFailed) && r.upsert && r.resume {
		// If an earlier run has imported this chunk, the check fails, because that run has changed the animals. The
		// following request then replays the response to the earlier import. If no earlier run has imported the chunk,
		// the service refuses the request for the same reason as the check.
		if _, replayErr := r.client.ImportFile(r.ctx, r.format, c.content, r.options(n)...); replayErr == nil {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	r.preview.Created += preview.Created
	r.preview.Updated += preview.Updated
	r.preview.IgnoredIDs += preview.IgnoredIDs
	if !r.upsert {
		return nil
	}
	// Look for ids that occur in more than one chunk. The service detects an id that occurs twice in one chunk. An id
	// that occurs again in a later chunk would be refused only after the earlier chunk had been imported.
	for id, line := range c.ids(r.format) {
		if first := r.lines[id]; first > 0 {
			return fmt.Errorf("nothing was imported because line %d has the same id as line %d", line, first)
		}
		r.lines[id] = line
	}
	return nil
}

// forecast says what the import would do.
func (r *importRun) forecast() string {
	if r.upsert {
		return fmt.Sprintf("The file can be imported. It adds %s and changes %s.", count(r.preview.Created, "animal"), count(r.preview.Updated, "animal"))
	}
	return count(r.animals, "animal") + " can be imported."
}

// summary says what the import has done.
func (r *importRun) summary() string {
	if r.upsert {
		return fmt.Sprintf("Added %s and changed %s.", count(r.created, "animal"), count(r.updated, "animal"))
	}
	return fmt.Sprintf("Imported %s.", count(r.created, "animal"))
}

// estimate estimates the number of animals in the file from its size and its first lines.
func (r *importRun) estimate() int64 {
	info, err := r.file.Stat()
	if err != nil {
		return 0
	}
	sample := make([]byte, 64<<10)
	n, _ := r.file.ReadAt(sample, 0) // ReadAt returns an error if the file is shorter, but a short file is allowed
	lines := bytes.Count(sample[:n], newline)
	return info.Size() * int64(lines) / int64(max(1, n))
}

var errFileChanged = errors.New("the file changed while it was being read")

// write imports all chunks that were checked. Each chunk has its own idempotency key.
func (r *importRun) write() error {
	bar := newProgress(r.out, "Importing", int64(r.animals))
	defer bar.clear()
	return r.forEachChunk(func(n int, c chunk) error {
		if n >= len(r.chunks) || sha256.Sum256(c.content) != r.chunks[n] {
			return errFileChanged
		}
		imported, err := r.importChunk(n, c)
		if err != nil {
			return shiftLines(err, c.lineOffset)
		}
		if imported.Replayed {
			r.replayed += imported.Created + imported.Updated
		} else {
			r.created, r.updated = r.created+imported.Created, r.updated+imported.Updated
		}
		bar.add(c.animals)
		return nil
	})
}

// maxPatience is how long an import waits until the service accepts the next chunk. There is no limit for all chunks
// together, because every chunk that is accepted shows that the service catches up.
const maxPatience = 30 * time.Minute

// importChunk imports a chunk. If the service refuses the chunk for now, for example because too many animals wait for its
// search index, importChunk says why, waits as long as the service asks, and tries again.
func (r *importRun) importChunk(n int, c chunk) (client.Imported, error) {
	for begin := time.Now(); ; {
		imported, err := r.client.ImportFile(r.ctx, r.format, c.content, r.options(n)...)
		e, refused := errors.AsType[*client.Error](err)
		temporary := refused && (e.Code == client.CodeUnavailable || e.Code == client.CodeRateLimited)
		if !temporary || time.Since(begin) > maxPatience {
			return imported, err
		}
		if r.waitsFor != e.Message {
			r.waitsFor = e.Message
			fmt.Fprintf(r.out, "Waiting for the service: %s\n", e.Message)
		}
		select {
		case <-time.After(max(e.RetryAfter, time.Second)):
		case <-r.ctx.Done():
			return imported, r.ctx.Err()
		}
	}
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
