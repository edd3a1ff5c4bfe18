package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"animalstore/internal/programtest"
)

// reloading is a certificate whose files the test replaces.
type reloading struct {
	*programtest.Folder
	*Certificate
	authority *programtest.Authority
	log       bytes.Buffer
}

// newReloading calls replace to write the first two files and loads the certificate from them.
func newReloading(t *testing.T, replace func(r *reloading, cert, key string)) *reloading {
	t.Helper()
	r := &reloading{Folder: programtest.NewFolder(t), authority: programtest.NewAuthority(t)}
	cert, key := r.authority.Issue(time.Hour)
	replace(r, cert, key)
	var err error
	r.Certificate, err = LoadCertificate(r.Path("cert.pem"), r.Path("key.pem"))
	r.must(err)
	return r
}

func (r *reloading) must(err error) {
	r.T.Helper()
	if err != nil {
		r.T.Fatal(err)
	}
}

// look reads the files, as the server does every second.
func (r *reloading) look() { r.reload(slog.New(slog.NewTextHandler(&r.log, nil))) }

// serial returns the serial number of the certificate that new connections get.
func (r *reloading) serial() int64 {
	r.T.Helper()
	certificate, err := r.tlsConfig().GetCertificate(nil)
	r.must(err)
	return certificate.Leaf.SerialNumber.Int64()
}

func overwriteFiles(r *reloading, cert, key string) {
	r.Write("cert.pem", cert)
	r.Write("key.pem", key)
}

func renameFiles(r *reloading, cert, key string) { // renaming replaces each file atomically
	r.must(os.Rename(r.Write("new", cert), r.Path("cert.pem")))
	r.must(os.Rename(r.Write("new", key), r.Path("key.pem")))
}

// relinkFiles replaces the files in the way in which Kubernetes updates mounted secrets: it changes a symbolic link
// to their folder.
func relinkFiles(r *reloading, cert, key string) {
	folder := fmt.Sprintf("..%d", r.authority.Last)
	r.must(os.Mkdir(r.Path(folder), 0o700))
	r.Write(folder+"/cert.pem", cert)
	r.Write(folder+"/key.pem", key)
	for from, to := range map[string]string{"cert.pem": "..data/cert.pem", "key.pem": "..data/key.pem", "..new": folder} {
		if err := os.Symlink(to, r.Path(from)); err != nil && !os.IsExist(err) {
			r.T.Fatal(err)
		}
	}
	r.must(os.Rename(r.Path("..new"), r.Path("..data")))
}

func TestReplacedCertificateIsLoaded(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(*reloading, string, string){"overwritten": overwriteFiles, "renamed": renameFiles, "linked": relinkFiles} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReloading(t, replace)
			if name := r.Hostname(); name != "localhost" {
				t.Errorf("host name: got %q, want localhost", name)
			}
			for range 2 {
				replaced := r.serial()
				cert, key := r.authority.Issue(time.Hour)
				replace(r, cert, key)
				if r.look(); r.serial() != r.authority.Last || r.serial() == replaced {
					t.Errorf("serial number: got %d, want %d", r.serial(), r.authority.Last)
				}
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
		func() { r.Write("cert.pem", "no certificate") },
		func() { r.must(os.Remove(r.Path("key.pem"))) },
	} {
		breakFiles()
		for look := range 4 {
			r.look()
			// The first look logs nothing, because possibly only one of the two files has been replaced by then.
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
