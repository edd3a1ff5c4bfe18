package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sample() ([]file, time.Time) {
	return []file{{"usr/bin/a", []byte("program"), 0o755}, {"usr/share/b", []byte("text\n"), 0o640}},
		time.Date(2026, 11, 15, 10, 0, 0, 0, time.FixedZone("", 3600))
}

// must returns a function that returns the value, or fails the test if there is an error.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// entries returns the entries in a tarball, each as "mode owner time name content".
func entries(t *testing.T, packed []byte) (found []string) {
	t.Helper()
	archive := tar.NewReader(must(gzip.NewReader(bytes.NewReader(packed)))(t))
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return found
		}
		must(h, err)(t)
		text, at := must(io.ReadAll(archive))(t), h.ModTime.UTC().Format(time.RFC3339)
		found = append(found, fmt.Sprintf("%s %s %s %s %s", h.FileInfo().Mode(), h.Uname, at, h.Name, text))
	}
}

func TestTarball(t *testing.T) {
	t.Parallel()
	files, at := sample()
	want := []string{
		"drwxr-xr-x root 2026-11-15T09:00:00Z ./ ",
		"drwxr-xr-x root 2026-11-15T09:00:00Z ./usr/ ",
		"drwxr-xr-x root 2026-11-15T09:00:00Z ./usr/bin/ ",
		"-rwxr-xr-x root 2026-11-15T09:00:00Z ./usr/bin/a program",
		"drwxr-xr-x root 2026-11-15T09:00:00Z ./usr/share/ ",
		"-rw-r----- root 2026-11-15T09:00:00Z ./usr/share/b text\n",
	}
	if diff := cmp.Diff(want, entries(t, must(tarball("./", files, at))(t))); diff != "" {
		t.Error(diff)
	}
}

// The same files and the same time, even in another time zone, produce identical bytes.
func TestArchivesAreReproducible(t *testing.T) {
	t.Parallel()
	files, at := sample()
	for name, archive := range map[string]func(string, []file, time.Time) ([]byte, error){"tar": tarball, "zip": zipArchive} {
		if one, two := must(archive("a/", files, at))(t), must(archive("a/", files, at.UTC()))(t); !bytes.Equal(one, two) {
			t.Errorf("%s: two archives of the same files differ", name)
		}
	}
}

func TestZip(t *testing.T) {
	t.Parallel()
	files, at := sample()
	packed := must(zipArchive("a/", files, at))(t)
	archive := must(zip.NewReader(bytes.NewReader(packed), int64(len(packed))))(t)
	if f := archive.File[0]; len(archive.File) != 2 || f.Name != "a/usr/bin/a" || f.Mode() != 0o755 || !f.Modified.Equal(at) {
		t.Errorf("%+v", f)
	}
}

// The Debian package is a valid ar archive, contains the expected files and marks configuration files as
// such.
func TestDebianPackage(t *testing.T) {
	t.Chdir("../..")
	_, at := sample()
	r := &release{platform: platform{"linux", "arm64"}, version: "1.2.3-rc.1", time: at, binary: []byte("program")}
	made := must(r.debian())(t)
	if made.name != "animalstore_1.2.3~rc.1_arm64.deb" {
		t.Errorf("the package is named %s", made.name)
	}
	members := map[string][]byte{}
	rest, ok := bytes.CutPrefix(made.content, []byte("!<arch>\n"))
	for ok && len(rest) > 0 {
		header := strings.Fields(string(rest[:60]))
		size := must(strconv.Atoi(header[5]))(t)
		members[header[0]] = rest[60 : 60+size]
		rest = rest[60+size+size%2:]
	}
	if string(members["debian-binary"]) != "2.0\n" {
		t.Fatalf("not a Debian package: %q", made.content[:70])
	}
	content := strings.Join(append(entries(t, members["control.tar.gz"]), entries(t, members["data.tar.gz"])...), "")
	for _, want := range []string{
		"Version: 1.2.3~rc.1\n", "Architecture: arm64\n", "conffiles /etc/animalstore/animalstore.env\n",
		"./postinst #!/bin/sh\n", "  usr/bin/animalstore\n",
		"-rwxr-xr-x root 2026-11-15T09:00:00Z ./usr/bin/animalstore program",
		"-rw-r----- root 2026-11-15T09:00:00Z ./etc/animalstore/animalstore.env #",
		"-rw-r--r-- root 2026-11-15T09:00:00Z ./usr/share/bash-completion/completions/animalstore #",
		"-rw-r--r-- root 2026-11-15T09:00:00Z ./usr/share/zsh/vendor-completions/_animalstore #compdef animalstore\n",
		"-rw-r--r-- root 2026-11-15T09:00:00Z ./usr/share/fish/vendor_completions.d/animalstore.fish #",
	} {
		if !strings.Contains(content, want) {
			t.Errorf("%q is missing in %s", want, content)
		}
	}
}

// Debian sorts a tilde before the end of a version, so pre-releases come before their release.
func TestDebianVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"1.0.0": "1.0.0", "1.1.0-rc.1": "1.1.0~rc.1", "1.0.0+dirty": "1.0.0+dirty",
		"1.0.1-0.20261115100318-6dc91316aebe": "1.0.1~0.20261115100318.6dc91316aebe",
	} {
		if got := debianVersion(version); got != want {
			t.Errorf("%s became %s, want %s", version, got, want)
		}
	}
}

func TestReadVersion(t *testing.T) {
	t.Parallel()
	settings := []debug.BuildSetting{{Key: "vcs.time", Value: "2026-11-15T09:00:00Z"}}
	for recorded, want := range map[string]string{
		"v1.1.0": "1.1.0", "v1.1.0+dirty": "1.1.0+dirty", "v0.0.0-20261115100318-6dc91316aebe": "1.1.0",
		"v1.0.1-0.20261115100318-6dc91316aebe+dirty": "1.1.0+dirty", "v1.0.0": "", "(devel)": "",
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: recorded}, Settings: settings}
		version, at, err := readVersion(info, "1.1.0")
		if _, time := sample(); version != want || (err == nil) != (want != "") || !at.Equal(time) {
			t.Errorf("%s: got version %s, time %s, %v, want version %s", recorded, version, at, err, want)
		}
	}
	if _, _, err := readVersion(&debug.BuildInfo{Main: debug.Module{Version: "v1.1.0"}}, "1.1.0"); err == nil {
		t.Error("a binary without commit information was accepted")
	}
}

// The READMEs list the same versions of the embedded files as this package.
func TestEmbeddedFilesAreListed(t *testing.T) {
	t.Chdir("../..")
	for _, e := range embedded {
		readme := must(os.ReadFile(filepath.Join(e.dir, "README.md")))(t)
		row := strings.NewReplacer("` | ", "` ", "\n", " ").Replace(string(readme))
		if !strings.Contains(row, "`"+e.name+"` "+e.version) {
			t.Errorf("%s/README.md does not list %s %s", e.dir, e.name, e.version)
		}
	}
}

// The licences for Go, the modules and the embedded files are found and identified.
func TestLicencesAreIdentified(t *testing.T) {
	t.Chdir("../..")
	info := &debug.BuildInfo{GoVersion: "go1.26.0", Deps: []*debug.Module{
		{Path: "modernc.org/sqlite"}, {Path: "go.yaml.in/yaml/v3"}, {Path: "github.com/prometheus/client_golang"}, {Path: "github.com/yuin/goldmark"},
	}}
	components := must(listComponents(info))(t)
	got := map[string]string{}
	for _, p := range components {
		got[p.name] = strings.Join(p.licenceIDs, " ")
	}
	for name, want := range map[string]string{
		"stdlib": "BSD-3-Clause", "modernc.org/sqlite": "Apache-2.0 BSD-3-Clause MIT", "go.yaml.in/yaml/v3": "Apache-2.0 MIT",
		"github.com/yuin/goldmark": "MIT", "htmx.org": "0BSD",
	} {
		if got[name] != want {
			t.Errorf("%s has the licences %q, want %q", name, got[name], want)
		}
	}
	text := string(joinLicences(components))
	for _, want := range []string{"The Go Authors", "\nhtmx.org 2.0.11 (0BSD)\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text of the licences lacks %q", want)
		}
	}
	if ids := identifyLicences([]licenceFile{{"LICENSE", "Do what you want."}}); ids != nil {
		t.Errorf("an unknown licence was identified as %v", ids)
	}
}
