package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"animalstore/client"
	"animalstore/internal/petcsv"
	"animalstore/internal/shop"
)

// The chunks contain all animals in the file, in order and with the right line numbers.
func TestChunksContainAllAnimals(t *testing.T) {
	t.Parallel()
	header := "\n\"name\",categoryId,\r\n\"status\"\n"
	for name, file := range map[string]string{
		"empty":         "",
		"no animals":    "name,categoryId\n",
		"no end":        "name,categoryId\nRex,1",
		"one chunk":     "name,categoryId\n" + strings.Repeat("Rex,1\n", chunkAnimals),
		"one more":      "name,categoryId\n" + strings.Repeat("Rex,1\n", chunkAnimals+1),
		"much blank":    "\n\r\n\ufeffname,categoryId\n" + strings.Repeat("Rex,1\r\n\n,,\n", 2*chunkAnimals) + strings.Repeat("\n", chunkAnimals),
		"line breaks":   "name,categoryId\n" + strings.Repeat("\"R\nex \"\"\n\"\"\",1\nMia,2\n", chunkAnimals),
		"large animals": "name,categoryId\n" + strings.Repeat(strings.Repeat("x", 5000)+",1\n", 4000),
		"long line":     strings.Replace(header, "\r\n", "", 1) + strings.Repeat("Rex,1,sold\n\n", chunkAnimals) + "Mia,2,",
	} {
		var got []shop.ImportRow
		chunks, err := newChunker(strings.NewReader(file), client.CSV)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n := 0
		for ; ; n++ {
			c, err := chunks.next()
			if err == io.EOF {
				break
			}
			if err != nil || len(c.content) > client.MaxImportSize {
				t.Fatalf("%s: %d bytes, %v", name, len(c.content), err)
			}
			rows, _ := petcsv.Read(c.content) // the error for an empty file is ignored
			if len(rows) > c.animals || c.animals > chunkAnimals {
				t.Errorf("%s: a chunk has %d animals, but says %d", name, len(rows), c.animals)
			}
			for _, row := range rows {
				row.Line += c.lineOffset
				got = append(got, row)
			}
		}
		want, _ := petcsv.Read([]byte(file))
		same := func(a, b shop.ImportRow) bool { return a.Line == b.Line && a.NewPet == b.NewPet }
		if n == 0 || !slices.EqualFunc(got, want, same) {
			t.Errorf("%s: %d chunks have %d animals, the file has %d", name, n, len(got), len(want))
		}
	}
}

// A missing closing quote is detected before the whole file is read.
func TestUnclosedQuoteIsRefused(t *testing.T) {
	t.Parallel()
	chunks, err := newChunker(strings.NewReader("name,categoryId\nRex,1\n\"Mia,1\n"+strings.Repeat("Rex,1\n", maxRecord)), client.CSV)
	if err != nil {
		t.Fatal(err)
	}
	_, err = chunks.next()
	if want := fmt.Sprintf("line 3: this animal is larger than %d bytes; is a closing quote missing?", maxRecord); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
