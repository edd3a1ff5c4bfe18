package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"animalstore/client"
)

// exportCommand writes all animals to a file. The file appears under its name only when it is complete.
type exportCommand struct {
	apiFlags
	File    string `arg:"" help:"File to write; - is standard output."`
	Format  string `enum:",csv,ndjson" default:"" placeholder:"FORMAT" help:"csv or ndjson (default: by the file extension; csv for standard output)."`
	Include string `enum:",profile" default:"" placeholder:"WHAT" help:"profile adds what the shop says of each animal; its internal members and its profileEtag need a key with the scope pets:write."`
}

func (e *exportCommand) Run(ctx context.Context, t terminal) error {
	format := formatOf(e.Format, e.File)
	if format == "" && e.File != "-" {
		return usagef("the file name ends in neither .csv nor .ndjson; choose the format with --format")
	}
	if format == "" {
		format = client.CSV
	}
	c, err := e.newClient()
	if err != nil {
		return err
	}
	inventory, err := c.Inventory(ctx) // the progress bar needs the total number of animals
	if err != nil {
		return plainError(err)
	}
	to, finish, err := e.open(t)
	if err != nil {
		return err
	}
	of := inventory.Available + inventory.Pending + inventory.Sold + inventory.Unspecified
	counter := &recordCounter{out: to, csv: format == client.CSV, progress: newProgress(t.err, "Exporting", of)}
	var options []client.ExportOption
	if e.Include != "" {
		options = append(options, client.IncludeProfiles())
	}
	_, err = c.ExportFile(ctx, format, counter, options...)
	counter.progress.clear()
	if err = finish(err); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted: nothing was written")
		}
		return plainError(err)
	}
	if format == client.CSV {
		counter.records-- // the first record is the header
	}
	_, err = fmt.Fprintf(t.err, "Exported %s.\n", count(counter.records, "animal"))
	return err
}

// open returns a writer for the export and a function that completes it. The writer usually writes to a temporary file
// in the target's directory. finish renames this file to the target or, if there was an error, removes it. If the
// target is standard output, a pipe or a device, the writer writes to the target itself.
func (e *exportCommand) open(t terminal) (to io.Writer, finish func(error) error, err error) {
	if e.File == "-" {
		return t.out, func(err error) error { return err }, nil
	}
	target := e.File
	if real, err := filepath.EvalSymlinks(target); err == nil {
		target = real
	}
	mode := os.FileMode(0o600) // only the owner may read the file, because it contains the whole catalogue
	if info, err := os.Stat(target); err == nil {
		if mode = info.Mode().Perm(); info.IsDir() {
			return nil, nil, usagef("%s is a directory", e.File)
		}
		if !info.Mode().IsRegular() { // a pipe or a device must be written to, not replaced
			file, err := os.OpenFile(target, os.O_WRONLY, 0)
			if err != nil {
				return nil, nil, usagef("%w", err)
			}
			return file, func(err error) error { return errors.Join(err, file.Close()) }, nil
		}
	}
	part := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+rand.Text()[:8]+".part")
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if why, ok := errors.AsType[*os.PathError](err); ok {
		return nil, nil, usagef("cannot write to the directory of %s: %w", e.File, why.Err)
	} else if err != nil {
		return nil, nil, err
	}
	return file, func(err error) error {
		if err == nil {
			err = file.Sync()
		}
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err == nil {
			err = os.Rename(part, target)
		}
		if err != nil {
			os.Remove(part)
		}
		return err
	}, nil
}

// recordCounter counts the records that it writes, each of which is one animal. In NDJSON, each line is a record. In CSV, a
// quoted value may have several lines.
type recordCounter struct {
	out      io.Writer
	csv      bool
	records  int
	inQuotes bool
	progress *progress
}

func (c *recordCounter) Write(p []byte) (int, error) {
	n := 0
	for rest := p; ; {
		i := bytes.IndexAny(rest, "\"\n")
		if i < 0 {
			break
		}
		if rest[i] == '"' {
			c.inQuotes = c.csv && !c.inQuotes
		} else if !c.inQuotes {
			n++
		}
		rest = rest[i+1:]
	}
	c.records += n
	c.progress.add(n)
	return c.out.Write(p)
}
