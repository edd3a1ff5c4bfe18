package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
)

// importCommand imports the animals in a file through the API of a running service. With --mode upsert, it also
// changes existing animals. It checks the whole file before it imports anything. An import can be repeated safely,
// because the idempotency key for each chunk is derived from the file's content.
type importCommand struct {
	apiFlags
	File   string `arg:"" help:"CSV or NDJSON file to import; - is standard input."`
	Format string `enum:",csv,ndjson" default:"" placeholder:"FORMAT" help:"csv or ndjson (default: by the file extension or content)."`
	Mode   string `enum:"create,upsert" default:"create" placeholder:"MODE" help:"create ignores ids and adds every animal; upsert changes the animals that have an id and an etag, as in an exported file, and adds the others (default create)."`
	DryRun bool   `name:"dry-run" help:"Only check the file."`
	Again  bool   `help:"Add the animals even if this file was imported within the last 24 hours."`
}

// Run imports the file and prints how many animals it added and changed.
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
	run := &importRun{ctx: ctx, client: c, file: file, format: formatOf(i.Format, i.File), upsert: i.Mode == "upsert", resume: !i.Again && !i.DryRun, out: t.err}
	if err = run.setKeyPrefix(); err == nil {
		err = run.check()
	}
	if err != nil {
		return i.failed(ctx, err)
	}
	if i.Again {
		run.keyPrefix += "-" + rand.Text()
	}
	if run.preview.IgnoredIDs > 0 {
		fmt.Fprintf(t.err, "The ids in the file are ignored: %s with an id will be new; use --mode upsert to change the existing ones.\n",
			count(run.preview.IgnoredIDs, "animal"))
	}
	if i.DryRun {
		_, err = fmt.Fprintln(t.out, run.forecast())
		return err
	}
	err = run.write()
	if imported := run.created + run.updated + run.replayed; err != nil && imported > 0 {
		return fmt.Errorf("%w; %s of %d were imported before that: "+
			"run the command again within 24 hours, with the same file and key, to continue without duplicates",
			i.failed(ctx, err), count(imported, "animal"), run.animals)
	}
	if err != nil {
		return i.failed(ctx, err)
	}
	if run.replayed > 0 && run.upsert {
		fmt.Fprintf(t.err, "Skipped %s that had been imported from this file before.\n", count(run.replayed, "animal"))
	} else if run.replayed > 0 {
		fmt.Fprintf(t.err, "Skipped %s that had been imported from this file before; use --again to add them anyway.\n",
			count(run.replayed, "animal"))
	}
	_, err = fmt.Fprintln(t.out, run.summary())
	return err
}

func (i *importCommand) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return fmt.Errorf("%s: %w", i.File, plainError(err))
}

// open opens the file so that it can be read twice. If the input is a stream, open first copies it to a temporary
// file.
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
	// If the context ends, closing the file interrupts a read that is waiting for input.
	defer context.AfterFunc(ctx, func() { file.Close() })()
	if _, err = io.Copy(temp, file); err != nil {
		closeFile()
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		return nil, nil, err
	}
	return temp, closeFile, nil
}
