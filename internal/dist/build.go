package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"animalstore/internal/version"
)

// platform is the operating system and architecture of a binary, in the form of GOOS and GOARCH.
type platform struct{ os, arch string }

// release holds one binary and the files that are shipped with it.
type release struct {
	platform platform
	info     *debug.BuildInfo
	version  string    // the version without the leading "v"
	time     time.Time // the time of the commit, so that the output is reproducible
	binary   []byte
	licences []byte
	sbom     []byte
}

// file is a file to pack. Its mode is set explicitly and does not depend on the checked-out files.
type file struct {
	name    string
	content []byte
	mode    int64
}

// build builds the binary for a platform. It also determines the binary's components and their licences.
func build(p platform) (*release, error) {
	dir, err := os.MkdirTemp("", "animalstore-dist-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "animalstore")
	// Without debug symbols, the binary is a third smaller. Stack traces and profiles do not need these
	// symbols.
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", path, "./cmd/animalstore")
	command.Env = append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0",
		"GOFLAGS=-mod=readonly", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off")
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("go build for %s/%s: %w", p.os, p.arch, err)
	}
	r := &release{platform: p}
	if r.binary, err = os.ReadFile(path); err != nil {
		return nil, err
	}
	if r.info, err = buildinfo.Read(bytes.NewReader(r.binary)); err != nil {
		return nil, err
	}
	if r.version, r.time, err = readVersion(r.info, version.Number); err != nil {
		return nil, err
	}
	components, err := listComponents(r.info)
	if err != nil {
		return nil, err
	}
	r.licences = joinLicences(components)
	r.sbom, err = r.makeSBOM(components)
	return r, err
}

// pseudoVersion matches the version that Go records for a commit without a tag.
var pseudoVersion = regexp.MustCompile(`[-.]\d{14}-[0-9a-f]{12}$`)

// readVersion returns the version of a binary and the time of its commit. release is the expected version. readVersion
// fails if the commit has a tag for another version.
func readVersion(info *debug.BuildInfo, release string) (version string, at time.Time, err error) {
	for _, setting := range info.Settings {
		if setting.Key == "vcs.time" {
			at, err = time.Parse(time.RFC3339, setting.Value)
		}
	}
	recorded, changed := strings.CutSuffix(info.Main.Version, "+dirty")
	if err != nil || at.IsZero() || !strings.HasPrefix(recorded, "v") {
		return "", at, errors.New("the binary has no commit information: run dist in a git clone of the repository")
	}
	if tag := recorded[1:]; tag != release && !pseudoVersion.MatchString(tag) {
		return "", at, fmt.Errorf("the commit has the tag v%s, but internal/version and CHANGELOG.md say %s", tag, release)
	}
	if changed {
		release += "+dirty"
	}
	return release, at, nil
}

// name returns the file name, without extension, for the release's archive and SBOM.
func (r *release) name() string {
	return fmt.Sprintf("animalstore_%s_%s_%s", r.version, r.platform.os, r.platform.arch)
}

// files returns the files to pack into the archive.
func (r *release) files() ([]file, error) {
	program := "animalstore"
	if r.platform.os == "windows" {
		program += ".exe"
	}
	files := []file{
		{program, r.binary, 0o755},
		{"THIRD_PARTY_LICENSES.txt", r.licences, 0o644},
		{"sbom.cdx.json", r.sbom, 0o644},
	}
	for _, name := range []string{"README.md", "CHANGELOG.md", "LICENSE"} {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, content, 0o644})
	}
	return files, nil
}
