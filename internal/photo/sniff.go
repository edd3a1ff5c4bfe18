package photo

import (
	"bytes"
	"slices"
)

// kind is a kind of file.
type kind struct {
	name        string // with its article, for messages
	contentType string
	inspect     func(*Original) error
	advice      string // what to send instead; empty if we accept files of this kind
}

const adviceFormats = "Send a JPEG, PNG or WebP file."

var (
	jpegFile = kind{name: "a JPEG photo", contentType: "image/jpeg", inspect: inspectJPEG}
	pngFile  = kind{name: "a PNG image", contentType: "image/png", inspect: inspectPNG}
	webpFile = kind{name: "a WebP image", contentType: "image/webp", inspect: inspectWebP}

	heicFile = kind{name: "a HEIC photo",
		advice: "Send a JPEG: on an iPhone choose Settings > Camera > Formats > Most Compatible."}
)

// refused returns a kind of file that we do not accept.
func refused(name string) kind { return kind{name: name, advice: adviceFormats} }

// sniff returns the kind of a file, judging by its first bytes.
func sniff(data []byte) kind {
	begins := func(prefix string) bool { return bytes.HasPrefix(data, []byte(prefix)) }
	switch {
	case len(data) == 0:
		return refused("empty")
	case begins("\xff\xd8"):
		return jpegFile
	case begins(pngSignature):
		return pngFile
	case begins("RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return webpFile
	case len(data) >= 12 && string(data[4:8]) == "ftyp":
		return sniffBrand(data)
	case begins("GIF8"):
		return refused("a GIF image")
	case begins("BM"):
		return refused("a BMP image")
	case begins("II*\x00"), begins("MM\x00*"):
		return refused("a TIFF image")
	case begins("\x00\x00\x00\x0cJXL "), begins("\xff\x0a"):
		return refused("a JPEG XL image")
	case begins("%PDF"):
		return refused("a PDF document")
	}
	return sniffText(data)
}

// sniffBrand returns the kind of a file in the container format of MPEG-4, which lists its brands.
func sniffBrand(data []byte) kind {
	size := int(data[2])<<8 | int(data[3])
	var brands []string
	for i := 8; i+4 <= min(size, len(data), 256); i += 4 {
		brands = append(brands, string(data[i:i+4]))
	}
	has := func(brand ...string) bool {
		return slices.ContainsFunc(brand, func(b string) bool { return slices.Contains(brands, b) })
	}
	switch {
	case has("avif", "avis"):
		return refused("an AVIF image")
	case has("heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1"):
		return heicFile
	}
	return refused("a video")
}

// sniffText tells SVG images and HTML pages apart from everything else.
func sniffText(data []byte) kind {
	start := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(data[:min(len(data), 1024)], []byte("\xef\xbb\xbf"))))
	has := func(tag string) bool { return bytes.Contains(start, []byte(tag)) }
	switch {
	case !bytes.HasPrefix(start, []byte("<")):
		return refused("not an image")
	case has("<!doctype html"), has("<html"):
		return refused("an HTML page")
	case has("<svg"):
		return refused("an SVG drawing")
	}
	return refused("not an image")
}
