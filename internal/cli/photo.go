package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"animalstore/client"
	"animalstore/internal/shop"
)

type photosCommands struct {
	exitCodesHelp
	List   photosList   `cmd:"" help:"List the photos of an animal in their order."`
	Add    photosAdd    `cmd:"" help:"Add photos to an animal."`
	Move   photosMove   `cmd:"" help:"Move a photo to another position."`
	Remove photosRemove `cmd:"" help:"Remove photos of an animal."`
}

type photosList struct {
	storeFlags
	Pet int64 `arg:"" help:"ID of the animal, as shown by pets list."`
}

func (p *photosList) Run(ctx context.Context, t terminal) error {
	return p.read(ctx, func(c *client.Client) error {
		photos, err := c.ListPhotos(ctx, p.Pet)
		if err != nil {
			return err
		}
		row := func(photo client.Photo) []string {
			return []string{formatInt(photo.ID), fmt.Sprint(photo.Position), photoSize(photo), photo.URLs.Large, orDash(photo.Alt)}
		}
		rows := newPrinter(t, p.outputFlag, row, "ID", "POSITION", "SIZE", "URL", "ALT")
		for _, photo := range photos {
			if err := rows.print(photo); err != nil {
				return err
			}
		}
		if len(photos) == 0 {
			fmt.Fprintf(t.err, "Animal %d has no photos yet.\n", p.Pet)
			return nil
		}
		return rows.flush()
	})
}

func photoSize(p client.Photo) string { return fmt.Sprintf("%d × %d", p.Width, p.Height) }

type photosAdd struct {
	storeFlags
	Pet   int64    `arg:"" help:"ID of the animal, as shown by pets list."`
	Files []string `arg:"" name:"file" help:"JPEG, PNG or WebP files of at most 15 MiB; added in this order."`
	Alt   *string  `placeholder:"TEXT" help:"What the photo shows, for people who cannot see it; only for a single file."`
}

func (p *photosAdd) Run(ctx context.Context, t terminal) error {
	if p.Alt != nil {
		if reason := shop.AltProblem(*p.Alt); reason != "" {
			return usagef("--alt %s", reason)
		}
		if len(p.Files) > 1 {
			return usagef("--alt: a text describes one photo; add them one at a time")
		}
	}
	for _, file := range p.Files {
		switch info, err := os.Stat(file); {
		case err != nil:
			return usagef("%w", err)
		case info.IsDir():
			return usagef("%s is a folder; expected a file", file)
		case info.Size() > client.MaxPhotoSize:
			return usagef("%s has %d bytes; a photo may have at most %d", file, info.Size(), int64(client.MaxPhotoSize))
		}
	}
	return p.write(ctx, func(c *client.Client) error {
		progress := newProgress(t.err, "Sending photos", int64(len(p.Files)))
		progress.items = "photos"
		defer progress.clear()
		code := exitOK
		for _, file := range p.Files {
			progress.add(0) // shows it while the file is sent
			photo, err := p.add(ctx, c, file)
			progress.clear()
			if refusal, isNoPhoto := errors.AsType[*client.Error](err); isNoPhoto && refusal.Code == client.CodeInvalidImage {
				// It does not stop the others.
				code = reportError(t.err, codedError{fmt.Errorf("%s: %s", filepath.Base(file), refusal.Message), exitRefused})
			} else if err != nil {
				return err
			} else if err := p.printResult(t, photo, "Added photo %d, %s.", photo.ID, filepath.Base(file)); err != nil {
				return err
			}
			progress.add(1)
		}
		if code != exitOK {
			return reportedError{code}
		}
		return nil
	})
}

func (p *photosAdd) add(ctx context.Context, c *client.Client, file string) (client.Photo, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return client.Photo{}, err
	}
	photo, err := c.AddPhoto(ctx, p.Pet, content)
	if err == nil && p.Alt != nil {
		photo, err = c.UpdatePhoto(ctx, p.Pet, photo.ID, client.PhotoUpdate{Alt: p.Alt})
	}
	return photo, err
}

type photosMove struct {
	storeFlags
	Pet      int64 `arg:"" help:"ID of the animal, as shown by pets list."`
	ID       int64 `arg:"" help:"ID of the photo, as shown by photos list."`
	Position int   `arg:"" help:"New position; 1 makes it the cover, and a number beyond the end the last."`
}

func (p *photosMove) Run(ctx context.Context, t terminal) error {
	if p.Position < 1 {
		return usagef("position %d is out of range; expected 1 or more", p.Position)
	}
	return p.write(ctx, func(c *client.Client) error {
		photo, err := c.UpdatePhoto(ctx, p.Pet, p.ID, client.PhotoUpdate{Position: &p.Position})
		if err != nil {
			return err
		}
		return p.printResult(t, photo, "Photo %d of animal %d is at position %d.", photo.ID, p.Pet, photo.Position)
	})
}

type photosRemove struct {
	storeFlags
	Pet int64   `arg:"" help:"ID of the animal, as shown by pets list."`
	IDs []int64 `arg:"" name:"id" help:"IDs of the photos, as shown by photos list."`
}

func (p *photosRemove) Run(ctx context.Context, t terminal) error {
	return p.write(ctx, func(c *client.Client) error {
		return forEachID(ctx, t, p.IDs, func(id int64) error {
			if err := c.DeletePhoto(ctx, p.Pet, id); err != nil {
				return err
			}
			return p.printDone(t, "Removed photo %d of animal %d.", id, p.Pet)
		})
	})
}
