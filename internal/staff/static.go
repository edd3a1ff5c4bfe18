package staff

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed static
var static embed.FS

// files holds the scripts, style sheets and images. The path of each file contains a hash of its content.
type files struct {
	paths  map[string]string // the path of each file, by file name
	byPath map[string]*file
}

type file struct {
	contentType string
	content     []byte
	gzipped     func() []byte
}

func newFiles() (*files, error) {
	f := &files{map[string]string{}, map[string]*file{}}
	types := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
	err := fs.WalkDir(static, "static", func(name string, entry fs.DirEntry, err error) error {
		contentType := types[path.Ext(name)]
		if err != nil || entry.IsDir() || contentType == "" {
			return err
		}
		content, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		address := hex.EncodeToString(sum[:8]) + "/" + path.Base(name)
		f.paths[path.Base(name)] = address
		f.byPath[address] = &file{contentType, content, sync.OnceValue(func() []byte { return compress(content) })}
		return nil
	})
	return f, err
}

func compress(content []byte) []byte {
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	w.Write(content) // cannot fail, because the data is written to memory
	w.Close()
	return compressed.Bytes()
}

// staticFile serves a script, style sheet or image. Browsers may cache it forever, because a file with other
// content has another path.
func (p *Pages) staticFile(x *exchange) error {
	file, found := p.files.byPath[x.r.PathValue("sum")+"/"+x.r.PathValue("name")]
	if !found {
		return errPageNotFound()
	}
	h := x.w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	content := file.content
	if strings.Contains(x.r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		content = file.gzipped()
	}
	return x.send(http.StatusOK, file.contentType, content)
}
