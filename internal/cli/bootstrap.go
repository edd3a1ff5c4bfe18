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
	"animalstore/internal/staff"
)

// bootstrapKey creates an admin key and prints it, with a sign-in link, if the store has no keys yet and the output is a
// terminal. If the output is not a terminal, the key would end up in a log, so bootstrapKey only logs how to get in. Keys
// in the demo data do not count, because nobody can use them. demoAnimals is the number of demo animals that were added
// at this start.
func (s *serveCommand) bootstrapKey(ctx context.Context, service *shop.Service, t terminal, log *slog.Logger, url string, demoAnimals int) error {
	ctx = context.WithoutCancel(ctx) // a key that was created must be printed, even if the process is being stopped
	has, err := service.HasKeys(ctx)
	if err != nil || has {
		return err
	}
	if !isTerminal(t.out) {
		database := shellQuote(absolutePath(s.Database))
		log.Warn("no API key yet; sign in to the staff pages with the link that `" + s.linkCommand(url) + "` prints, or create a key with `" +
			program(os.Args[0]) + " keys create --name admin --database " + database + "`")
		return nil
	}
	key, err := service.CreateKey(ctx, shop.Caller{}, shop.NewKey{Name: ownerName, Scopes: shop.RoleAdmin.Scopes()})
	if err != nil {
		return err
	}
	link, err := service.CreateSignInLink(ctx, key.ID)
	if err != nil {
		return err
	}
	if demoAnimals > 0 {
		if _, err := fmt.Fprintf(t.out, `
This is a demo: a shop with %d animals, orders in every state and five weeks of history, all made up. It is stored in
%s; delete that when you are done.
`, demoAnimals, redact(s.Database)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(t.out, `
Open this link in a browser to sign in. It works once, for ten minutes.

    %s

Your admin key, for programs. Save it now; it won't be shown again.

    %s

Try it:

    curl -H "Authorization: Bearer %s" %s/v1/pets
`, staff.SignInLink(s.pagesURL(url), link.Token), key.Secret, key.Secret, url)
	return err
}

// printAddress prints the URL of the staff pages and the command that prints a sign-in link for them.
func (s *serveCommand) printAddress(t terminal, url string) error {
	_, err := fmt.Fprintf(t.out, `
Staff pages:  %s/
Sign-in link: %s

`, s.pagesURL(url), s.linkCommand(url))
	return err
}

// pagesURL returns the URL of the staff pages without its final slash. The parameter url is that for clients on this
// machine.
func (s *serveCommand) pagesURL(url string) string {
	if s.PublicURL != "" {
		return strings.TrimSuffix(s.PublicURL, "/v1")
	}
	return url
}

// linkCommand returns the shell command that prints a sign-in link. The parameter url is that for clients on this
// machine.
func (s *serveCommand) linkCommand(url string) string {
	return program(os.Args[0]) + " link --public-url " + shellQuote(s.pagesURL(url)+"/v1") + " --database " + shellQuote(absolutePath(s.Database))
}

// program returns the shell command that starts this program again. started is the name under which it was started.
func program(started string) string {
	if strings.Contains(started, "go-build") { // go run builds programs in a folder with such a name
		return "go run ./cmd/animalstore"
	}
	return shellQuote(started)
}

// absolutePath returns a database's address in a form that works from any directory and contains no password.
func absolutePath(database string) string {
	if path, err := filepath.Abs(database); err == nil && !sqlstore.IsURL(database) {
		return path
	}
	return redact(database)
}

// shellQuote quotes a text, if necessary, so that a shell treats it as one word.
func shellQuote(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-:"+string(filepath.Separator), r)
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// localURL returns the service's URL for clients on this machine. With TLS, it uses a host name from the
// certificate if there is one.
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
