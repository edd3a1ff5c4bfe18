package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"animalstore/internal/programtest"
)

// reloading is a certificate whose files the test replaces.
type reloading struct {
	t         *testing.T
	dir       string
	authority *programtest.Authority
	*Certificate
	log bytes.Buffer
}

// newReloading loads a certificate from files that replace has written.
func newReloading(t *testing.T, replace func(r *reloading, cert, key string)) *reloading {
	t.Helper()
	r := &reloading{t: t, dir: t.TempDir(), authority: programtest.NewAuthority(t)}
	cert, key := r.authority.Issue(time.Hour)
	replace(r, cert, key)
	var err error
	if r.Certificate, err = LoadCertificate(r.path("cert.pem"), r.path("key.pem")); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *reloading) path(name string) string { return filepath.Join(r.dir, name) }

func (r *reloading) write(name, content string) {
	r.t.Helper()
	if err := os.WriteFile(r.path(name), []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *reloading) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// look reads the files, as the server does every second.
func (r *reloading) look() { r.reload(slog.New(slog.NewTextHandler(&r.log, nil))) }

// serial returns the serial number of the certificate that new connections get.
func (r *reloading) serial() int64 {
	r.t.Helper()
	certificate, err := r.tlsConfig().GetCertificate(nil)
	r.must(err)
	return certificate.Leaf.SerialNumber.Int64()
}

func overwriteFiles(r *reloading, cert, key string) {
	r.write("cert.pem", cert)
	r.write("key.pem", key)
}

func renameFiles(r *reloading, cert, key string) { // replaces each file atomically
	r.write("new", cert)
	r.must(os.Rename(r.path("new"), r.path("cert.pem")))
	r.write("new", key)
	r.must(os.Rename(r.path("new"), r.path("key.pem")))
}

// relinkFiles replaces the files as Kubernetes updates mounted secrets.
func relinkFiles(r *reloading, cert, key string) {
	folder := fmt.Sprintf("..%d", r.authority.Last)
	r.must(os.Mkdir(r.path(folder), 0o700))
	r.write(folder+"/cert.pem", cert)
	r.write(folder+"/key.pem", key)
	for from, to := range map[string]string{"cert.pem": "..data/cert.pem", "key.pem": "..data/key.pem", "..new": folder} {
		if err := os.Symlink(to, r.path(from)); err != nil && !os.IsExist(err) {
			r.t.Fatal(err)
		}
	}
	r.must(os.Rename(r.path("..new"), r.path("..data")))
}

func TestReplacedCertificateIsLoaded(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(*reloading, string, string){"overwritten": overwriteFiles, "renamed": renameFiles, "linked": relinkFiles} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReloading(t, replace)
			for range 2 {
				replaced := r.serial()
				cert, key := r.authority.Issue(2 * time.Hour)
				replace(r, cert, key)
				if r.look(); r.serial() != r.authority.Last || r.serial() == replaced {
					t.Errorf("serial number: got %d, want %d", r.serial(), r.authority.Last)
				}
			}
			if got, want := r.Certificate.current.Load().Leaf.NotAfter, time.Now().Add(90*time.Minute); got.Before(want) {
				t.Errorf("the certificate expires at %v, want after %v", got, want)
			}
		})
	}
}

// If the files become unusable, the server keeps the certificate and logs each failure once.
func TestBrokenCertificateIsNotLoaded(t *testing.T) {
	t.Parallel()
	r := newReloading(t, overwriteFiles)
	first := r.serial()
	cert, _ := r.authority.Issue(time.Hour)
	_, otherKey := r.authority.Issue(time.Hour)
	for i, breakFiles := range []func(){
		func() { overwriteFiles(r, cert, otherKey) },
		func() { r.write("cert.pem", "no certificate") },
		func() { r.must(os.Remove(r.path("key.pem"))) },
	} {
		breakFiles()
		for look := range 4 {
			r.look()
			// The first look may have found files of which only one had been replaced yet.
			if n, want := strings.Count(r.log.String(), "cannot reload the certificate"), i+min(look, 1); n != want {
				t.Errorf("failure %d, look %d: got %d lines in the log, want %d", i, look, n, want)
			}
			if r.serial() != first {
				t.Errorf("failure %d: got the certificate %d, want %d", i, r.serial(), first)
			}
		}
		if !r.failing.Load() {
			t.Errorf("failure %d: the metric does not report it", i)
		}
	}
	cert, key := r.authority.Issue(time.Hour)
	overwriteFiles(r, cert, key)
	if r.look(); r.serial() != r.authority.Last || r.failing.Load() {
		t.Errorf("got the certificate %d, failing %v, want %d and false", r.serial(), r.failing.Load(), r.authority.Last)
	}
}
