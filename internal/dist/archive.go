package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io/fs"
	"time"
)

// tarball packs files into a .tar.gz archive and adds the prefix to every file name. The owner, time and
// order of the entries are fixed, so that the output is reproducible.
func tarball(prefix string, files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	entry := func(name string, kind byte, mode int64, content []byte) error {
		err := archive.WriteHeader(&tar.Header{
			Typeflag: kind, Name: name, Mode: mode, Size: int64(len(content)), ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		})
		if err == nil {
			_, err = archive.Write(content)
		}
		return err
	}
	made := map[string]bool{}
	for _, f := range files {
		name := prefix + f.name
		for _, folder := range parentFolders(name) { // a Debian package must contain an entry for each folder
			if !made[folder] {
				made[folder] = true
				if err := entry(folder, tar.TypeDir, 0o755, nil); err != nil {
					return nil, err
				}
			}
		}
		if err := entry(name, tar.TypeReg, f.mode, f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// parentFolders returns the parent folders of a path, outermost first. For ./usr/bin/a, it returns ./, ./usr/
// and ./usr/bin/.
func parentFolders(name string) (folders []string) {
	for i, r := range name {
		if r == '/' {
			folders = append(folders, name[:i+1])
		}
	}
	return folders
}

// zipArchive packs files into a .zip archive for Windows and adds the prefix to every file name.
func zipArchive(prefix string, files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, f := range files {
		header := &zip.FileHeader{Name: prefix + f.name, Method: zip.Deflate, Modified: at.UTC()}
		header.SetMode(fs.FileMode(f.mode))
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
