package petcsv

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"animalstore/internal/shop"
)

// Encoding is the character encoding of a file, by the name that spreadsheet programs use.
type Encoding string

const (
	UTF8        Encoding = "UTF-8"
	UTF16       Encoding = "UTF-16"
	Windows1252 Encoding = "Windows-1252"
)

// maxSheetText is the maximum size in bytes of a file after it was converted to UTF-8. It limits the memory for a file
// whose text becomes larger.
const maxSheetText = 8 << 20

// decodeText recognizes the encoding of a file and returns its text in UTF-8, without a byte order mark. It fails with
// validation_failed if the file is no text, and with payload_too_large if the text is too large.
func decodeText(file []byte) (text []byte, encoding Encoding, err error) {
	switch order := utf16Order(file); {
	case isWorkbook(file):
		return nil, "", shop.Errorf(shop.ValidationFailed, "This is a workbook, not a CSV file; open it in the spreadsheet program and save it as CSV.")
	case order != nil:
		if text, err = decodeUTF16(file, order); err != nil {
			return nil, "", err
		}
		encoding = UTF16
	case utf8.Valid(file):
		text, encoding = bytes.TrimPrefix(file, []byte(ByteOrderMark)), UTF8
	default:
		if text, err = charmap.Windows1252.NewDecoder().Bytes(file); err != nil {
			return nil, "", err
		}
		encoding = Windows1252
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, "", shop.Errorf(shop.ValidationFailed, "This is not a text file; save the animals as CSV in the spreadsheet program.")
	}
	if len(text) > maxSheetText {
		return nil, "", shop.Errorf(shop.PayloadTooLarge, "The text of the file is too large; the limit is %d MiB in UTF-8.", maxSheetText>>20)
	}
	return text, encoding, nil
}

// isWorkbook reports whether a file is in a format of a spreadsheet program that is not text: the ZIP file of Excel,
// LibreOffice or Numbers, or the older format of Excel.
func isWorkbook(file []byte) bool {
	return bytes.HasPrefix(file, []byte("PK\x03\x04")) || bytes.HasPrefix(file, []byte("\xd0\xcf\x11\xe0"))
}

// utf16Order returns the byte order of a file in UTF-16, or nil if the file has another encoding. Without a byte order
// mark, the zero bytes of the first characters show the order, because the titles of columns are mostly ASCII.
func utf16Order(file []byte) binary.ByteOrder {
	even, odd := 0, 0
	for i, b := range file[:min(len(file), 64)] {
		if b == 0 && i%2 == 0 {
			even++
		} else if b == 0 {
			odd++
		}
	}
	switch {
	case bytes.HasPrefix(file, []byte("\xff\xfe")):
		return binary.LittleEndian
	case bytes.HasPrefix(file, []byte("\xfe\xff")):
		return binary.BigEndian
	case odd > 4 && even == 0:
		return binary.LittleEndian
	case even > 4 && odd == 0:
		return binary.BigEndian
	}
	return nil
}

func decodeUTF16(file []byte, order binary.ByteOrder) ([]byte, error) {
	text := make([]byte, 0, len(file))
	for i := 0; i+1 < len(file); i += 2 {
		r := rune(order.Uint16(file[i:]))
		if utf16.IsSurrogate(r) && i+3 < len(file) {
			r = utf16.DecodeRune(r, rune(order.Uint16(file[i+2:])))
			i += 2
		}
		if utf16.IsSurrogate(r) || r == utf8.RuneError {
			return nil, errDamagedText()
		}
		text = utf8.AppendRune(text, r)
	}
	if len(file)%2 == 1 {
		return nil, errDamagedText()
	}
	return bytes.TrimPrefix(text, []byte(ByteOrderMark)), nil
}

func errDamagedText() error {
	return shop.Errorf(shop.ValidationFailed, "The file is damaged: its text in UTF-16 is not complete; save it again.")
}
