package cli

import (
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// calmFor is how long the same complaint of the HTTP server is not repeated.
const calmFor = 10 * time.Second

// calmLog is the log of the HTTP server itself. Whoever opens connections by the thousand, or sends rubbish into them, could else
// fill the disk with what it says of each.
func calmLog(to *slog.Logger) *log.Logger {
	return log.New(&calm{to: to, said: map[string]*complaint{}, now: time.Now}, "", 0)
}

type calm struct {
	to   *slog.Logger
	now  func() time.Time
	mu   sync.Mutex
	said map[string]*complaint
}

type complaint struct {
	at     time.Time
	unsaid int
}

// Write takes one line.
func (c *calm) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if isLook(text) {
		return len(line), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := kindOf(text)
	before := c.said[kind]
	if kind != "" && before != nil && c.now().Sub(before.at) < calmFor {
		before.unsaid++
		return len(line), nil
	}
	if before != nil && before.unsaid > 0 {
		c.to.Warn(text, "more_like_it", before.unsaid)
	} else {
		c.to.Warn(text)
	}
	c.said[kind] = &complaint{at: c.now()}
	return len(line), nil
}

// isLook tells whether somebody connected and went away again without a word: load balancers look that way whether a port is
// open.
func isLook(text string) bool {
	return strings.HasPrefix(text, "http: TLS handshake error ") && (strings.HasSuffix(text, ": EOF") || strings.HasSuffix(text, ": connection reset by peer"))
}

// kindOf is what a line has in common with others that say the same of another connection; a crash is always news.
func kindOf(text string) string {
	words := strings.Fields(text)
	kind := strings.Join(words[:min(3, len(words))], " ")
	if strings.HasPrefix(kind, "http: panic") {
		return ""
	}
	return kind
}
