package attack

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

func largeImports(a *attacker) {
	file := "name,categoryId\n" + strings.Repeat("a\n", 4<<20-10)
	a.repeat(8, 0, func() {
		if a.importFile(file) == http.StatusTooManyRequests {
			a.sleep(time.Second)
		}
	})
}

// slowImports sends imports that do not end during the attack.
func slowImports(a *attacker) {
	text := head("POST", "/v1/imports?dryRun=true", a.authorization(), "Content-Type: text/csv", "Content-Length: 8000000") + "name,categoryId\n"
	a.repeat(16, 50, func() {
		if conn := a.sendPart(text); conn != nil {
			a.untilClosed(conn, time.Second/2, strings.Repeat("a", 1000))
		}
	})
}

// namedImports imports one animal at a time and gives the name of its category, which the service must look up
// among many names.
func namedImports(a *attacker) {
	a.repeat(2, 0, func() { a.importFile("name,category\na,b\n") })
}

// ambiguousImports sends files in which no row is valid, because many categories have the name that the rows
// give.
func ambiguousImports(a *attacker) {
	file := "name,category\n" + strings.Repeat("a,"+commonName+"\n", 10_000)
	a.repeat(2, 2, func() { a.importFile(file) })
}

// rareNames imports names of 190 random letters. Each of them needs almost 190 rows of the search index that no other name
// shares, so most of these names wait for the index.
func rareNames(a *attacker) {
	a.repeat(2, 0, func() {
		var file strings.Builder
		file.WriteString("name,categoryId\n")
		for range 5000 {
			for range 190 {
				file.WriteRune(rune(0x4E00 + rand.IntN(0x5000)))
			}
			file.WriteString(",1\n")
		}
		if status := a.importFile(file.String()); status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
			a.sleep(time.Second)
		}
	})
}

func (a *attacker) importFile(file string) (status int) {
	return a.request("POST", "/v1/imports", file, a.authorization(), "Content-Type: text/csv")
}
