package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strconv"

	"animalstore/client"
	"animalstore/internal/petcsv"
)

const (
	// chunkAnimals is the maximum number of animals in one request. The service accepts twice as many, but
	// other writes would have to wait longer. Do not change this number, because all chunks would then get
	// different idempotency keys, and an import that is resumed after an upgrade would add animals twice.
	chunkAnimals = 5000
	// maxRecord is the maximum size of one animal in bytes. If a record is larger, a closing quote is
	// probably missing.
	maxRecord = 1 << 20
)

// chunk is a part of a file that can be imported on its own.
type chunk struct {
	content    []byte // valid until the next chunk is read
	animals    int    // an upper bound, because the service may treat some of these records as blank and skip them
	lineOffset int    // line n of the chunk is line n+lineOffset of the file
}

// chunker splits a file into chunks. Each chunk of a CSV file begins with the header.
type chunker struct {
	in      *bufio.Reader
	format  client.Format
	header  []byte
	lines   int    // the number of lines read so far
	pending []byte // a record that did not fit into the previous chunk
	buffer  []byte
	started bool
	ended   bool
}

func newChunker(in io.Reader, format client.Format) (*chunker, error) {
	c := &chunker{in: bufio.NewReaderSize(in, 64<<10), format: format}
	if c.format == "" {
		c.format = guessFormat(c.in)
	}
	for c.format == client.CSV && isBlankRecord(c.header) {
		record, err := c.readRecord()
		if err == io.EOF {
			c.ended = true
			break
		}
		if err != nil {
			return nil, err
		}
		c.header = append(c.header, record...)
	}
	return c, nil
}

// next returns the next chunk, or io.EOF after the last chunk. The first chunk may contain no animals, so
// that the service can reject a file without animals.
func (c *chunker) next() (chunk, error) {
	first := !c.started
	c.started = true
	c.buffer = append(c.buffer[:0], c.header...)
	next := chunk{lineOffset: c.lines - bytes.Count(c.pending, newline) - bytes.Count(c.header, newline)}
	for next.animals < chunkAnimals && !c.ended {
		record := c.pending
		c.pending = nil
		if record == nil {
			read, err := c.readRecord()
			if err == io.EOF {
				c.ended = true
				break
			}
			if err != nil {
				return chunk{}, err
			}
			record = read
		}
		if len(c.buffer)+len(record) > client.MaxImportSize {
			c.pending = bytes.Clone(record)
			break
		}
		c.buffer = append(c.buffer, record...)
		if !isBlankRecord(record) {
			next.animals++
		}
	}
	if next.animals == 0 && !first {
		return chunk{}, io.EOF
	}
	next.content = c.buffer
	return next, nil
}

// ids iterates over the ids in the chunk. Each id comes with its line number in the file.
func (c chunk) ids(format client.Format) iter.Seq2[int64, int] {
	return func(yield func(id int64, line int) bool) {
		if format == client.CSV {
			rows, _ := petcsv.ReadProfiles(c.content) // Read cannot fail, because the service has accepted the content
			for _, row := range rows {
				if row.ID != nil && !yield(*row.ID, row.Line+c.lineOffset) {
					return
				}
			}
			return
		}
		line := c.lineOffset
		for text := range bytes.SplitSeq(c.content, newline) {
			line++
			var pet struct{ ID json.Number }
			json.Unmarshal(text, &pet) // Unmarshal fails for a blank line, which has no id
			if id, err := strconv.ParseInt(pet.ID.String(), 10, 64); err == nil && !yield(id, line) {
				return
			}
		}
	}
}

var newline = []byte("\n")

func isBlankRecord(record []byte) bool { return len(bytes.Trim(record, " ,;\t\r\n\ufeff")) == 0 }

// readRecord reads the lines that describe one animal. In CSV, a quoted value may span several lines.
func (c *chunker) readRecord() ([]byte, error) {
	var record []byte
	start, quotes := c.lines+1, 0
	for {
		part, err := c.in.ReadSlice('\n')
		record = append(record, part...)
		quotes += bytes.Count(part, []byte(`"`))
		switch {
		case len(record) > maxRecord:
			return nil, fmt.Errorf("line %d: this animal is larger than %d bytes; is a closing quote missing?", start, maxRecord)
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(record) > 0:
			c.lines++
			return append(record, '\n'), nil
		case err != nil:
			return nil, err
		}
		c.lines++
		if c.format == client.CSV && quotes%2 == 1 {
			continue
		}
		return record, nil
	}
}
