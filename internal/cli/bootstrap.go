package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/term"

	"animalstore/internal/server"
	"animalstore/internal/shop"
	"animalstore/internal/sqlstore"
)

// bootstrapKey sees to it that somebody can get in: a new store's first key is made and shown on a terminal; elsewhere it
// would end up in a log, so the log only says how to make one. The keys of a demo do not count, also where
// the start that filled it ended before it could show one.
func bootstrapKey(ctx context.Context, service *shop.Service, t terminal, log *slog.Logger, database, address string, demoAnimals int) error {
	has, err := service.HasKeys(ctx)
	if err != nil || has {
		return err
	}
	if !isTerminal(t.out) {
		log.Warn("no key yet: make one with `animalstore keys create --name admin --database " + shellQuote(absolutePath(database)) + "`")
		return nil
	}
	key, err := service.CreateKey(ctx, shop.NewKey{Name: "first", Scopes: []shop.Scope{shop.Admin}})
	if err != nil {
		return err
	}
	if demoAnimals > 0 {
		if _, err := fmt.Fprintf(t.out, `
This is a demo: a shop with %d animals, orders in every state and five weeks of history, all of it made up. It is kept in
%s; remove that when you have seen enough.
`, demoAnimals, redact(database)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(t.out, `
Your first key. It may do everything, and it is shown only now: keep it.

    %s

Try it:

    curl -H "Authorization: Bearer %s" %s/v1/pets

Or open %s/ in a browser, and sign in with it.

`, key.Secret, key.Secret, address, address)
	return err
}

// absolutePath is a database as it works wherever it is pasted, but for a password.
func absolutePath(database string) string {
	if path, err := filepath.Abs(database); err == nil && !sqlstore.IsURL(database) {
		return path
	}
	return redact(database)
}

// shellQuote writes a text so that a shell takes it as one word.
func shellQuote(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-:", r)
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// localURL is where this machine reaches the service: with TLS under a name that the certificate is good for.
func localURL(addr net.Addr, certificate *server.Certificate) string {
	tcp, ok := addr.(*net.TCPAddr)
	host, scheme := addr.String(), "http"
	if ok && tcp.IP.IsUnspecified() {
		host = fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	if certificate != nil {
		scheme = "https"
		if name := certificate.Hostname(); ok && name != "" {
			host = fmt.Sprintf("%s:%d", name, tcp.Port)
		}
	}
	return scheme + "://" + host
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
