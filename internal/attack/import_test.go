package attack

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
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

// fullImport returns a file with as many animals as one import may contain.
func fullImport() string {
	var file strings.Builder
	file.WriteString("name,categoryId,status\n")
	for range 10_000 {
		fmt.Fprintf(&file, "%s the %s %d,%d,available\n", givenNames[rand.IntN(8)], breeds[rand.IntN(8)], rand.Uint32(), 1+rand.IntN(20))
	}
	return file.String()
}

// importsOfKeys imports one file after another with each of several keys.
func importsOfKeys(a *attacker, keys int) {
	file := fullImport()
	var importing sync.WaitGroup
	for n := range keys {
		key := a.Key
		if n > 0 {
			key = a.createKey()
		}
		importing.Go(func() {
			for a.ctx.Err() == nil {
				if a.request("POST", "/v1/imports", file, "Authorization: Bearer "+key, "Content-Type: text/csv") != http.StatusOK {
					a.sleep(time.Second)
				}
			}
		})
	}
	importing.Wait()
}

// allowPrivate lets webhooks of an attack have receivers on this machine.
var allowPrivate = []string{"--webhook-allow-private"}

// silentWebhooks imports a file while webhooks have a receiver that accepts connections and does not answer.
func silentWebhooks(a *attacker) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	importWithWebhooks(a, 20, listener.Addr().String())
}

// refusingWebhooks imports a file while webhooks have a receiver that refuses connections.
func refusingWebhooks(a *attacker) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	listener.Close()
	importWithWebhooks(a, 200, listener.Addr().String())
}

func importWithWebhooks(a *attacker, n int, receiver string) {
	for range n {
		a.request("POST", "/v1/webhooks", `{"url":"http://`+receiver+`/"}`, a.authorization(), "Content-Type: application/json")
	}
	a.importFile(fullImport())
	<-a.ctx.Done()
}

// createKey creates a key that can import.
func (a *attacker) createKey() string {
	response, err := a.client.Do(a.newRequest(a.ctx, "POST", "/v1/keys", `{"name":"importer","scopes":["pets:write"]}`,
		a.authorization(), "Content-Type: application/json"))
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	var issued struct{ Key string }
	if err := json.NewDecoder(response.Body).Decode(&issued); err != nil || issued.Key == "" {
		panic(fmt.Sprintf("create a key: %d, %v", response.StatusCode, err))
	}
	return issued.Key
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
