package main

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"fmt"
	"os"
	"strings"
	"time"
)

// maintainer is the value of the Maintainer field in the Debian package.
const maintainer = "The animalstore maintainers <maintainers@animalstore.invalid>"

// debianFiles maps files in this repository to paths in the Debian package. Files in /etc are configuration
// files, so dpkg asks before it replaces one that the operator has changed.
var debianFiles = []struct {
	from, to string
	mode     int64
}{
	{"packaging/debian/animalstore.env", "etc/animalstore/animalstore.env", 0o640}, // the file may contain a password
	{"packaging/debian/animalstore.service", "usr/lib/systemd/system/animalstore.service", 0o644},
	{"packaging/debian/sysusers.conf", "usr/lib/sysusers.d/animalstore.conf", 0o644},
	{"packaging/debian/animalstore-admin", "usr/sbin/animalstore-admin", 0o755},
	{"packaging/animalstore.1", "usr/share/man/man1/animalstore.1.gz", 0o644},
	{"packaging/debian/animalstore-admin.8", "usr/share/man/man8/animalstore-admin.8.gz", 0o644},
	{"internal/cli/completion/animalstore.bash", "usr/share/bash-completion/completions/animalstore", 0o644},
	{"internal/cli/completion/animalstore.zsh", "usr/share/zsh/vendor-completions/_animalstore", 0o644},
	{"internal/cli/completion/animalstore.fish", "usr/share/fish/vendor_completions.d/animalstore.fish", 0o644},
	{"packaging/debian/copyright", "usr/share/doc/animalstore/copyright", 0o644},
	{"packaging/debian/lintian-overrides", "usr/share/lintian/overrides/animalstore", 0o644},
	{"CHANGELOG.md", "usr/share/doc/animalstore/CHANGELOG.md.gz", 0o644},
	{"docs/operating.md", "usr/share/doc/animalstore/operating.md.gz", 0o644},
	{"docs/installing.md", "usr/share/doc/animalstore/installing.md.gz", 0o644},
	{"docs/commands.md", "usr/share/doc/animalstore/commands.md.gz", 0o644},
}

// debian builds the Debian package. It does not use dpkg-deb, so it works on any system and its output is
// reproducible.
func (r *release) debian() (file, error) {
	version := debianVersion(r.version)
	files := []file{{"usr/bin/animalstore", r.binary, 0o755}}
	for _, f := range debianFiles {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return file{}, err
		}
		files = append(files, file{f.to, content, f.mode})
	}
	files = append(files,
		file{"usr/share/doc/animalstore/changelog.gz", fmt.Appendf(nil,
			"animalstore (%s) stable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- %s  %s\n", version, maintainer, r.time.UTC().Format(time.RFC1123Z)), 0o644},
		file{"usr/share/doc/animalstore/sbom.cdx.json.gz", r.sbom, 0o644},
		file{"usr/share/doc/animalstore/THIRD_PARTY_LICENSES.gz", r.licences, 0o644})
	size := 0
	var sums, conffiles bytes.Buffer
	for i := range files {
		if strings.HasSuffix(files[i].name, ".gz") {
			compressed, err := gzipBytes(files[i].content)
			if err != nil {
				return file{}, err
			}
			files[i].content = compressed
		}
		size += (len(files[i].content) + 1023) / 1024
		if strings.HasPrefix(files[i].name, "etc/") {
			fmt.Fprintf(&conffiles, "/%s\n", files[i].name)
		}
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(files[i].content), files[i].name)
	}
	control, err := os.ReadFile("packaging/debian/control")
	if err != nil {
		return file{}, err
	}
	controlFiles := []file{
		{"control", fmt.Appendf(nil, "Package: animalstore\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nInstalled-Size: %d\n%s",
			version, r.platform.arch, maintainer, size, control), 0o644},
		{"md5sums", sums.Bytes(), 0o644},
		{"conffiles", conffiles.Bytes(), 0o644},
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		content, err := os.ReadFile("packaging/debian/" + script)
		if err != nil {
			return file{}, err
		}
		controlFiles = append(controlFiles, file{script, content, 0o755})
	}
	controlTar, err := tarball("./", controlFiles, r.time)
	if err != nil {
		return file{}, err
	}
	dataTar, err := tarball("./", files, r.time)
	if err != nil {
		return file{}, err
	}
	members := []file{{"debian-binary", []byte("2.0\n"), 0o644}, {"control.tar.gz", controlTar, 0o644}, {"data.tar.gz", dataTar, 0o644}}
	return file{fmt.Sprintf("animalstore_%s_%s.deb", version, r.platform.arch), ar(members, r.time), 0o644}, nil
}

// debianVersion converts a version so that Debian and Go sort versions in the same order. For example,
// 1.1.0-rc.1 becomes 1.1.0~rc.1.
func debianVersion(version string) string {
	release, before, _ := strings.Cut(version, "-")
	if before == "" {
		return release
	}
	return release + "~" + strings.ReplaceAll(before, "-", ".")
}

// ar packs files into an ar archive, which is the container format for Debian packages.
func ar(files []file, at time.Time) []byte {
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	for _, f := range files {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", f.name, at.Unix(), 0, 0, 0o100000|f.mode, len(f.content))
		out.Write(f.content)
		if len(f.content)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

func gzipBytes(content []byte) ([]byte, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := compressed.Write(content); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
