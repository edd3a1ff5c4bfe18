package photo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// must returns the value, or fails the test.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// testFile returns an image of the folder testdata.
func testFile(t testing.TB, name string) []byte {
	t.Helper()
	return must(os.ReadFile(filepath.Join("testdata", name)))(t)
}

// convert converts an image.
func convert(t testing.TB, data []byte) Files {
	t.Helper()
	return must(must(Inspect(data, ""))(t).Convert())(t)
}

// refusal returns why an image is refused, by Inspect or by Convert.
func refusal(t testing.TB, data []byte) string {
	t.Helper()
	o, err := Inspect(data, "")
	if err == nil {
		_, err = o.Convert()
	}
	reason, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("got %v, want an Error", err)
	}
	return reason.Reason
}

// allocated returns how many bytes a function allocates. No other test may run at the same time.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func encodeJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodePNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decodeJPEG(t testing.TB, data []byte) image.Image {
	t.Helper()
	return must(jpeg.Decode(bytes.NewReader(data)))(t)
}

// scene returns the image that most files in testdata show.
func scene(t testing.TB) image.Image {
	t.Helper()
	return must(png.Decode(bytes.NewReader(testFile(t, "scene.png"))))(t)
}

// wantSame fails if two images differ by more than this in a channel of a pixel, or by more than a sixth of it on average.
func wantSame(t testing.TB, got, want image.Image, most int) {
	t.Helper()
	if got.Bounds() != want.Bounds() {
		t.Fatalf("the image is %v, want %v", got.Bounds(), want.Bounds())
	}
	worst, sum, where := 0, 0, image.Point{}
	for y := range want.Bounds().Dy() {
		for x := range want.Bounds().Dx() {
			a, b := color.NRGBAModel.Convert(got.At(x, y)).(color.NRGBA), color.NRGBAModel.Convert(want.At(x, y)).(color.NRGBA)
			for _, pair := range [][2]byte{{a.R, b.R}, {a.G, b.G}, {a.B, b.B}} {
				difference := max(int(pair[0])-int(pair[1]), int(pair[1])-int(pair[0]))
				if sum += difference; difference > worst {
					worst, where = difference, image.Pt(x, y)
				}
			}
		}
	}
	if mean := float64(sum) / float64(3*want.Bounds().Dx()*want.Bounds().Dy()); mean > float64(most)/6 {
		t.Errorf("the channels differ by %.1f on average", mean)
	}
	if worst > most {
		t.Errorf("a channel differs by %d at %v: got %v, want %v", worst, where, got.At(where.X, where.Y), want.At(where.X, where.Y))
	}
}

// withSegment inserts a segment at the beginning of a JPEG file.
func withSegment(file []byte, marker byte, content string) []byte {
	segment := binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(2+len(content)))
	return slices.Concat(file[:2], segment, []byte(content), file[2:])
}

// withPNGChunk inserts a chunk behind the header of a PNG file.
func withPNGChunk(file []byte, name, content string) []byte {
	const header = len(pngSignature) + 12 + 13
	return slices.Concat(file[:header], pngChunk(name, content), file[header:])
}

func pngChunk(name, content string) []byte {
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	chunk = append(chunk, name+content...)
	return binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
}

// webpOf returns a WebP file with chunks: pairs of a name and a content.
func webpOf(chunks ...string) []byte {
	body := []byte("WEBP")
	for pair := range slices.Chunk(chunks, 2) {
		body = append(body, pair[0]...)
		body = binary.LittleEndian.AppendUint32(body, uint32(len(pair[1])))
		body = append(body, pair[1]...)
		if len(pair[1])%2 == 1 {
			body = append(body, 0)
		}
	}
	return slices.Concat([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body)
}

// canvas returns the content of the chunk VP8X.
func canvas(flags byte, width, height int) string {
	int24 := func(n int) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16)} }
	return string(slices.Concat([]byte{flags, 0, 0, 0}, int24(width-1), int24(height-1)))
}

// exifOf returns Exif metadata with an orientation, and with a position that must not survive.
func exifOf(order binary.AppendByteOrder, orientation int) string {
	b := []byte("II*\x00")
	if order.AppendUint16(nil, 1)[0] == 0 {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2) // entries
	b = order.AppendUint16(b, 0x010e)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint32(b, 4)
	b = append(b, "GPS\x00"...)
	b = order.AppendUint16(b, 0x0112)
	b = order.AppendUint16(b, 3)
	b = order.AppendUint32(b, 1)
	b = order.AppendUint16(b, uint16(orientation))
	return string(b) + "\x00\x00" + "\x00\x00\x00\x00" + "GPSLatitude 52.5163"
}

// jpegSays returns a JPEG file whose header says that it has another size.
func jpegSays(file []byte, width, height int) []byte {
	file = slices.Clone(file)
	for i := 2; ; i += 2 + int(binary.BigEndian.Uint16(file[i+2:])) {
		if file[i+1] >= sof0 && file[i+1] <= sof2 {
			binary.BigEndian.PutUint16(file[i+5:], uint16(height))
			binary.BigEndian.PutUint16(file[i+7:], uint16(width))
			return file
		}
	}
}

// pngSays returns the beginning of a PNG file of this size.
func pngSays(width, height int, depth, colours byte, data string) []byte {
	header := binary.BigEndian.AppendUint32(nil, uint32(width))
	header = binary.BigEndian.AppendUint32(header, uint32(height))
	header = append(header, depth, colours, 0, 0, 0)
	return slices.Concat([]byte(pngSignature), pngChunk("IHDR", string(header)), pngChunk("IDAT", data), pngChunk("IEND", ""))
}
