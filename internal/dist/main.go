// Command dist builds the release files: an archive with a binary for each platform, Debian packages, SBOMs
// and checksums. Run it in the root directory of the repository. Its output depends only on the commit and
// the Go version, so anyone can reproduce the files and compare them.
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("out", "dist", "output folder; its content is replaced")
	wanted := flag.String("platforms", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64", "platforms to build for")
	unpacked := flag.Bool("unpacked", false, "write the content of the archives instead of the archives, for an image")
	flag.Parse()
	if err := run(*out, strings.Fields(*wanted), *unpacked); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(out string, wanted []string, unpacked bool) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	var sums bytes.Buffer
	add := func(f file) error {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.content), f.name)
		fmt.Println(f.name)
		return write(out, f)
	}
	for _, name := range wanted {
		goos, goarch, _ := strings.Cut(name, "/")
		release, err := build(platform{goos, goarch})
		if err != nil {
			return err
		}
		files, err := release.files()
		if err == nil && !unpacked {
			files, err = release.pack(files)
		}
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := add(f); err != nil {
				return err
			}
		}
	}
	if unpacked {
		return nil
	}
	return write(out, file{"SHA256SUMS", sums.Bytes(), 0o644})
}

// pack returns the files to publish for one platform.
func (r *release) pack(content []file) ([]file, error) {
	archive, ending := tarball, ".tar.gz"
	if r.platform.os == "windows" {
		archive, ending = zipArchive, ".zip"
	}
	packed, err := archive(r.name()+"/", content, r.time)
	if err != nil {
		return nil, err
	}
	made := []file{{r.name() + ending, packed, 0o644}, {r.name() + ".cdx.json", r.sbom, 0o644}}
	if r.platform.os != "linux" {
		return made, nil
	}
	debian, err := r.debian()
	return append(made, debian), err
}

func write(out string, f file) error {
	path := filepath.Join(out, f.name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(f.mode)
	if err := os.WriteFile(path, f.content, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // Chmod sets the mode regardless of the umask
}
