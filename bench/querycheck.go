package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// checkQueries runs the request of a case and the operation of its loop once, and fails if their statements
// differ.
func (p *postgres) checkQueries(ctx context.Context, d postgresCase) error {
	return p.compare(ctx, func(dir string) error {
		return p.serveFor(ctx, dir, d.animals, func(base string) error {
			_, err := d.request.once(base, 0)
			if err == nil && d.concurrentCreates > 0 {
				_, err = concurrentCreateRequest(d.concurrentCreates).once(base, 0)
			}
			return err
		})
	}, func(string) error {
		l, err := p.startLoop(ctx, d.animals)
		if err != nil {
			return err
		}
		err = l.run(ctx, d.operation)
		if err == nil && d.concurrentCreates > 0 {
			err = l.run(ctx, createConcurrently)
		}
		return errors.Join(err, l.stop())
	})
}

// checkImportQueries compares the statements of an import of two parts; the first one also creates the
// categories.
func (p *postgres) checkImportQueries(ctx context.Context) error {
	return p.compare(ctx, func(dir string) error {
		_, err := p.bench.importFile(ctx, p.engine(), dir, 2*importPart)
		return err
	}, func(dir string) error {
		_, err := p.insertAll(ctx, dir, 2*importPart)
		return err
	})
}

// compare fails if the loop sends a transaction that the service does not send for a request, or if the
// service sends one that the loop does not send, except for those that an idle service sends.
func (p *postgres) compare(ctx context.Context, request, loop func(dir string) error) error {
	if p.idleTransactions == nil {
		idle, err := p.captureTransactions(ctx, served, func(dir string) error {
			return p.serveFor(ctx, dir, none, func(string) error {
				time.Sleep(time.Second) // background jobs run every half second and at the stop
				return nil
			})
		})
		if err != nil {
			return err
		}
		p.idleTransactions = idle
	}
	served, err := p.captureTransactions(ctx, served, request)
	if err != nil {
		return err
	}
	looped, err := p.captureTransactions(ctx, looped, loop)
	if err != nil {
		return err
	}
	var differences []error
	for _, sent := range looped {
		if !contains(served, sent) {
			differences = append(differences, fmt.Errorf("only the loop sends:\n  %s", strings.Join(sent, "\n  ")))
		}
	}
	for _, sent := range served {
		if !contains(looped, sent) && !contains(p.idleTransactions, sent) {
			differences = append(differences, fmt.Errorf("only the service sends:\n  %s", strings.Join(sent, "\n  ")))
		}
	}
	if len(looped) == 0 {
		differences = append(differences, errors.New("the loop sends nothing"))
	}
	return errors.Join(differences...)
}

func contains(transactions [][]string, sent []string) bool {
	return slices.ContainsFunc(transactions, func(t []string) bool { return slices.Equal(t, sent) })
}

// serveFor runs the service while do uses it.
func (p *postgres) serveFor(ctx context.Context, dir string, animals int, do func(base string) error) (err error) {
	process, base, err := p.startService(ctx, dir, animals)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.stop()) }()
	if _, _, err := process.waitFor(base+"/readyz", ""); err != nil {
		return err
	}
	return do(base)
}

// captureTransactions returns the transactions that do sends to a database, which it must create, each as a
// list of statements. It reads them from the log of the server.
func (p *postgres) captureTransactions(ctx context.Context, database string, do func(dir string) error) (transactions [][]string, err error) {
	conn, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	var dataDir string
	if err := conn.QueryRow(ctx, "SHOW data_directory").Scan(&dataDir); err != nil {
		return nil, err
	}
	before, err := os.ReadFile(filepath.Join(dataDir, "server.log"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(p.bench.work, "rehearsal-")
	if err != nil {
		return nil, err
	}
	p.logStatements = true
	err = errors.Join(do(dir), os.RemoveAll(dir))
	p.logStatements = false
	if err != nil {
		return nil, err
	}
	after, err := os.ReadFile(filepath.Join(dataDir, "server.log"))
	if err != nil {
		return nil, err
	}
	return transactionsIn(string(after[len(before):]), database), nil
}

// statementLine matches the start of a statement in the log: process id, database and text.
var statementLine = regexp.MustCompile(`^\S+ \S+ \S+ \[(\d+)\] (\S+) LOG:  (?:statement|execute [^:]*): (.*)`)

// transactionsIn extracts the transactions of a database from a log. A line that starts with a tab continues
// the previous one.
func transactionsIn(log, database string) (transactions [][]string) {
	open := map[string][]string{} // by process id
	for entry := range strings.SplitSeq(strings.ReplaceAll(log, "\n\t", " "), "\n") {
		match := statementLine.FindStringSubmatch(entry)
		if match == nil || match[2] != database {
			continue
		}
		sender, text := match[1], strings.Join(strings.Fields(match[3]), " ")
		switch {
		case strings.HasPrefix(text, "begin"):
			open[sender] = []string{text}
		case open[sender] != nil:
			open[sender] = append(open[sender], text)
		}
		if text == "commit" || text == "rollback" {
			transactions = append(transactions, open[sender])
			delete(open, sender)
		}
	}
	return transactions
}
