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

	"animalstore/internal/sqlstore"
)

// checkQueries sends a case's request to the service once and runs the loop's operation once. It fails if
// they send different statements.
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

// checkImportQueries compares the statements that the service and the loop send during an import of two
// parts. The first part also creates the categories.
func (p *postgres) checkImportQueries(ctx context.Context) error {
	return p.compare(ctx, func(dir string) error {
		_, err := p.bench.importFile(ctx, p.engine(), dir, 2*importPart)
		return err
	}, func(dir string) error {
		_, err := p.insertAll(ctx, dir, 2*importPart)
		return err
	})
}

// compare fails if the service and the loop do not send the same transactions. It ignores transactions that
// the service also sends when it is idle, and those of the job that maintains the search index.
func (p *postgres) compare(ctx context.Context, request, loop func(dir string) error) error {
	if p.idleTransactions == nil {
		idle, err := p.captureTransactions(ctx, served, func(dir string) error {
			return p.serveFor(ctx, dir, none, func(string) error {
				time.Sleep(time.Second) // background jobs run every half second and when the service stops
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
		if !contains(looped, sent) && !contains(p.idleTransactions, sent) && !indexes(sent) {
			differences = append(differences, fmt.Errorf("only the service sends:\n  %s", strings.Join(sent, "\n  ")))
		}
	}
	if len(looped) == 0 {
		differences = append(differences, errors.New("the loop sends nothing"))
	}
	return errors.Join(differences...)
}

func indexes(sent []string) bool {
	return slices.ContainsFunc(sent, func(statement string) bool { return strings.Contains(statement, sqlstore.SearchProgressTable) })
}

func contains(transactions [][]string, sent []string) bool {
	return slices.ContainsFunc(transactions, func(t []string) bool { return slices.Equal(t, sent) })
}

// serveFor starts the service, calls do with the service's base URL and then stops the service.
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

// captureTransactions calls do and returns the transactions that were sent to a database meanwhile. do must
// create this database. Each transaction is a list of statements, which are read from the server's log.
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

// statementLine matches the first line of a statement in the log. It captures the process id, the database
// and the text.
var statementLine = regexp.MustCompile(`^\S+ \S+ \S+ \[(\d+)\] (\S+) LOG:  (?:statement|execute [^:]*): (.*)`)

// transactionsIn extracts the transactions in a database from a log. A line that starts with a tab continues
// the previous line.
func transactionsIn(log, database string) (transactions [][]string) {
	open := map[string][]string{} // unfinished transactions, keyed by process id
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
