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

	"github.com/jackc/pgx/v5"
)

// rehearse does everything once, and fails where a loop does not send what the service sends.
func (p *postgres) rehearse(ctx context.Context, duels []duel) (err error) {
	for _, d := range duels {
		if unlike := p.rehearseDuel(ctx, d); unlike != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", d.name, unlike))
		}
	}
	if p.bench.wants(inPostgres + imports) {
		if unlike := p.rehearseImport(ctx); unlike != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", imports, unlike))
		}
	}
	return err
}

func (p *postgres) rehearseDuel(ctx context.Context, d duel) error {
	byService, err := p.overhear(ctx, served, func(dir string) (err error) {
		process, base, err := p.startService(ctx, dir, d.animals)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, process.stop()) }()
		if _, _, err := process.waitFor(base+"/readyz", ""); err != nil {
			return err
		}
		_, err = d.request.once(base, 0)
		return err
	})
	if err != nil {
		return err
	}
	byLoop, err := p.overhear(ctx, looped, func(string) error {
		l, err := p.startLoop(ctx, d.animals)
		if err != nil {
			return err
		}
		return errors.Join(l.run(ctx, d.errand()), l.stop())
	})
	return errors.Join(err, sameQueries(byService, byLoop))
}

// rehearseImport imports two parts: the first one also brings the categories.
func (p *postgres) rehearseImport(ctx context.Context) error {
	byService, err := p.overhear(ctx, served, func(dir string) error {
		_, err := p.bench.importFile(ctx, p.engine(), dir, 2*importPart)
		return err
	})
	if err != nil {
		return err
	}
	byLoop, err := p.overhear(ctx, looped, func(dir string) error {
		_, err := p.insertAll(ctx, dir, 2*importPart)
		return err
	})
	return errors.Join(err, sameQueries(byService, byLoop))
}

// overhear returns the transactions that the server gets for a database that is made meanwhile, each as the texts of its
// statements.
func (p *postgres) overhear(ctx context.Context, database string, do func(dir string) error) (transactions [][]string, err error) {
	conn, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	var home string
	if err := conn.QueryRow(ctx, "SHOW data_directory").Scan(&home); err != nil {
		return nil, err
	}
	before, err := os.ReadFile(filepath.Join(home, "server.log"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(p.bench.work, "rehearsal-")
	if err != nil {
		return nil, err
	}
	p.logs = true
	err = errors.Join(do(dir), os.RemoveAll(dir))
	p.logs = false
	if err != nil {
		return nil, err
	}
	after, err := os.ReadFile(filepath.Join(home, "server.log"))
	if err != nil {
		return nil, err
	}
	return transactionsIn(string(after[len(before):]), database), nil
}

// statementLine is where a statement begins in the log: who sent it, to which database, and its text.
var statementLine = regexp.MustCompile(`^\S+ \S+ \S+ \[(\d+)\] (\S+) LOG:  (?:statement|execute [^:]*): (.*)`)

// transactionsIn finds the transactions of a database in a log. A line that begins with a tab goes on with the one before it.
func transactionsIn(log, database string) (transactions [][]string) {
	open := map[string][]string{} // by who sends it
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

// sameQueries fails where a loop sends nothing, or a transaction that the service does not.
func sameQueries(byService, byLoop [][]string) error {
	if len(byLoop) == 0 {
		return errors.New("the loop sends no transaction")
	}
	for _, sent := range byLoop {
		if !slices.ContainsFunc(byService, func(t []string) bool { return slices.Equal(t, sent) }) {
			return fmt.Errorf("the loop sends what the service does not:\n  %s\nThe service sends:\n  %s",
				strings.Join(sent, "\n  "), strings.Join(slices.Concat(byService...), "\n  "))
		}
	}
	return nil
}
