package acme

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Folder stores the certificate and the account's key. It contains a separate folder for each authority, so that a
// certificate from a test authority is not used in production. Only the owner may read the files.
type Folder struct {
	dir  string // the folder that the operator chose
	name string // the authority's folder in dir
}

// notInName matches the characters that the name of an authority's folder must not contain.
var notInName = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// NewFolder returns the folder in dir for the authority whose ACME directory has the given URL. It creates nothing.
func NewFolder(dir, directory string) Folder {
	_, address, _ := strings.Cut(directory, "://")
	return Folder{dir, strings.Trim(notInName.ReplaceAllString(address, "_"), "_.")}
}

// CertificateFile returns the path of the file with the certificate chain and its private key.
func (f Folder) CertificateFile() string { return filepath.Join(f.dir, f.name, "certificate.pem") }

// Check fails if the path exists but is not a folder, or if neither the folder nor its parent exists. It changes
// nothing.
func (f Folder) Check() error {
	info, err := os.Stat(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Stat(filepath.Dir(f.dir))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the folder %s, in which the folder would be created, does not exist", filepath.Dir(f.dir))
		}
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", f.dir)
	}
	return nil
}

// Create creates the folder if it is missing. It fails if no file can be written to it.
func (f Folder) Create() error {
	dir := filepath.Dir(f.CertificateFile())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the folder %s cannot be created: %w", dir, err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("the folder %s cannot be written: %w", dir, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func (f Folder) certificate() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(f.CertificateFile(), f.CertificateFile())
	return &pair, err
}

// storeCertificate writes the private key and the certificate chain to one file, so that both are replaced at the same
// time.
func (f Folder) storeCertificate(key *ecdsa.PrivateKey, chain [][]byte) (*tls.Certificate, error) {
	content, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	for _, link := range chain {
		content = append(content, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: link})...)
	}
	pair, err := tls.X509KeyPair(content, content)
	if err != nil {
		return nil, fmt.Errorf("the authority has issued an unusable certificate: %w", err)
	}
	return &pair, writeFile(f.CertificateFile(), content)
}

// accountKey returns the private key of the account. It creates the key if there is none.
func (f Folder) accountKey() (crypto.Signer, error) {
	path := filepath.Join(f.dir, f.name, "account.pem")
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		if content, err = encodeKey(key); err != nil {
			return nil, err
		}
		return key, writeFile(path, content)
	}
	if err != nil {
		return nil, err
	}
	if block, _ := pem.Decode(content); block != nil {
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if signer, ok := key.(crypto.Signer); ok {
				return signer, nil
			}
		}
	}
	return nil, fmt.Errorf("%s does not contain a private key; remove it to create a new account", path)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), err
}

// writeFile replaces a file atomically. Only the owner may read the new file.
func writeFile(path string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".new-*") // CreateTemp creates the file with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // Remove has no effect after the rename
	_, err = temporary.Write(content)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
