package petcsv

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"animalstore/internal/shop"
)

// Whatever a hostile file of 8 MiB contains, ReadProfiles returns at most shop.MaxImport + 1 rows, which take at most 24 MiB.
// A sheet needs the text of the file in addition.
func TestHostileFilesNeedLittleMemory(t *testing.T) {
	const size, limit = 8 << 20, 24 << 20
	for name, file := range map[string]string{
		"short rows":     "name,categoryId\n" + strings.Repeat("a\n", size/2),
		"empty rows":     "name,categoryId\n" + strings.Repeat(",\n", size/2),
		"blank lines":    "name,categoryId\n" + strings.Repeat("\n", size),
		"columns":        "name,categoryId\n" + strings.Repeat("a,", size/2),
		"header":         strings.Repeat("a,", size/2),
		"multiline row":  "name,categoryId\n" + strings.Repeat("a,\"\n\",", size/6),
		"unclosed quote": "name,categoryId\n\"" + strings.Repeat("a\n", size/2),
		"bare quotes":    "name,categoryId\n" + strings.Repeat("a\"\n", size/3),
		"profiles":       "name,categoryId," + allProfileColumns() + "\n" + strings.Repeat("a,1,"+strings.Repeat("no,", 30)+"\n", size/94),
		"long profiles":  "name,categoryId,description,tags\n" + strings.Repeat("a,1,"+strings.Repeat("x", 400)+",\""+strings.Repeat("a,", 20)+"\"\n", size/448),
		"extra values":   "name,categoryId\n" + strings.Repeat("a,1"+strings.Repeat(",x", 1000)+"\n", size/2000),
		"Windows-1252":   "name,categoryId\n" + strings.Repeat("a"+strings.Repeat("\xe4", 50)+",1,"+strings.Repeat("x", 52)+"\n", size/107),
		"titles":         strings.Repeat("a"+strings.Repeat(" ", 500)+",", 250) + "\n" + strings.Repeat(strings.Repeat("a,", 250)+"\n", size/550),
	} {
		content := []byte(file)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		rows, err := ReadProfiles(content)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > limit || len(rows) > shop.MaxImport+1 {
			t.Errorf("%s: holds %d bytes in %d rows, want at most %d bytes in %d rows (%v)", name, held, len(rows), limit, shop.MaxImport+1, err)
		}
		runtime.KeepAlive(rows)
		rows = nil
		runtime.GC()
		runtime.ReadMemStats(&before)
		sheet, err := OpenSheet(content, nil)
		if err == nil {
			rows, err = sheet.Read(SheetReading{Most: shop.MaxImport})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > limit+maxSheetText || len(rows) > shop.MaxImport {
			t.Errorf("%s: the sheet holds %d bytes in %d rows, want at most %d (%v)", name, held, len(rows), limit+maxSheetText, err)
		}
		runtime.KeepAlive(rows)
		runtime.KeepAlive(sheet)
		runtime.KeepAlive(content)
	}
}

// Rows up to the length limit are read. A longer row makes the import fail.
func TestRowsUpToTheLimitAreRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", shop.MaxImportRow-100)
	rows, err := Read([]byte("name,categoryId\n" + long + ",1\n" + long + ",2\nRex,3\n"))
	if err != nil || len(rows) != 3 || rows[2].Name != "Rex" || rows[1].CategoryID != 2 {
		t.Errorf("got %d rows and %v, want 3", len(rows), err)
	}
	rows, err = Read([]byte("name,categoryId\n" + strings.Repeat("\n", 4*shop.MaxImportRow) + "Rex,3\n"))
	if err != nil || len(rows) != 1 {
		t.Errorf("after many blank lines: got %d rows and %v, want 1", len(rows), err)
	}
	_, err = Read(bytes.Join([][]byte{[]byte("name,categoryId\nRex,3\n"), bytes.Repeat([]byte("x"), 2*shop.MaxImportRow)}, nil))
	if shop.AsError(err).Code != shop.ValidationFailed || !strings.Contains(err.Error(), "196608 bytes") {
		t.Errorf("a row of twice the limit: got %v, want validation_failed", err)
	}
}
